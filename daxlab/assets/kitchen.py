"""Things of the kitchen."""

from __future__ import annotations

from daxlab.assets.mesh import Mesh
from daxlab.assets.palette import BLACK, CREAM, CYAN, FOREST, GOLD, ICE, MAGENTA, MINT, PINK, RED, WHITE
from daxlab.assets.shapes import ball, centred, cone, cylinder, lathe, tube


def bottle() -> Mesh:
    """Green wine bottle with a cream label and a red cap."""
    glass = lathe(
        [FOREST, CREAM, FOREST, FOREST, FOREST, RED],
        [(0.14, 0), (0.14, 0.07), (0.14, 0.21), (0.14, 0.26), (0.055, 0.35), (0.055, 0.42), (0.06, 0.49)],
        n=8,
    )
    return centred(glass)


def cake() -> Mesh:
    """Pink cake on a plate, white icing and a cherry on top."""
    plate = cylinder(CYAN, 0.17, 0.03, n=8, top=1.4)
    sponge = lathe(
        [PINK, WHITE, PINK, WHITE], [(0.19, 0.03), (0.19, 0.1), (0.19, 0.13), (0.19, 0.2), (0.17, 0.23)], n=8
    )
    cherry = ball(RED, 0.05, n=6, rings=2).move(z=0.26)
    return centred(plate, sponge, cherry)


def cup() -> Mesh:
    """Cyan tea cup with a big handle, dark tea in it, on a white saucer."""
    saucer = cylinder(WHITE, 0.12, 0.04, n=8, top=1.7)
    bowl = lathe(
        [CYAN, CYAN, WHITE, (0.35, 0.12, 0.02)],
        [(0.08, 0.03), (0.15, 0.14), (0.17, 0.28), (0.14, 0.28), (0.13, 0.22)],
        n=8,
    )
    handle = tube(CYAN, [(0.13, 0, 0.24), (0.235, 0, 0.25), (0.235, 0, 0.12), (0.11, 0, 0.1)], 0.04, n=3)
    return centred(saucer.move(x=0.02), bowl, handle)


def glass() -> Mesh:
    """Wine glass: pale, on a stem and a foot, with magenta juice in it."""
    return centred(
        lathe(
            [ICE, ICE, ICE, MAGENTA, ICE, ICE, MAGENTA],
            [
                (0.13, 0),
                (0.035, 0.05),
                (0.035, 0.19),
                (0.14, 0.28),
                (0.15, 0.38),
                (0.13, 0.47),
                (0.11, 0.47),
                (0.12, 0.37),
            ],
            n=8,
        )
    )


def kettle() -> Mesh:
    """Mint kettle with a spout and a black handle over the lid."""
    body = lathe(MINT, [(0.15, 0), (0.18, 0.08), (0.09, 0.23)], n=8)
    lid = cylinder(GOLD, 0.09, 0.03, n=6, top=0.7).move(z=0.23)
    knob = cone(RED, 0.035, 0.05, n=4).move(z=0.26)
    spout = tube(MINT, [(0.12, 0, 0.08), (0.2, 0, 0.14), (0.25, 0, 0.25)], [0.06, 0.045, 0.035], n=4)
    handle = tube(BLACK, [(-0.13, 0, 0.14), (-0.15, 0, 0.32), (0.0, 0, 0.4), (0.11, 0, 0.32), (0.1, 0, 0.2)], 0.034)
    return centred(body, lid, knob, spout, handle)
