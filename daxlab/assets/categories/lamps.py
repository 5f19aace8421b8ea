"""Classes that give light: floor lamp and lamp."""

from __future__ import annotations

from daxlab.assets.categories.kit import (
    BRIGHT,
    CERAMIC,
    METALS,
    WOODS,
    Rng,
    against,
    chance,
    fitted,
    hue,
    leg,
    pick,
    span,
)
from daxlab.assets.mesh import Mesh
from daxlab.assets.palette import BLACK, CREAM, GOLD, ORANGE, PINK, RED, SKY, WHITE, YELLOW
from daxlab.assets.shapes import Colour, Part, ball, box, cylinder, join, lathe, tube

GLOW: Colour = (1.0, 0.97, 0.70)
"""The lit inside of a shade."""
SHADES = (YELLOW, CREAM, WHITE, ORANGE, RED, PINK, SKY)


def floor_lamp(rng: Rng) -> Mesh:
    """A long thin pole with a small shade at its top: on a disc or three legs, straight, bowl-shaped or bent over."""
    metal = hue(rng, (*METALS, *WOODS))
    shade = against(rng, SHADES, metal)
    kind = pick(rng, ("drum", "drum", "tripod", "bowl", "arc"))
    thick = span(rng, 0.045, 0.06)
    r = span(rng, 0.18, 0.23)
    foot = cylinder(metal, r * span(rng, 0.75, 0.95), 0.05, n=8, top=0.8)
    if kind == "arc":
        out = span(rng, 0.3, 0.4)
        path = [(0, 0, 0), (0, 0, 0.75), (out * 0.3, 0, 0.93), (out * 0.75, 0, 0.95), (out, 0, 0.84)]
        hood = cylinder(shade, r * 0.85, 0.2, n=8, top=0.25).paint_facing(GLOW, (0, 0, -1), 10).move(x=out, z=0.66)
        return fitted(rng, foot.move(x=out * 0.3), tube(metal, path, thick / 2), hood)
    if kind == "bowl":
        bowl = lathe([shade, shade, GLOW], [(0.05, 0.86), (r, 0.99), (r * 0.9, 1.0), (0.08, 0.9)], n=8)
        return fitted(rng, foot, leg(metal, (0, 0), 0.9, thick), bowl)
    high, top = span(rng, 0.17, 0.25), span(rng, 0.5, 0.95)
    drum = _shade(shade, r, high, top).move(z=1.0 - high)
    if kind == "tripod":
        one = leg(metal, (span(rng, 0.2, 0.26), 0.0), 0.8, thick, head=(0.02, 0.0))
        return fitted(rng, drum, *(one.turn("z", a) for a in (30, 150, 270)))
    return fitted(rng, foot, leg(metal, (0, 0), 1.0 - high / 2, thick), drum)


def lamp(rng: Rng) -> Mesh:
    """To stand on a table: a stout foot under a wide shade, or a bent arm with a hood."""
    glaze = hue(rng, (*CERAMIC, *BRIGHT))
    shade = against(rng, SHADES, glaze)
    if chance(rng, 0.25):
        return fitted(rng, *_desk_lamp(rng, glaze))
    r, high = span(rng, 0.36, 0.46), span(rng, 0.36, 0.46)
    hood = _shade(shade, r, high, span(rng, 0.5, 0.85)).move(z=1.0 - high)
    w = span(rng, 0.17, 0.25)
    kind = pick(rng, ("gourd", "ball", "column", "cone", "block"))
    rest = 1.0 - high
    if kind == "gourd":
        body = lathe(glaze, [(w * 0.7, 0), (w, 0.14), (w, 0.26), (0.07, 0.42), (0.05, rest + 0.08)], n=6)
    elif kind == "ball":
        foot = cylinder(pick(rng, (BLACK, GOLD, WHITE)), w * 0.8, 0.05, n=6)
        body = join(ball(glaze, w, n=6, rings=2).move(z=w + 0.02), foot, leg(GOLD, (0, 0), rest + 0.1, 0.09, n=3))
    elif kind == "column":
        body = lathe(glaze, [(w, 0), (w, 0.06), (0.09, 0.1), (0.09, rest + 0.08)], n=6)
    elif kind == "cone":
        body = lathe(glaze, [(w * 1.1, 0), (w * 1.1, 0.05), (0.06, rest + 0.08)], n=6)
    else:
        body = box(glaze, w * 1.7, w * 1.7, rest * 0.85, top=span(rng, 0.6, 1.0))
        body = body + leg(GOLD, (0, 0), rest + 0.1, 0.09, n=3)
    return fitted(rng, body, hood)


def _shade(colour: Colour, radius: float, height: float, top: float) -> Part:
    """A hollow hood, wide below, with light inside; 60 faces."""
    profile = [(radius, 0.0), (radius * top, height), (radius * top * 0.85, height), (radius * top * 0.6, height * 0.7)]
    return lathe([colour, colour, GLOW], profile, n=8).paint_facing(GLOW, (0, 0, -1), 10)


def _desk_lamp(rng: Rng, metal: Colour) -> list[Part]:
    foot = cylinder(metal, span(rng, 0.24, 0.3), 0.08, n=8, top=0.9)
    back, out = span(rng, 0.1, 0.22), span(rng, 0.1, 0.2)
    arm = tube(metal, [(0, 0, 0.04), (-back, 0, 0.5), (out, 0, 0.88)], 0.045)
    hood = lathe([metal, metal], [(0.26, -0.26), (0.1, 0.0), (0.07, 0.06)], n=8).paint_facing(GLOW, (0, 0, -1), 10)
    return [foot, arm, hood.turn("y", -span(rng, 15, 40)).move(x=out + 0.06, z=0.86)]
