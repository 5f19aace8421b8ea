"""Classes of single kinds: book, hammer, piano, plant, rug. They look towards -y."""

from __future__ import annotations

import numpy as np

from daxlab.assets.categories.kit import (
    CERAMIC,
    FABRICS,
    WOODS,
    Range,
    Rng,
    against,
    bar,
    block,
    chance,
    fitted,
    hue,
    leg,
    oblong,
    pick,
    shade,
    span,
    strip,
)
from daxlab.assets.mesh import Mesh
from daxlab.assets.palette import (
    BLACK,
    BLUE,
    BROWN,
    CREAM,
    FOREST,
    GOLD,
    GREEN,
    LIME,
    MAGENTA,
    ORANGE,
    PINK,
    PURPLE,
    RED,
    STEEL,
    TERRACOTTA,
    WHITE,
    YELLOW,
)
from daxlab.assets.shapes import Colour, Part, ball, box, cone, cylinder, join, lathe, loft, prism, tube


def book(rng: Rng) -> Mesh:
    """Coloured boards round white pages: upright and ajar, lying closed, or lying open."""
    cover = hue(rng, (*FABRICS[:-1], BROWN, BLACK))
    title = against(rng, (GOLD, WHITE, YELLOW, BLACK, RED), cover)
    w, h, thick = span(rng, 0.6, 0.85), 1.0, span(rng, 0.14, 0.3)
    kind = pick(rng, ("ajar", "lying", "open"))
    board = 0.05
    if kind == "open":
        page = box(WHITE, w * 0.92, h * 0.92, 0.07).move(x=w * 0.46, z=board)
        side = join(page, box(cover, w, h, board).move(x=w / 2))
        lines = [box(BLACK, w * 0.6, 0.05, 0.02).move(x=w * 0.46, y=y, z=board + 0.065) for y in (-0.2, 0.05, 0.3)]
        tilt = span(rng, 12, 28)
        return fitted(rng, join(side, *lines).turn("y", -tilt).both("x"))
    label = block(title, (w * 0.2, w * 0.8), (-0.03, 0.0), (h * span(rng, 0.5, 0.6), h * 0.82))
    front = block(cover, (0.0, w), (-0.02, board - 0.02), (0.0, h)) + label
    if kind == "ajar":
        angle = span(rng, 8, 22)
        fan = np.tan(np.radians(angle * 0.75)) * w
        pages = prism(WHITE, [(0.02, -0.04), (w * 0.94, -fan), (w * 0.94, fan), (0.02, 0.04)], h * 0.92)
        spine = block(shade(cover, 0.7), (-0.05, 0.03), (-thick * 0.4, thick * 0.4), (0.0, h))
        return fitted(rng, front.turn("z", -angle).move(y=-0.05).both("y"), pages.move(z=h * 0.04), spine)
    back = block(cover, (0.0, w), (thick - 0.02, thick + board - 0.02), (0.0, h))
    spine = block(shade(cover, 0.7), (-0.03, 0.04), (-0.02, thick + board - 0.02), (0.0, h))
    pages = block(WHITE, (0.03, w * 0.96), (0.01, thick), (h * 0.03, h * 0.97))
    return fitted(rng, join(front, back, spine, pages).turn("x", -90).turn("z", span(rng, -20, 60)))


def hammer(rng: Rng) -> Mesh:
    """Stood on its head: claw hammer, sledge hammer, ball hammer or mallet."""
    steel = pick(rng, (STEEL, BLACK, (0.30, 0.36, 0.55)))
    wood = hue(rng, (*WOODS, RED, YELLOW, ORANGE, BLUE))
    grip = against(rng, (BLACK, RED, BLUE, YELLOW, ORANGE), wood)
    r, long, kind = span(rng, 0.1, 0.14), span(rng, 1.05, 1.25), pick(rng, ("claw", "claw", "sledge", "ball", "mallet"))
    if kind == "mallet":
        head_colour = against(rng, (*WOODS, BLACK, WHITE), wood)
        r, half = span(rng, 0.15, 0.2), span(rng, 0.22, 0.3)
        head = cylinder(head_colour, r, 2 * half, n=8).turn("y", 90).move(x=-half, z=r * 0.92)
    elif kind == "sledge":
        half = span(rng, 0.24, 0.34)
        head = cylinder(steel, r * 1.15, 2 * half, n=pick(rng, (4, 6))).turn("y", 90).move(x=-half, z=r)
    else:
        face = cylinder(steel, r, 0.2, n=6).turn("y", 90).move(x=0.1, z=r * 0.9)
        neck = block(steel, (-0.14, 0.14), (-r * 0.7, r * 0.7), (r * 0.3, r * 1.5))
        if kind == "ball":
            head = join(face, neck, ball(steel, r, n=6, rings=2).move(x=-0.2, z=r * 0.9))
        else:
            hook = [(-0.1, r * 1.5), (-0.1, r * 0.5), (-0.38, 0.0), (-0.42, 0.05)]
            tine = prism(steel, hook, r * 0.5).turn("x", 90)
            head = join(face, neck, tine.move(y=-0.02), tine.move(y=r * 0.5 + 0.02))
    base = r * 1.2
    handle = leg(wood, (0, 0), long - base, 0.11, n=6, taper=span(rng, 0.8, 1.2)).move(z=base * 0.8)
    parts = [head, handle]
    if chance(rng, 0.6):
        size = span(rng, 0.25, 0.4)
        parts.append(leg(grip, (0, 0), size, 0.15, n=6).move(z=long - size))
    return fitted(rng, *parts)


