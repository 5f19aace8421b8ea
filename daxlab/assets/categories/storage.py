"""Classes that hold things: armoire, bag, bookcase, box, chest of drawers. They look towards -y."""

from __future__ import annotations

import numpy as np

from daxlab.assets.categories.kit import (
    BRIGHT,
    FABRICS,
    METALS,
    OAK,
    PAINTED,
    PINE,
    WOODS,
    Rng,
    against,
    bar,
    block,
    chance,
    fitted,
    hue,
    knob,
    legs,
    oblong,
    pick,
    shade,
    span,
    strip,
    tub,
)
from daxlab.assets.mesh import Mesh
from daxlab.assets.palette import BLACK, BROWN, CREAM, CYAN, GOLD, RED, SKY, TAN, WHITE, YELLOW
from daxlab.assets.shapes import Colour, Part, box, cylinder, extrude, join, prism, tube

CARDBOARD = (TAN, OAK, PINE)


def armoire(rng: Rng) -> Mesh:
    """Tall cupboard: two or three long doors with panels or mirrors, a crown, sometimes a drawer below."""
    w, d = span(rng, 0.5, 0.7), span(rng, 0.32, 0.42)
    wood = hue(rng, PAINTED)
    dark, metal = shade(wood, 0.55), against(rng, METALS, wood)
    inset = pick(rng, (SKY, shade(wood, 0.75), against(rng, PAINTED, wood)))
    doors = 2 if chance(rng, 0.7) else 3
    drawer = doors == 2 and chance(rng)
    low, high, front = (0.3 if drawer else 0.1), 0.93, -d / 2
    body = block(wood, (-w / 2, w / 2), (front, d / 2), (0.06, 0.96))
    parts = [body.paint_facing(dark, (0, -1, 0))]
    parts.append(box(shade(wood, 0.4), w * 0.94, d * 0.94, 0.06))
    if doors == 2 and chance(rng, 0.4):
        arch = [(-w * 0.54, 0.0), (w * 0.54, 0.0), (w * 0.54, 0.04), (0.0, span(rng, 0.1, 0.16)), (-w * 0.54, 0.04)]
        parts.append(extrude(wood, arch, d * 1.1).move(z=0.95))
    else:
        parts.append(box(wood, w, d, 0.07, top=(1.14, 1.2)).move(z=0.94))
    step = w / doors
    for i in range(doors):
        left, right = -w / 2 + i * step + 0.012, -w / 2 + (i + 1) * step - 0.012
        parts.append(block(wood, (left, right), (front - 0.025, front + 0.02), (low, high)))
        rim = 0.06
        parts.append(block(inset, (left + rim, right - rim), (front - 0.04, front), (low + rim, high - rim)))
        edge = right - 0.03 if i == 0 else left + 0.03
        parts.append(knob(metal, edge, front - 0.02, 0.52, 0.035))
    if drawer:
        parts.append(block(wood, (-w / 2 + 0.02, w / 2 - 0.02), (front - 0.025, front + 0.02), (0.09, 0.27)))
        parts.append(block(metal, (-0.08, 0.08), (front - 0.05, front), (0.165, 0.2)))
    return fitted(rng, *parts)


def bag(rng: Rng) -> Mesh:
    """Handbag with a flap, shopping bag with two handles, or sports bag."""
    leather = hue(rng, (*FABRICS, BROWN, BLACK))
    trim = against(rng, (GOLD, BLACK, WHITE, BROWN, YELLOW, RED), leather)
    make = pick(rng, (_handbag, _shopping_bag, _sports_bag))
    return fitted(rng, *make(rng, leather, trim))


def _handbag(rng: Rng, leather: Colour, trim: Colour) -> list[Part]:
    w, d, h = span(rng, 0.7, 0.95), span(rng, 0.26, 0.36), span(rng, 0.45, 0.62)
    narrow, rise = span(rng, 0.6, 0.9), span(rng, 0.22, 0.42)
    body = box(leather, w, d, h, top=(narrow, 0.5))
    flap = prism(shade(leather, 0.7), [(-w * 0.4, 0.0), (w * 0.4, 0.0), (0.0, -h * 0.7)], 0.06)
    lean = np.degrees(np.arctan2(d * 0.25, h))
    flap = flap.turn("x", 90 - lean).move(y=-d * 0.25 + 0.03, z=h * 0.98)
    clasp = knob(trim, 0.0, -d * 0.43, h * 0.38, 0.07)
    x = w * narrow * span(rng, 0.28, 0.4)
    arch = [(-x, 0, h * 0.95), (-x * 0.85, 0, h + rise * 0.7), (0, 0, h + rise), (x * 0.85, 0, h + rise * 0.7)]
    return [body, flap, clasp, tube(trim, [*arch, (x, 0, h * 0.95)], 0.045, n=4)]


