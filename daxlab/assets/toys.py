"""Toys and creatures. They look towards -y."""

from __future__ import annotations

import numpy as np

from daxlab.assets.mesh import Mesh
from daxlab.assets.palette import (
    AMBER,
    BLACK,
    BROWN,
    CREAM,
    GOLD,
    ORANGE,
    RED,
    STEEL,
    TAN,
    WHITE,
    YELLOW,
)
from daxlab.assets.shapes import Part, ball, box, centred, cone, cylinder, extrude, lathe, tube


def drum() -> Mesh:
    """Red drum with white skins, gold rims and two crossed sticks."""
    body = lathe(
        [GOLD, RED, GOLD, WHITE],
        [(0.19, 0), (0.19, 0.04), (0.19, 0.2), (0.19, 0.24), (0.16, 0.24)],
        n=10,
    )
    stick = box(BROWN, 0.34, 0.04, 0.04).move(z=0.24)
    return centred(body, stick.turn("z", 35), stick.turn("z", -35).move(z=0.02))


def duck() -> Mesh:
    """Yellow bath duck with an orange beak."""
    body = lathe(YELLOW, [(0.1, 0), (0.16, 0.08), (0.12, 0.17), (0.0, 0.19)], n=8).scale(0.85, 1.2, 1)
    tail = cone(YELLOW, 0.08, 0.16, n=4).turn("x", -50).move(y=0.12, z=0.1)
    head = ball(YELLOW, 0.105, n=6, rings=3).move(y=-0.11, z=0.27)
    beak = box(ORANGE, 0.11, 0.11, 0.05, top=(0.7, 0.8)).move(y=-0.2, z=0.23)
    eye = box(BLACK, 0.035, 0.04, 0.04).move(x=0.065, y=-0.165, z=0.29).both("x")
    return centred(body, tail, head, beak, eye)


def football() -> Mesh:
    """White ball with black pentagons: a truncated icosahedron, 12 pentagons and 20 hexagons."""
    g = (1 + 5**0.5) / 2
    corners = np.array([(0, s, t * g) for s in (-1, 1) for t in (-1, 1)], float)
    corners = np.concatenate([np.roll(corners, k, axis=1) for k in range(3)])
    gap = np.linalg.norm(corners[:, None] - corners[None], axis=-1)
    linked = np.isclose(gap, 2.0)
    number = {(a, b): k for k, (a, b) in enumerate(np.argwhere(linked).tolist())}
    vertices = np.array([(2 * corners[a] + corners[b]) / 3 for a, b in number])
    faces: list[tuple[int, ...]] = []
    triples = [
        t for t in np.ndindex(12, 12, 12) if t[0] < t[1] < t[2] and all(linked[t[i - 1], t[i]] for i in range(3))
    ]
    for a, b, c in triples:
        if np.linalg.det(corners[[a, b, c]]) < 0:
            b, c = c, b
        ring = [number[e] for e in ((a, b), (b, a), (b, c), (c, b), (c, a), (a, c))]
        faces += [(ring[0], ring[i], ring[i + 1]) for i in range(1, 5)]
    whites = len(faces)
    for a in range(12):
        ring = _around(corners[a], {number[a, int(b)]: corners[b] for b in np.flatnonzero(linked[a])})
        faces += [(ring[0], ring[i], ring[i + 1]) for i in range(1, 4)]
    colours = np.where(np.arange(len(faces))[:, None] < whites, np.array(WHITE), np.array(BLACK))
    unit = vertices / np.linalg.norm(vertices, axis=1, keepdims=True)
    return centred(Part(unit * 0.19, np.array(faces), colours).turn("x", 20))


def _around(axis: np.ndarray, places: dict[int, np.ndarray]) -> list[int]:
    """The keys in counter-clockwise order of their places about an axis."""
    first = next(iter(places.values()))
    side = np.cross(axis, first)
    return sorted(places, key=lambda k: np.arctan2(places[k] @ side, places[k] @ np.cross(side, axis)))


