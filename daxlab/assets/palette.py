"""The colours of our things: strong ones, away from the greys and beiges of floors and walls."""

from __future__ import annotations

from daxlab.assets.shapes import Colour

WHITE: Colour = (0.97, 0.97, 0.97)
CREAM: Colour = (1.0, 0.93, 0.72)
SILVER: Colour = (0.72, 0.76, 0.82)
STEEL: Colour = (0.22, 0.32, 0.60)
BLACK: Colour = (0.07, 0.07, 0.09)
RED: Colour = (0.88, 0.10, 0.10)
CRIMSON: Colour = (0.62, 0.03, 0.12)
ORANGE: Colour = (1.0, 0.48, 0.02)
AMBER: Colour = (0.96, 0.56, 0.06)
YELLOW: Colour = (1.0, 0.85, 0.05)
GOLD: Colour = (0.92, 0.68, 0.10)
LIME: Colour = (0.55, 0.85, 0.12)
GREEN: Colour = (0.10, 0.62, 0.18)
FOREST: Colour = (0.03, 0.36, 0.14)
MINT: Colour = (0.30, 0.85, 0.62)
TEAL: Colour = (0.0, 0.55, 0.55)
CYAN: Colour = (0.15, 0.80, 0.92)
ICE: Colour = (0.72, 0.93, 1.0)
SKY: Colour = (0.35, 0.65, 1.0)
BLUE: Colour = (0.10, 0.28, 0.88)
NAVY: Colour = (0.05, 0.10, 0.40)
PURPLE: Colour = (0.48, 0.12, 0.72)
LILAC: Colour = (0.72, 0.55, 0.95)
MAGENTA: Colour = (0.90, 0.08, 0.58)
PINK: Colour = (1.0, 0.55, 0.75)
BROWN: Colour = (0.46, 0.24, 0.08)
TAN: Colour = (0.86, 0.62, 0.34)
TERRACOTTA: Colour = (0.80, 0.34, 0.16)
MAPLE: Colour = (0.80, 0.72, 0.60)
"""For furniture alone: no object may be of it."""