def _shopping_bag(rng: Rng, paper: Colour, trim: Colour) -> list[Part]:
    w, d, h = span(rng, 0.55, 0.8), span(rng, 0.28, 0.4), span(rng, 0.65, 0.9)
    body = tub((paper, shade(paper, 0.8), shade(paper, 0.35)), w, d, h, 0.03)
    x, rise = w * span(rng, 0.18, 0.28), span(rng, 0.18, 0.3)
    handle = tube(trim, [(-x, 0, h * 0.85), (-x, 0, h + rise), (x, 0, h + rise), (x, 0, h * 0.85)], 0.035, n=3)
    sides = handle.move(y=-d / 2 + 0.02) + handle.move(y=d / 2 - 0.02)
    z = h * span(rng, 0.3, 0.45)
    label = block(trim, (-w * 0.3, w * 0.3), (-d / 2 - 0.02, -d / 2 + 0.01), (z, z + h * 0.22))
    return [body, sides, label]


def _sports_bag(rng: Rng, cloth: Colour, trim: Colour) -> list[Part]:
    length, r = 1.0, span(rng, 0.2, 0.26)
    barrel = cylinder(cloth, r, length, n=8).turn("y", 90).move(x=-length / 2, z=r * 0.92)
    x, rise = span(rng, 0.16, 0.26), span(rng, 0.16, 0.28)
    bands = box(trim, 0.07, 2 * r * 1.02, 2 * r * 0.97).move(x=x).both("x")
    top = 2 * r * 0.9
    arch = [(-x, 0, top), (-x * 0.8, 0, top + rise), (x * 0.8, 0, top + rise), (x, 0, top)]
    pocket = box(shade(cloth, 0.7), x * 1.5, 0.1, r * 0.8).move(y=-r * 0.93, z=r * 0.4)
    return [barrel, bands, tube(trim, arch, 0.04, n=3), pocket]


def bookcase(rng: Rng) -> Mesh:
    """Open shelves with rows of coloured books."""
    w, d, wall = span(rng, 0.5, 0.85), span(rng, 0.24, 0.32), 0.045
    wood = hue(rng, PAINTED)
    inside = shade(wood, 0.45)
    rooms = pick(rng, (3, 4))
    shell = tub((wood, wood, inside), w, 1.0, d, wall).turn("x", 90).move(y=d / 2, z=0.5)
    step = (1 - 2 * wall) / rooms
    floors = [wall + i * step for i in range(rooms)]
    side, front = w / 2 - wall / 2, d * 0.48
    shelves = [bar(wood, (-side, side), (-front, front), (z - wall, z)) for z in floors[1:]]
    empty = int(rng.integers(rooms)) if rooms == 4 else -1
    rows = []
    for i, z in enumerate(floors):
        if i == empty:
            continue
        bands = 2 if rooms == 4 or i == 0 else 3
        hues = [pick(rng, BRIGHT) for _ in range(bands)]
        left = -w / 2 + wall + (0.0 if chance(rng) else 0.2 * w)
        right = left + (w - 2 * wall) * span(rng, 0.6, 0.78)
        outline = oblong((-d * 0.36, d * 0.3), (z, z + step * span(rng, 0.6, 0.8)))
        rows.append(strip(hues, np.linspace(left, right, bands + 1), outline))
    return fitted(rng, shell, *shelves, *rows)


def carton(rng: Rng) -> Mesh:
    """Box: of cardboard, open with its flaps out or closed with tape; with a coloured lid; or a wooden crate."""
    size = span(rng, 0.75, 1.0), span(rng, 0.6, 0.8), span(rng, 0.45, 0.75)
    make = pick(rng, (_flaps, _flaps, _taped, _lidded, _crate))
    return fitted(rng, *make(rng, *size))


