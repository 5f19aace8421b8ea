"""Objects that no agent meets in training (the bus is with the other vehicles)."""

from __future__ import annotations

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
    SILVER,
    WHITE,
    YELLOW,
)
from daxlab.assets.shapes import ball, box, centred, cone, cylinder, extrude, join, lathe, tube


def banana() -> Mesh:
    """Bent yellow banana on its back, brown at both ends."""
    bend = [(-0.23, 0.26), (-0.2, 0.2), (-0.14, 0.1), (-0.05, 0.07), (0.05, 0.07), (0.14, 0.1), (0.23, 0.21)]
    curve = [(x, 0.0, z) for x, z in bend]
    fruit = tube(YELLOW, curve, [0.03, 0.035, 0.065, 0.075, 0.075, 0.06, 0.02], n=6)
    return centred(fruit.paint_where(BROWN, lambda c: (c[:, 0] < -0.205) | (c[:, 0] > 0.2)))


def cactus() -> Mesh:
    """Green cactus with two arms and a pink flower, in an orange pot."""
    pot = cylinder(ORANGE, 0.09, 0.13, n=6, top=1.35)
    stem = lathe(GREEN, [(0.07, 0.1), (0.075, 0.36), (0, 0.43)], n=6)
    right = tube(GREEN, [(0.03, 0, 0.22), (0.15, 0, 0.22), (0.16, 0, 0.35)], 0.045)
    left = tube(GREEN, [(-0.03, 0, 0.27), (-0.15, 0, 0.27), (-0.16, 0, 0.4)], 0.045)
    flower = cone(MAGENTA, 0.06, 0.08, n=5).turn("x", 180).move(z=0.48)
    return centred(pot, stem, right, left, flower)


def candle() -> Mesh:
    """White candle with an orange flame, in a blue holder with a ring."""
    dish = lathe([BLUE, BLUE, BLUE], [(0.13, 0), (0.17, 0.06), (0.14, 0.06), (0.1, 0.03)], n=8)
    wax = cylinder(CREAM, 0.065, 0.26, n=6).move(z=0.03)
    flame = lathe([RED, ORANGE, YELLOW], [(0.02, 0.29), (0.045, 0.34), (0.035, 0.38), (0, 0.46)], n=5)
    ring = tube(BLUE, [(0.14, 0, 0.06), (0.22, 0, 0.08), (0.22, 0, 0.02), (0.12, 0, 0.02)], 0.03, n=3)
    return centred(dish, wax, flame, ring)


def dinosaur() -> Mesh:
    """Lime-green long-neck: a round body on four legs, tail behind, small head in front."""
    body = ball(LIME, 0.14, 0.09, 0.09, n=6, rings=2).turn("y", 90).scale(1.5, 1, 0.75).move(z=0.17)
    neck = tube(LIME, [(0.08, 0, 0.18), (0.17, 0, 0.29), (0.18, 0, 0.42)], [0.07, 0.05, 0.04])
    head = box(LIME, 0.12, 0.09, 0.08, top=0.75).move(x=0.19, z=0.4)
    tail = tube(LIME, [(-0.06, 0, 0.17), (-0.24, 0, 0.08)], [0.08, 0.0])
    legs = box(LIME, 0.06, 0.06, 0.14).move(x=0.08, y=0.06).both("x").both("y")
    spikes = [cone(ORANGE, 0.04, 0.08, n=3).move(x=x, z=z) for x, z in ((-0.12, 0.18), (-0.04, 0.23), (0.05, 0.23))]
    return centred(body, neck, head, tail, legs, *spikes)


def hairdryer() -> Mesh:
    """Pink hairdryer stood on its handle: barrel and black nozzle along +x."""
    barrel = lathe(
        [BLACK, PINK, PINK, BLACK, SILVER],
        [(0.08, -0.2), (0.1, -0.17), (0.1, -0.02), (0.06, 0.12), (0.08, 0.22), (0.05, 0.2)],
        n=8,
    )
    handle = box(PINK, 0.1, 0.09, 0.26).move(x=-0.08)
    foot = box(BLACK, 0.13, 0.12, 0.05).move(x=-0.08)
    switch = box(BLACK, 0.03, 0.05, 0.08).move(x=-0.025, z=0.14)
    return centred(barrel.turn("y", 90).move(z=0.32), handle, foot, switch)


def mushroom() -> Mesh:
    """Toadstool: white stem, red cap with white spots."""
    stem = lathe(CREAM, [(0.11, 0), (0.075, 0.1), (0.075, 0.26)], n=6)
    cap = lathe([CREAM, RED, RED], [(0.05, 0.23), (0.22, 0.22), (0.17, 0.34), (0.0, 0.41)], n=8)
    spot = cone(WHITE, 0.055, 0.04, n=5).turn("y", 50).move(x=0.17, z=0.3)
    spots = [cone(WHITE, 0.06, 0.04, n=5).move(z=0.39), *(spot.turn("z", a) for a in (20, 110, 200, 290))]
    return centred(stem, cap, *spots)


def pineapple() -> Mesh:
    """Golden pineapple with a green crown."""
    fruit = lathe(
        [GOLD, ORANGE, GOLD, ORANGE], [(0.08, 0), (0.13, 0.08), (0.14, 0.15), (0.12, 0.23), (0.06, 0.29)], n=8
    )
    leaf = cone(FOREST, 0.045, 0.2, n=3).turn("y", 40).move(x=0.02, z=0.27)
    return centred(fruit, *(leaf.turn("z", a) for a in range(0, 360, 60)), cone(GREEN, 0.05, 0.23, n=4).move(z=0.27))


def snowman() -> Mesh:
    """Two white balls, carrot nose, black hat, red scarf."""
    low = ball(WHITE, 0.15, 0.15, 0.14, n=8, rings=2).move(z=0.12)
    high = ball(WHITE, 0.105, 0.105, 0.115, n=6, rings=2).move(z=0.31)
    scarf = cylinder(RED, 0.11, 0.045, n=6).move(z=0.215)
    nose = cone(ORANGE, 0.035, 0.12, n=4).turn("x", 90).move(y=-0.07, z=0.31)
    hat = lathe(BLACK, [(0.1, 0.385), (0.065, 0.4), (0.065, 0.475)], n=6)
    return centred(low, high, scarf, nose, hat)


def windmill() -> Mesh:
    """White tower with a red cap and four lilac sails in a cross."""
    tower = cylinder(WHITE, 0.13, 0.28, n=6, top=0.65)
    cap = cone(RED, 0.1, 0.13, n=6).move(z=0.28)
    door = box(BROWN, 0.08, 0.06, 0.12).move(y=-0.1)
    sail = extrude(PURPLE, [(-0.015, 0.0), (0.015, 0.0), (0.05, 0.07), (0.05, 0.2), (-0.01, 0.2)], 0.03)
    sails = join(*(sail.turn("y", a) for a in (45, 135, 225, 315))).move(y=-0.13, z=0.27)
    return centred(tower, cap, door, sails)