def piano(rng: Rng) -> Mesh:
    """Upright piano or grand piano, with a row of white and black keys."""
    lacquer = hue(rng, (BLACK, BLACK, *WOODS[:3], WHITE, (0.45, 0.03, 0.08)))
    return fitted(rng, *(_upright if chance(rng) else _grand)(rng, lacquer))


def _keys(x: Range, y: Range, z: float) -> Part:
    """A white strip with groups of black keys on its far half."""
    white = block(WHITE, x, y, (z - 0.04, z))
    step, back = (x[1] - x[0]) / 5, (y[0] + (y[1] - y[0]) * 0.42, y[1])
    starts = [x[0] + (i + 0.3) * step for i in range(5)]
    return join(white, *(bar(BLACK, (start, start + 0.4 * step), back, (z - 0.02, z + 0.03)) for start in starts))


def _upright(rng: Rng, lacquer: Colour) -> list[Part]:
    w, h, shelf = 1.0, span(rng, 0.72, 0.95), span(rng, 0.36, 0.42)
    front = -span(rng, 0.3, 0.36)
    body = block(lacquer, (-w / 2, w / 2), (-0.1, 0.16), (0.0, h))
    bed = block(lacquer, (-w / 2, w / 2), (front, 0.0), (shelf - 0.08, shelf))
    keys = _keys((-w * 0.44, w * 0.44), (front + 0.02, -0.1), shelf + 0.03)
    posts = leg(lacquer, (w / 2 - 0.05, front + 0.05), shelf, 0.08, n=3).both("x")
    music = box(WHITE, 0.34, 0.03, 0.18).turn("x", -8).move(y=-0.14, z=shelf + 0.12)
    return [body, bed, keys, posts, music]


def _grand(rng: Rng, lacquer: Colour) -> list[Part]:
    w, long, z = 0.9, span(rng, 0.85, 1.05), 0.34
    side = [(-w / 2, -0.3), (w / 2, -0.3), (w / 2, 0.1), (0.1, long - 0.4), (-w * 0.2, long - 0.3)]
    outline = [*side, (-w / 2, long - 0.42)]
    body = prism(lacquer, outline, 0.16).move(z=z).paint_facing(GOLD, (0, 0, 1), 10)
    lid = prism(lacquer, [(x + w / 2, y) for x, y in outline[2:]] + [(0.0, -0.1), (w, -0.1)], 0.03)
    lid = lid.turn("y", -span(rng, 28, 42)).move(x=-w / 2, z=z + 0.17)
    bed = block(lacquer, (-w / 2, w / 2), (-0.46, -0.28), (z, z + 0.08))
    keys = _keys((-w * 0.44, w * 0.44), (-0.44, -0.28), z + 0.11)
    feet = ((-0.38, -0.3), (0.38, -0.3), (-0.2, long - 0.45))
    posts = [leg(lacquer, foot, z + 0.02, 0.1, n=3) for foot in feet]
    return [body, lid, bed, keys, *posts]


def plant(rng: Rng) -> Mesh:
    """Green leaves out of a pot: a rosette, blades, a palm, a round bush, or flowers."""
    clay = hue(rng, (TERRACOTTA, TERRACOTTA, *CERAMIC))
    green = hue(rng, (GREEN, FOREST, LIME, GREEN))
    r, high = span(rng, 0.18, 0.26), span(rng, 0.24, 0.36)
    profile = [(r * span(rng, 0.6, 0.9), 0), (r, high), (r * 0.85, high), (r * 0.8, high - 0.04)]
    pot = lathe([clay, clay, BROWN], profile, n=6)
    make = pick(rng, (_rosette, _blades, _palm, _bush, _flowers))
    return fitted(rng, pot, *make(rng, green, high - 0.03))


def _ring(part: Part, count: int, start: float = 0.0) -> list[Part]:
    return [part.turn("z", start + 360 * i / count) for i in range(count)]


def _rosette(rng: Rng, green: Colour, z: float) -> list[Part]:
    out, up, wide = span(rng, 0.34, 0.5), span(rng, 0.25, 0.45), span(rng, 0.08, 0.12)
    path = [(0.02, 0, z), (out * 0.5, 0, z + up), (out, 0, z + up * span(rng, 0.5, 1.05))]
    leaf = tube(green, path, [0.03, wide, 0.0], n=3)
    return [*_ring(leaf, pick(rng, (5, 6))), cone(shade(green, 1.3), 0.08, up * 1.3, n=4).move(z=z)]