def guitar() -> Mesh:
    """Amber guitar upright: a waisted body, black hole, dark neck and head."""
    half = [(0.08, 0.0), (0.145, 0.05), (0.15, 0.12), (0.095, 0.18), (0.12, 0.25), (0.06, 0.3)]
    body = extrude(AMBER, half + [(-x, z) for x, z in reversed(half)], 0.1).paint_facing(BROWN, (1, 0, 0), 89)
    body = body.paint_facing(BROWN, (-1, 0, 0), 89)
    hole = cylinder(BLACK, 0.055, 0.02, n=6).turn("x", 90).move(y=-0.05, z=0.19)
    neck = box(BROWN, 0.06, 0.05, 0.16).move(y=-0.04, z=0.29)
    head = box(BLACK, 0.1, 0.05, 0.08).move(y=-0.04, z=0.42)
    bridge = box(BLACK, 0.13, 0.03, 0.035).move(y=-0.055, z=0.06)
    return centred(body, hole, neck, head, bridge)


def penguin() -> Mesh:
    """Black penguin with a white belly, orange beak and feet."""
    body = lathe(BLACK, [(0.1, 0.02), (0.14, 0.12), (0.11, 0.28), (0.085, 0.42), (0, 0.48)], n=8)
    body = body.paint_where(WHITE, lambda c: (c[:, 1] < -0.04) & (c[:, 2] < 0.29))
    beak = cone(ORANGE, 0.05, 0.12, n=4).turn("x", 90).move(y=-0.06, z=0.36)
    foot = box(ORANGE, 0.09, 0.13, 0.05).move(x=0.07, y=-0.09).both("x")
    wing = box(BLACK, 0.05, 0.09, 0.2).move(z=-0.2).turn("y", -25).move(x=0.1, z=0.29).both("x")
    return centred(body, beak, foot, wing)


def robot() -> Mesh:
    """Steel-blue robot of boxes: yellow eyes, red chest, an aerial."""
    leg = box(BLACK, 0.08, 0.12, 0.1).move(x=0.06).both("x")
    trunk = box(STEEL, 0.22, 0.14, 0.17).move(z=0.1)
    chest = box(RED, 0.13, 0.02, 0.09).move(y=-0.075, z=0.14)
    arm = box(ORANGE, 0.06, 0.07, 0.17).move(x=0.15, z=0.1).both("x")
    head = box(STEEL, 0.17, 0.13, 0.12).move(z=0.29)
    eye = box(YELLOW, 0.05, 0.02, 0.05).move(x=0.045, y=-0.065, z=0.335).both("x")
    aerial = cone(RED, 0.035, 0.08, n=4).move(z=0.41)
    return centred(leg, trunk, chest, arm, head, eye, aerial)


def teddy() -> Mesh:
    """Sitting brown bear: round ears, cream muzzle, legs forward."""
    body = lathe(BROWN, [(0.11, 0), (0.13, 0.1), (0, 0.3)], n=5)
    head = ball(BROWN, 0.12, 0.11, 0.105, n=6, rings=2).move(z=0.32)
    ear = cylinder(BROWN, 0.06, 0.06, n=5).turn("x", 90).move(x=0.1, y=0.03, z=0.41).paint_facing(TAN, (0, -1, 0))
    muzzle = box(CREAM, 0.11, 0.07, 0.08, top=0.8).move(y=-0.11, z=0.25)
    nose = cone(BLACK, 0.035, 0.03, n=4).turn("x", 90).move(y=-0.135, z=0.31)
    foot = box(BROWN, 0.09, 0.18, 0.09).move(x=0.1, y=-0.11).paint_facing(TAN, (0, -1, 0))
    arm = tube(BROWN, [(0.0, 0, 0.25), (0.17, -0.0, 0.17)], [0.0, 0.07])
    return centred(body, head, ear.both("x"), muzzle, nose, foot.both("x"), arm.both("x"))
