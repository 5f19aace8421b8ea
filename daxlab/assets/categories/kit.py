"""What the generators share: random draws, palettes, and parts that many classes have.

A generator builds in any unit it likes; `fitted` brings the whole to the size of our objects. Colours keep away from
the greys and beiges of floors and walls, as those of `daxlab.assets.palette` do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from daxlab.assets.mesh import Mesh
from daxlab.assets.palette import (
    BLACK,
    BLUE,
    BROWN,
    CREAM,
    CRIMSON,
    CYAN,
    FOREST,
    GOLD,
    GREEN,
    LILAC,
    LIME,
    MAGENTA,
    MINT,
    NAVY,
    ORANGE,
    PINK,
    PURPLE,
    RED,
    SKY,
    TEAL,
    TERRACOTTA,
    WHITE,
    YELLOW,
)
from daxlab.assets.shapes import Colour, Part, Point, centred, cone, loft, prism

Rng = np.random.Generator
Range = tuple[float, float]
T = TypeVar("T")

WALNUT: Colour = (0.34, 0.17, 0.06)
CHERRY: Colour = (0.62, 0.22, 0.09)
OAK: Colour = (0.80, 0.52, 0.20)
PINE: Colour = (0.95, 0.71, 0.36)

WOODS = (BROWN, WALNUT, CHERRY, OAK, PINE)
PAINTED = (*WOODS, WHITE, NAVY, TEAL, FOREST, CRIMSON)
"""What cupboards are made of: wood, or painted wood."""
FABRICS = (RED, CRIMSON, NAVY, BLUE, TEAL, FOREST, PURPLE, ORANGE, SKY, PINK, GOLD, LIME, WHITE)
BRIGHT = (RED, ORANGE, YELLOW, LIME, GREEN, TEAL, CYAN, BLUE, PURPLE, MAGENTA, PINK, LILAC, MINT)
CERAMIC = (WHITE, CREAM, NAVY, BLUE, TEAL, MINT, TERRACOTTA, CRIMSON, GOLD, BLACK, PURPLE, FOREST)
CASES = (BLACK, WHITE, NAVY, (0.10, 0.13, 0.20), CREAM)
"""What machines are cased in."""
METALS = (BLACK, WHITE, GOLD, (0.14, 0.20, 0.42))

LARGEST = 0.5
"""Metres along the longest side."""
WIDEST = 0.255
"""Metres from the upright axis."""


def pick(rng: Rng, options: Sequence[T]) -> T:
    """One of the options."""
    return options[int(rng.integers(len(options)))]


def span(rng: Rng, low: float, high: float) -> float:
    """A number between two."""
    return float(rng.uniform(low, high))


def chance(rng: Rng, share: float = 0.5) -> bool:
    """True in that share of the draws."""
    return bool(rng.random() < share)


def shade(colour: Colour, factor: float) -> Colour:
    """The colour made darker (below 1) or brighter."""
    r, g, b = (min(max(c * factor, 0.0), 1.0) for c in colour)
    return r, g, b


def hue(rng: Rng, palette: Sequence[Colour]) -> Colour:
    """One of the colours, a little off: no two things are of quite the same paint."""
    r, g, b = shade(pick(rng, palette), span(rng, 0.9, 1.1))
    return shade((r, g * span(rng, 0.95, 1.05), b), 1.0)


def against(rng: Rng, palette: Sequence[Colour], *grounds: Colour) -> Colour:
    """One of those colours that stand out from all the grounds (or the one that does most)."""
    gap = [min(float(np.linalg.norm(np.subtract(c, g))) for g in grounds) for c in palette]
    far = [c for c, d in zip(palette, gap, strict=True) if d > 0.5]
    return pick(rng, far) if far else palette[int(np.argmax(gap))]


def fitted(rng: Rng, *parts: Part) -> Mesh:
    """The parts as a mesh, scaled as a whole to 0.85…1 of the largest size that objects may have."""
    mesh = centred(*parts)
    reach = max(float(np.ptp(mesh.vertices, axis=0).max()) / LARGEST, mesh.radius / WIDEST)
    return replace(mesh, vertices=(mesh.vertices * (span(rng, 0.85, 1.0) / reach)).astype(np.float32))


def block(colour: Colour, x: Range, y: Range, z: Range) -> Part:
    """A box from its least to its greatest corner."""
    return prism(colour, [(x[0], y[0]), (x[1], y[0]), (x[1], y[1]), (x[0], y[1])], z[1] - z[0]).move(z=z[0])


def leg(
    colour: Colour,
    foot: Range,
    height: float,
    thick: float,
    n: int = 4,
    taper: float = 1.0,
    head: Range | None = None,
) -> Part:
    """A post from a point (x, y) of the floor to a point at a height; upright, unless its head is given."""
    angle = np.pi / n + 2 * np.pi * np.arange(n) / n
    outline = [(thick * np.cos(a) / np.sqrt(2), thick * np.sin(a) / np.sqrt(2)) for a in angle]
    shift = (0.0, 0.0) if head is None else (head[0] - foot[0], head[1] - foot[1])
    return prism(colour, outline, height, taper, shift).move(*foot)


def legs(
    colour: Colour, width: float, depth: float, height: float, thick: float, splay: float = 0.0, n: int = 4
) -> Part:
    """Four posts at the corners of a rectangle, their feet ``splay`` further out."""
    x, y = (width - thick) / 2, (depth - thick) / 2
    return leg(colour, (x + splay, y + splay), height, thick, n, head=(x, y)).both("x").both("y")


def knob(colour: Colour, x: float, y: float, z: float, size: float) -> Part:
    """A pyramid that points to the front (6 faces)."""
    return cone(colour, size, size, n=4).turn("x", 90).move(x, y, z)


def tub(colours: tuple[Colour, Colour, Colour], width: float, depth: float, height: float, wall: float) -> Part:
    """A box without a lid (28 faces); colours of the outside, the rim and the inside."""
    w, d = width / 2, depth / 2
    outside = np.array([(-w, -d), (w, -d), (w, d), (-w, d)])
    inside = outside * np.array([1 - wall / w, 1 - wall / d])
    levels = ((outside, 0.0), (outside, height), (inside, height), (inside, wall))
    return loft(colours, [np.column_stack([xy, np.full(4, z)]) for xy, z in levels])


def strip(colours: Sequence[Colour], edges: Sequence[float] | np.ndarray, outline: Sequence[Point]) -> Part:
    """An outline of (y, z) points drawn along x, with a band of colour between each two edges.

    The outline runs counter-clockwise with y to the right. A box's has 8 faces a band and 4.
    """
    ring = np.array(outline, float)
    return loft(colours, [np.column_stack([np.full(len(ring), x), ring]) for x in edges])


def bar(colour: Colour, x: Range, y: Range, z: Range) -> Part:
    """A box along x cut through its diagonal: top and front are left, in 8 faces."""
    return strip([colour], x, [(y[0], z[0]), (y[1], z[1]), (y[0], z[1])])


def oblong(y: Range, z: Range) -> list[Point]:
    """A box's outline for `strip`."""
    return [(y[0], z[0]), (y[1], z[0]), (y[1], z[1]), (y[0], z[1])]