def _blades(rng: Rng, green: Colour, z: float) -> list[Part]:
    parts = []
    for i in range(pick(rng, (7, 9, 11))):
        blade = cone(shade(green, span(rng, 0.75, 1.3)), 0.075, span(rng, 0.45, 0.75), n=4)
        parts.append(blade.turn("y", span(rng, 4, 26)).move(x=0.04).turn("z", 137.5 * i).move(z=z))
    return parts


def _palm(rng: Rng, green: Colour, z: float) -> list[Part]:
    tall, out = span(rng, 0.3, 0.45), span(rng, 0.34, 0.46)
    trunk = leg(BROWN, (0, 0), tall + 0.03, 0.1, taper=0.7).move(z=z)
    rise, droop = span(rng, 0.12, 0.24), span(rng, 0.0, 0.14)
    path = [(0, 0, z + tall), (out * 0.55, 0, z + tall + rise), (out, 0, z + tall - droop)]
    return [trunk, *_ring(tube(green, path, [0.03, 0.09, 0.0], n=3), pick(rng, (5, 6, 7)))]


def _bush(rng: Rng, green: Colour, z: float) -> list[Part]:
    tall, r = span(rng, 0.0, 0.3), span(rng, 0.24, 0.34)
    trunk = leg(BROWN, (0, 0), tall + 0.2, 0.08, n=3).move(z=z)
    crown = ball(green, r, rz=r * span(rng, 0.9, 1.4), n=7, rings=3).move(z=z + tall + r * 0.9)
    return [trunk, crown.paint_where(shade(green, 1.3), lambda m: (np.floor(m.sum(axis=1) * 25) % 2) == 0)]


def _flowers(rng: Rng, green: Colour, z: float) -> list[Part]:
    petal, parts = pick(rng, (RED, YELLOW, PINK, MAGENTA, ORANGE, PURPLE, WHITE)), []
    for i in range(3):
        a, out, up = 120.0 * i + span(rng, -20, 20), span(rng, 0.1, 0.2), span(rng, 0.4, 0.65)
        stem = leg(green, (0.0, 0.0), up, 0.05, n=3, head=(out, 0.0))
        head = cone(petal, 0.13, 0.16, n=5).turn("x", 180).move(x=out, z=up + 0.14)
        parts.append((stem + head).turn("z", a).move(z=z))
    leaf = tube(green, [(0.02, 0, z), (0.17, 0, z + 0.2), (0.32, 0, z + 0.16)], [0.03, 0.08, 0.0], n=3)
    return [*parts, *_ring(leaf, 3, 60.0)]


def rug(rng: Rng) -> Mesh:
    """Flat on the floor, with borders and a fringe: oblong, round, striped, or half rolled up."""
    a = hue(rng, FABRICS[:-1])
    b = against(rng, (*FABRICS, CREAM), a)
    c = against(rng, (*FABRICS, CREAM), a, b)
    thick, kind = 0.12, pick(rng, ("border", "border", "round", "stripes", "rolled"))
    if kind == "round":
        disc = [(0.5, 0), (0.5, thick), (span(rng, 0.38, 0.44), thick + 0.004), (span(rng, 0.2, 0.3), thick + 0.008)]
        return fitted(rng, lathe([b, b, a], disc, n=12).paint_where(c, lambda m: np.hypot(m[:, 0], m[:, 1]) < 0.19))
    w, d = 1.0, span(rng, 0.62, 0.78)
    if kind == "stripes":
        bands = [pick(rng, (b, c)) if i % 2 else a for i in range(7)]
        cloth = strip(bands, np.linspace(-w / 2, w / 2, 8), oblong((-d / 2, d / 2), (0, thick)))
    else:
        half = np.array([(-w, -d), (w, -d), (w, d), (-w, d)]) / 2
        inner = span(rng, 0.55, 0.7)
        steps = ((1.0, 0.0), (1.0, thick), (0.88, thick + 0.004), (inner, thick + 0.008), (inner * 0.75, thick + 0.012))
        rings = [np.column_stack([half * s, np.full(4, z)]) for s, z in steps]
        cloth = loft([a, a, b, a], rings)
        cloth = cloth.paint_where(c, lambda m: m[:, 2] > thick + 0.0119)
    if kind == "rolled":
        roll = cylinder(shade(a, 0.8), 0.12, d, n=8).turn("x", 90).move(x=w / 2 - 0.05, y=d / 2, z=0.12)
        return fitted(rng, cloth, roll)
    tooth = cone(CREAM, d / 12, 0.1, n=3).turn("y", 90).scale(z=0.4)
    teeth = [tooth.move(x=w / 2 - 0.01, y=(i - 2.5) * d / 6, z=thick / 2) for i in range(6)]
    return fitted(rng, cloth, join(*teeth).both("x"))