def _flaps(rng: Rng, w: float, d: float, h: float) -> list[Part]:
    card = hue(rng, CARDBOARD)
    pale = shade(card, 1.12)
    body = tub((card, shade(card, 0.8), shade(card, 0.5)), w, d, h, 0.03)
    lean, reach = span(rng, -10, 30), min(w, d) * span(rng, 0.35, 0.5)
    side = box(pale, reach, d * 0.96, 0.03).move(x=reach / 2).turn("y", lean).move(x=w / 2 - 0.01, z=h - 0.01)
    end = box(pale, w * 0.96, reach, 0.03).move(y=reach / 2).turn("x", -lean).move(y=d / 2 - 0.01, z=h - 0.01)
    return [body, side.both("x"), end.both("y")]


def _taped(rng: Rng, w: float, d: float, h: float) -> list[Part]:
    card = hue(rng, CARDBOARD)
    tape = box(against(rng, (CREAM, RED, CYAN, BROWN), card), w + 0.02, 0.12, h * 0.3).move(z=h * 0.72)
    label = block(WHITE, (-w * 0.35, -w * 0.05), (-d / 2 - 0.015, 0.0), (h * 0.3, h * 0.62))
    mark = block(RED, (w * 0.15, w * 0.3), (-d / 2 - 0.015, 0.0), (h * 0.15, h * 0.45))
    return [box(card, w, d, h), tape, label, mark]


def _lidded(rng: Rng, w: float, d: float, h: float) -> list[Part]:
    paper = hue(rng, (*FABRICS, TAN))
    lid = box(against(rng, FABRICS, paper), w * 1.08, d * 1.08, h * 0.26).turn("z", pick(rng, (0, 0, -12, 8)))
    label = block(WHITE, (-0.12, 0.12), (-d / 2 - 0.02, 0), (0.2 * h, 0.5 * h))
    return [box(paper, w, d, h), lid.move(z=h * 0.8), label]


def _crate(rng: Rng, w: float, d: float, h: float) -> list[Part]:
    wood = hue(rng, WOODS)
    dark = shade(wood, 0.35)
    rows = [((i / 3 + 0.02) * h, (i / 3 + 0.26) * h) for i in range(3)]
    slats = [block(wood, (-w / 2, w / 2), (-d / 2, -d / 2 + 0.05), z).both("y") for z in rows]
    ends = block(wood, (w / 2 - 0.05, w / 2), (-d / 2, d / 2), rows[-1]).both("x")
    return [tub((dark, dark, dark), w * 0.94, d * 0.94, h * 0.9, 0.03), *slats, ends]


def chest_of_drawers(rng: Rng) -> Mesh:
    """Low wide body with rows of drawers, each with one or two knobs."""
    rows = pick(rng, (3, 3, 4, 5))
    w = span(rng, 0.8, 0.95) if rows == 5 else span(rng, 0.95, 1.25)
    d = span(rng, 0.4, 0.52)
    h = span(rng, 0.85, 1.0) if rows > 3 else span(rng, 0.65, 0.85)
    wood = hue(rng, PAINTED)
    fronts = wood if chance(rng, 0.6) else against(rng, PAINTED, wood)
    metal = against(rng, METALS, fronts)
    stand = rows == 3 and chance(rng, 0.6)
    low = 0.16 if stand else 0.05
    body = block(wood, (-w / 2, w / 2), (-d / 2, d / 2), (low - (0.0 if stand else 0.05), h))
    parts = [body.paint_facing(shade(wood, 0.45), (0, -1, 0)), box(wood, w * 1.06, d * 1.1, 0.05).move(z=h)]
    if stand:
        parts.append(legs(shade(wood, 0.8), w, d, low, 0.09, n=3))
    step = (h - low) / rows
    split = rows == 3 and not stand and chance(rng)
    y = -d / 2
    for i in range(rows):
        z = (low + i * step + 0.025, low + (i + 1) * step - 0.02)
        halves = 2 if split and i == rows - 1 else 1
        for k in range(halves):
            left = -w / 2 + 0.03 + k * (w - 0.03) / 2
            right = left + (w - 0.06 - 0.03 * (halves - 1)) / halves
            parts.append(block(fronts, (left, right), (y - 0.03, y + 0.02), z))
            middle, height = (left + right) / 2, (z[0] + z[1]) / 2
            if rows == 5 or halves == 2:
                parts.append(knob(metal, middle, y - 0.025, height, 0.06))
            else:
                parts += [knob(metal, side * w * 0.27, y - 0.025, height, 0.06) for side in (-1, 1)]
    return fitted(rng, join(*parts))
