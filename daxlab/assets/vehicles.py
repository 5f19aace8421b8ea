"""Toy vehicles. All but the rocket point along +x."""

from __future__ import annotations

from daxlab.assets.mesh import Mesh
from daxlab.assets.palette import AMBER, BLACK, BLUE, CRIMSON, GOLD, GREEN, NAVY, ORANGE, RED, SKY, WHITE, YELLOW
from daxlab.assets.shapes import Colour, Part, box, centred, cylinder, extrude, join, lathe, prism


def wheels(colour: Colour, radius: float, width: float, *axles: float, n: int = 8) -> Part:
    """A roller as wide as the vehicle for each axle's x: only its ends show. They touch z = 0."""
    one = cylinder(colour, radius, width, n).move(z=-width / 2).turn("x", 90).move(z=radius)
    return join(*(one.move(x=x) for x in axles))


def boat() -> Mesh:
    """Red hull with a pointed bow, white cabin with blue windows, yellow funnel."""
    deck = [(-0.22, -0.09), (0.07, -0.11), (0.25, 0.0), (0.07, 0.11), (-0.22, 0.09)]
    hull = prism(RED, [(0.75 * x, 0.6 * y) for x, y in deck], 0.13, top=(1.25, 1.5))
    rail = prism(WHITE, [(0.95 * x, 0.9 * y) for x, y in deck], 0.04, top=1.08).move(z=0.13)
    cabin = box(WHITE, 0.23, 0.15, 0.05).move(x=-0.07, z=0.16)
    windows = box(BLUE, 0.22, 0.14, 0.06).move(x=-0.07, z=0.21)
    roof = box(WHITE, 0.25, 0.17, 0.03).move(x=-0.07, z=0.27)
    funnel = lathe([YELLOW, BLACK], [(0.055, 0.29), (0.055, 0.38), (0.055, 0.43)], n=6).move(x=-0.08)
    return centred(hull, rail.paint_facing(AMBER, (0, 0, 1)), cabin, windows, roof, funnel)


def car() -> Mesh:
    """Orange car: bonnet, cabin with sky-blue windows, black wheels, yellow lamps."""
    body = box(ORANGE, 0.46, 0.22, 0.11).move(z=0.06)
    windows = box(SKY, 0.28, 0.2, 0.1, top=(0.68, 0.85)).move(x=-0.03, z=0.17)
    roof = box(ORANGE, 0.2, 0.18, 0.03).move(x=-0.03, z=0.26)
    lamps = box(YELLOW, 0.02, 0.06, 0.05).move(x=0.23, y=0.07, z=0.1).both("y")
    return centred(body, windows, roof, lamps, wheels(BLACK, 0.075, 0.25, -0.14, 0.14, n=8))


def plane() -> Mesh:
    """White jet with broad blue wings and a red fin, nose along +x."""
    body = lathe([WHITE, WHITE, WHITE, SKY], [(0.03, -0.25), (0.07, -0.1), (0.08, 0.1), (0.055, 0.19), (0, 0.24)], n=8)
    body = body.turn("y", 90).move(z=0.08)
    wing = prism(BLUE, [(0.1, 0.0), (-0.05, 0.0), (-0.1, 0.24), (-0.01, 0.24)], 0.04).move(z=0.06).both("y")
    fin = extrude(RED, [(-0.1, 0.1), (-0.25, 0.1), (-0.25, 0.29), (-0.19, 0.29)], 0.045)
    tail = prism(BLUE, [(-0.15, 0.0), (-0.24, 0.0), (-0.245, 0.1), (-0.19, 0.1)], 0.035).move(z=0.09).both("y")
    return centred(body, wing, fin, tail)


def rocket() -> Mesh:
    """White rocket upright on three fins, red nose, blue port-hole."""
    body = lathe(
        [BLACK, WHITE, WHITE, RED],
        [(0.06, 0.03), (0.08, 0.07), (0.115, 0.2), (0.08, 0.34), (0, 0.5)],
        n=8,
    )
    fin = extrude(RED, [(0.07, 0.2), (0.07, 0.06), (0.2, 0.0), (0.18, 0.12)], 0.045)
    ports = cylinder(BLUE, 0.055, 0.24, n=6).move(z=-0.12).turn("x", 90).move(z=0.24)
    return centred(body, *(fin.turn("z", a) for a in (90, 210, 330)), ports)


def train() -> Mesh:
    """Green steam engine: black boiler and chimney, a cab behind, red wheels."""
    frame = box(CRIMSON, 0.46, 0.16, 0.05).move(z=0.05)
    boiler = cylinder(GREEN, 0.085, 0.29, n=8).turn("y", 90).move(x=-0.06, z=0.17)
    boiler = boiler.paint_where(BLACK, lambda c: c[:, 0] > 0.22)
    chimney = cylinder(BLACK, 0.045, 0.12, n=4, top=1.5).move(x=0.16, z=0.23)
    dome = cylinder(GOLD, 0.045, 0.06, n=4, top=0.7).move(x=0.03, z=0.24)
    cab = box(GREEN, 0.14, 0.19, 0.2).move(x=-0.14, z=0.09).paint_facing(NAVY, (1, 0, 0))
    roof = box(BLACK, 0.19, 0.22, 0.035).move(x=-0.14, z=0.29)
    rolling = wheels(RED, 0.075, 0.21, -0.12, 0.12, n=6)
    return centred(frame, boiler, chimney, dome, cab, roof, rolling)


def bus() -> Mesh:
    """Red double-decker with two rows of light windows."""
    floors = [(RED, 0.06, 0.1), (SKY, 0.14, 0.07), (RED, 0.21, 0.05), (SKY, 0.26, 0.07), (RED, 0.33, 0.04)]
    body = join(*(box(c, 0.42 - 0.01 * (c == SKY), 0.19 - 0.01 * (c == SKY), h).move(z=z) for c, z, h in floors))
    pillar = box(RED, 0.05, 0.19, 0.28).move(x=0.02, z=0.06)
    return centred(body, pillar, wheels(BLACK, 0.07, 0.21, -0.12, 0.12, n=8))
