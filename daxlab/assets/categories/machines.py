"""Classes with a plug: computer, keyboard, loudspeaker, microwave, monitor, printer. They look towards -y."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from daxlab.assets.categories.kit import (
    BRIGHT,
    CASES,
    WOODS,
    Range,
    Rng,
    against,
    block,
    chance,
    fitted,
    hue,
    knob,
    pick,
    shade,
    span,
    strip,
)
from daxlab.assets.mesh import Mesh
from daxlab.assets.palette import (
    BLACK,
    BLUE,
    CREAM,
    CRIMSON,
    CYAN,
    GOLD,
    GREEN,
    LIME,
    MINT,
    NAVY,
    ORANGE,
    PURPLE,
    RED,
    SILVER,
    SKY,
    TEAL,
    WHITE,
    YELLOW,
)
from daxlab.assets.shapes import Colour, Part, box, cylinder, join, lathe

SCREENS = (SKY, BLUE, CYAN, TEAL, PURPLE, GREEN)
"""Lit screens."""


def computer(rng: Rng) -> Mesh:
    """Screen, case and keyboard together: the case stands beside the screen or lies beneath it."""
    case = hue(rng, CASES)
    keys, glow = against(rng, (BLACK, WHITE), case), against(rng, SCREENS, case)
    w, h = span(rng, 0.5, 0.64), span(rng, 0.38, 0.46)
    front = -span(rng, 0.3, 0.36)
    board = block(case, (-w / 2, w / 2), (front - 0.18, front), (0.0, 0.05))
    typed = block(keys, (-w * 0.45, w * 0.45), (front - 0.16, front - 0.03), (0.03, 0.075))
    if chance(rng, 0.6):
        tall, deep = span(rng, 0.5, 0.62), 0.42
        x = w / 2 + 0.06
        tower = block(case, (x, x + 0.2), (-0.2, deep - 0.2), (0.0, tall))
        bays = block(keys, (x + 0.03, x + 0.17), (-0.225, -0.1), (tall * 0.72, tall * 0.88))
        light = knob(pick(rng, (LIME, RED, CYAN)), x + 0.1, -0.19, tall * 0.35, 0.05)
        if chance(rng):
            tower, bays, light = (p.scale(x=-1) for p in (tower, bays, light))
        screen = _screen(case, glow, w, h, 0.06).move(z=0.14)
        stand = block(case, (-0.05, 0.05), (0.0, 0.08), (0.02, 0.3)) + block(
            case, (-0.15, 0.15), (-0.1, 0.14), (0, 0.04)
        )
        return fitted(rng, board, typed, tower, bays, light, screen, stand)
    low = span(rng, 0.12, 0.17)
    lying = block(case, (-w * 0.54, w * 0.54), (-0.25, 0.25), (0.0, low))
    slot = block(keys, (w * 0.1, w * 0.44), (-0.27, -0.1), (low * 0.4, low * 0.75))
    tube = block(case, (-w * 0.36, w * 0.36), (0.0, 0.3), (low + 0.06, low + h * 0.85))
    foot = block(shade(case, 0.7), (-0.14, 0.14), (-0.12, 0.16), (low, low + 0.05))
    return fitted(rng, board, typed, lying, slot, tube, foot, _screen(case, glow, w * 0.9, h, 0.14).move(z=low + 0.05))


def _screen(case: Colour, glow: Colour, w: float, h: float, deep: float) -> Part:
    """A frame and its lit glass; its back is at y = 0."""
    rim = 0.035
    glass = block(glow, (-w / 2 + rim, w / 2 - rim), (-deep - 0.015, -deep / 2), (rim, h - rim))
    return block(case, (-w / 2, w / 2), (-deep, 0.0), (0.0, h)) + glass


def keyboard(rng: Rng) -> Mesh:
    """Flat board that rises to the back, with rows of raised keys, a space bar, with or without a number block."""
    case = hue(rng, (*CASES, RED, BLUE, PURPLE))
    keys = against(rng, (WHITE, BLACK, CREAM, CYAN, YELLOW), case)
    special = against(rng, (ORANGE, RED, SKY, LIME, WHITE), case, keys)
    d, low, tilt = span(rng, 0.34, 0.44), 0.06, span(rng, 8, 14)
    numbers = chance(rng)
    right = 0.2 if numbers else 0.47
    step, wide = d * 0.9 / 3, right + 0.47
    parts: list[Part] = []
    for i in range(3):
        shift = span(rng, -0.05, 0.05)
        cuts = [0.0, 0.2, 0.8, 1.0] if i == 0 else [0.0, 0.33 + shift, 0.68 + shift, 1.0]
        y = (0.05 * d + i * step, 0.05 * d + (i + 0.75) * step)
        for k, (a, b) in enumerate(pairwise(cuts)):
            if numbers and (i, k) == (0, 2):
                continue
            colour = special if (i, k) in ((0, 0), (2, 2)) else keys
            parts.append(block(colour, (a * wide - 0.47 + 0.012, b * wide - 0.47 - 0.012), y, (-0.02, 0.05)))
    if numbers:
        parts.append(block(special, (0.25, 0.47), (0.05 * d, 0.9 * d), (-0.02, 0.05)))
    rise = low + d * np.tan(np.radians(tilt))
    board = strip([case], (-0.5, 0.5), [(0.0, 0.0), (d, 0.0), (d, rise), (0.0, low)])
    return fitted(rng, board, join(*parts).turn("x", tilt).move(z=low))


def loudspeaker(rng: Rng) -> Mesh:
    """Upright cabinet with two or three round cones in its front."""
    drivers = pick(rng, (2, 2, 3))
    w, d, h = span(rng, 0.42, 0.6), span(rng, 0.36, 0.5), 1.0
    cabinet = hue(rng, (*WOODS, BLACK, BLACK, WHITE, CRIMSON, NAVY))
    rim = against(rng, (WHITE, BLACK, GOLD, SILVER), cabinet)
    cone_colour = against(rng, (BLACK, WHITE, YELLOW, ORANGE, RED, SKY), cabinet, rim)
    body = box(cabinet, w, d, h, top=(span(rng, 0.82, 1.0), 1.0))
    parts = [body]
    if chance(rng, 0.4):
        parts.append(block(shade(cabinet, 0.4), (-w * 0.45, w * 0.45), (-d / 2 - 0.02, 0.0), (0.04, 0.95)))
    big = w * 0.4
    places = [(big, 0.28), (big * 0.6, 0.74)] if drivers == 2 else [(big, 0.22), (big * 0.82, 0.58), (big * 0.45, 0.85)]
    for r, z in places:
        ring = lathe([rim, cone_colour], [(r, 0.0), (r * 0.86, 0.07), (0.0, 0.015)], n=8)
        parts.append(ring.turn("x", 90).move(y=-d / 2 - 0.015, z=z))
    return fitted(rng, *parts)


def microwave(rng: Rng) -> Mesh:
    """Wide oven: a dark window at the left, a panel with a lit display and knobs or buttons at the right."""
    w, d, h = 1.0, span(rng, 0.5, 0.66), span(rng, 0.5, 0.62)
    case = hue(rng, (WHITE, WHITE, BLACK, CREAM, RED, MINT, NAVY))
    window = BLACK if max(case) > 0.3 else (0.30, 0.36, 0.55)
    panel = shade(case, 0.7) if max(case) > 0.3 else WHITE
    y, split = -d / 2, span(rng, 0.16, 0.24)
    parts = [box(case, w, d, h).move(z=0.03), box(BLACK, w * 0.86, d * 0.8, 0.04)]
    parts.append(block(shade(case, 0.85), (-w * 0.48, split), (y - 0.03, y + 0.02), (0.08, h - 0.02)))
    parts.append(block(window, (-w * 0.42, split - 0.1), (y - 0.045, y), (0.14, h - 0.08)))
    parts.append(block(panel, (split + 0.03, w * 0.48), (y - 0.03, y + 0.02), (0.08, h - 0.02)))
    metal = against(rng, (SILVER, BLACK, WHITE), case)
    parts.append(block(metal, (split - 0.07, split - 0.03), (y - 0.1, y), (0.14, h - 0.08)))
    middle = (split + 0.03 + w * 0.48) / 2
    lit = against(rng, (LIME, CYAN, RED, ORANGE), panel)
    parts.append(block(lit, (middle - 0.09, middle + 0.09), (y - 0.05, y), (h - 0.17, h - 0.09)))
    ink = against(rng, (BLACK, WHITE, SKY), panel)
    if chance(rng):
        parts += [cylinder(ink, 0.07, 0.08, n=5).turn("x", 90).move(middle, y - 0.01, z) for z in (0.16, h * 0.5)]
    else:
        parts += [block(ink, (middle - 0.08, middle + 0.08), (y - 0.05, y), (z, z + 0.045)) for z in (0.12, 0.2, 0.28)]
    return fitted(rng, *parts)


def monitor(rng: Rng) -> Mesh:
    """Thin wide screen on a neck and a foot; something bright is on the screen."""
    case = hue(rng, CASES)
    glow = against(rng, (*SCREENS, ORANGE), case)
    w, h = 1.0, span(rng, 0.5, 0.78)
    rise = span(rng, 0.16, 0.3)
    screen = _screen(case, glow, w, h, 0.08)
    if chance(rng, 0.6):
        page = against(rng, (WHITE, YELLOW, BLACK), glow)
        x, z = span(rng, -0.3, -0.05), span(rng, 0.15, 0.3) * h
        screen += block(page, (x, x + 0.3), (-0.11, -0.05), (z, z + h * 0.45))
    screen = screen.turn("x", -span(rng, 0, 12)).move(z=rise)
    neck = block(shade(case, 0.8), (-0.06, 0.06), (-0.02, 0.06), (0.0, rise + h * 0.4))
    if chance(rng):
        foot = cylinder(case, 0.26, 0.05, n=8, top=0.85)
    else:
        foot = box(case, span(rng, 0.4, 0.6), span(rng, 0.3, 0.4), 0.05, top=0.9)
    return fitted(rng, screen, neck, foot)


def printer(rng: Rng) -> Mesh:
    """Ink printer with paper standing in its back, or a taller laser printer with a scanner above the printed sheet."""
    case = hue(rng, CASES)
    dark = BLACK if max(case) > 0.3 else (0.30, 0.36, 0.55)
    return fitted(rng, *(_ink_printer if chance(rng, 0.65) else _laser_printer)(rng, case, dark))


def _printed(rng: Rng, w: float, y: Range, z: float) -> Part:
    """A white sheet with a coloured picture on it."""
    ink = block(pick(rng, BRIGHT), (-w * 0.6, w * 0.2), (y[0] + 0.06, y[0] + 0.22), (z, z + 0.045))
    return block(WHITE, (-w, w), y, (z, z + 0.03)) + ink


def _ink_printer(rng: Rng, case: Colour, dark: Colour) -> list[Part]:
    w, d, h = span(rng, 0.75, 0.95), span(rng, 0.5, 0.62), span(rng, 0.32, 0.46)
    y = -d / 2
    body = box(case, w, d, h, top=(span(rng, 0.88, 1.0), span(rng, 0.75, 0.95)))
    mouth = block(dark, (-w * 0.36, w * 0.36), (y - 0.02, 0.0), (h * 0.28, h * 0.62))
    tray = block(dark, (-w * 0.32, w * 0.32), (y - 0.32, y + 0.05), (h * 0.2, h * 0.2 + 0.05))
    paper = _printed(rng, w * 0.26, (y - span(rng, 0.26, 0.42), y + 0.1), h * 0.34)
    sheet = box(WHITE, w * 0.56, 0.035, span(rng, 0.32, 0.5)).turn("x", -span(rng, 14, 28)).move(y=d * 0.3, z=h * 0.8)
    rest = box(dark, w * 0.64, 0.035, 0.24).turn("x", -20).move(y=d * 0.38, z=h * 0.8)
    lit = block(pick(rng, (LIME, CYAN, SKY, ORANGE)), (w * 0.2, w * 0.38), (-d * 0.34, -d * 0.15), (h * 0.9, h + 0.03))
    return [body, mouth, tray, paper, sheet, rest, lit]


def _laser_printer(rng: Rng, case: Colour, dark: Colour) -> list[Part]:
    w, d, h = span(rng, 0.75, 0.9), span(rng, 0.62, 0.75), span(rng, 0.38, 0.5)
    y = -d / 2
    body = box(case, w, d, h)
    drawer = block(dark, (-w * 0.42, w * 0.42), (y - 0.03, 0.0), (h * 0.12, h * 0.4))
    column = block(case, (-w / 2, w / 2), (d * 0.2, d / 2), (h, h + 0.24))
    scanner = block(case, (-w / 2, w / 2), (y * 0.75, d / 2), (h + 0.22, h + 0.34)).paint_facing(dark, (0, 0, 1))
    lit = block(pick(rng, (LIME, CYAN, SKY, ORANGE)), (w * 0.26, w * 0.44), (y - 0.03, 0.0), (h * 0.6, h * 0.85))
    return [body, drawer, column, scanner, _printed(rng, w * 0.32, (y - 0.14, d * 0.25), h + 0.01), lit]
