"""Things of the house, the garden and the wardrobe. They look towards -y."""

from __future__ import annotations

import numpy as np

from daxlab.assets.mesh import Mesh
from daxlab.assets.palette import (
    BLACK,
    BLUE,
    BROWN,
    CYAN,
    GOLD,
    GREEN,
    LILAC,
    LIME,
    MAGENTA,
    NAVY,
    ORANGE,
    PURPLE,
    RED,
    SILVER,
    SKY,
    STEEL,
    TEAL,
    TERRACOTTA,
    WHITE,
    YELLOW,
)
from daxlab.assets.shapes import box, centred, cone, cylinder, extrude, join, lathe, loft, prism, tube


def book() -> Mesh:
    """Blue book upright and a little open, spine at -x, white pages, gold title on both boards."""
    board = box(BLUE, 0.3, 0.03, 0.4).move(x=0.15)
    title = box(GOLD, 0.18, 0.02, 0.1).move(x=0.16, y=-0.02, z=0.24)
    cover = join(board, title).turn("z", -14).move(y=-0.03)
    spine = box(NAVY, 0.04, 0.09, 0.4)
    pages = prism(WHITE, [(0.0, -0.03), (0.27, -0.09), (0.27, 0.09), (0.0, 0.03)], 0.36).move(z=0.02)
    return centred(cover.both("y"), spine, pages)


def camera() -> Mesh:
    """Black camera with a silver top, a long lens with blue glass, a red button."""
    body = box(BLACK, 0.36, 0.13, 0.19)
    top = box(SILVER, 0.36, 0.13, 0.05).move(z=0.19)
    hump = box(SILVER, 0.14, 0.12, 0.06, top=0.7).move(z=0.24)
    lens = lathe([STEEL, BLACK, SILVER, SKY], [(0.09, 0), (0.09, 0.07), (0.1, 0.12), (0.08, 0.12), (0.07, 0.1)], n=8)
    button = cylinder(RED, 0.035, 0.04, n=5).move(x=-0.13, z=0.24)
    return centred(body, top, hump, lens.turn("x", 90).move(y=-0.06, z=0.11), button)


def chair() -> Mesh:
    """Teal chair with a slatted back and an orange seat pad."""
    leg = box(TEAL, 0.06, 0.06, 0.22).move(x=0.12, y=0.12)
    seat = box(TEAL, 0.3, 0.3, 0.04).move(z=0.2)
    pad = box(ORANGE, 0.26, 0.26, 0.03, top=0.9).move(z=0.24)
    post = box(TEAL, 0.06, 0.06, 0.28).move(x=0.12, y=0.12, z=0.22).both("x")
    slats = [box(TEAL, 0.2, 0.04, 0.06).move(y=0.12, z=z) for z in (0.33, 0.43)]
    return centred(leg.both("x").both("y"), seat, pad, post, *slats)


def clock() -> Mesh:
    """Purple alarm clock: white face with black hands, two gold bells on top."""
    case = lathe(PURPLE, [(0.16, -0.06), (0.16, 0.05), (0.135, 0.06)], n=8).turn("x", 90).move(z=0.2)
    case = case.paint_facing(WHITE, (0, -1, 0), 5)
    hour = box(BLACK, 0.09, 0.02, 0.035).move(x=0.03, y=-0.065, z=0.19)
    minute = box(BLACK, 0.035, 0.02, 0.1).move(y=-0.065, z=0.2)
    bell = cylinder(GOLD, 0.08, 0.07, n=5, top=0.5).turn("y", 35).move(x=0.09, z=0.34).both("x")
    foot = box(PURPLE, 0.06, 0.1, 0.08).move(x=0.09).both("x")
    return centred(case, hour, minute, bell, foot)


def cushion() -> Mesh:
    """Purple cushion with pointed corners, lying; a lilac square in the middle."""
    quarter = np.array([(1.0, 1.0), (0.4, 0.82), (-0.4, 0.82)])
    turns = [(1, 0, 0, 1), (0, -1, 1, 0), (-1, 0, 0, -1), (0, 1, -1, 0)]
    flat = np.concatenate([quarter @ np.array(t).reshape(2, 2).T for t in turns])
    rim = np.column_stack([flat, np.zeros(12)]) * 0.18
    lift = np.array([0.0, 0.0, 0.115])
    rings = [rim * 0.5 - lift, rim * 0.75 - lift * 0.8, rim, rim * 0.75 + lift * 0.8, rim * 0.5 + lift]
    return centred(loft([LILAC, PURPLE, PURPLE, LILAC], rings))


def hammer() -> Mesh:
    """Hammer stood on its head: steel head, red handle with a black grip."""
    head = cylinder(STEEL, 0.07, 0.13, n=6).turn("y", 90).move(x=0.04, z=0.07)
    neck = box(STEEL, 0.18, 0.09, 0.09).move(x=-0.04, z=0.025)
    claw = prism(STEEL, [(-0.12, -0.045), (-0.22, -0.02), (-0.22, 0.02), (-0.12, 0.045)], 0.06).move(z=0.04)
    handle = cylinder(RED, 0.035, 0.24, n=6).move(z=0.1)
    grip = cylinder(BLACK, 0.045, 0.15, n=6).move(z=0.34)
    return centred(head, neck, claw, handle, grip)


def hat() -> Mesh:
    """Black top hat with a red band."""
    return centred(
        lathe(
            [BLACK, BLACK, RED, BLACK],
            [(0.25, 0.0), (0.25, 0.03), (0.14, 0.04), (0.14, 0.11), (0.165, 0.28)],
            n=10,
        )
    )


def lamp() -> Mesh:
    """Table lamp: magenta foot and stem, wide yellow shade."""
    foot = lathe(MAGENTA, [(0.13, 0), (0.12, 0.04), (0.04, 0.08), (0.04, 0.3)], n=8)
    shade = lathe([YELLOW, YELLOW, WHITE], [(0.19, 0.29), (0.1, 0.48), (0.08, 0.48), (0.06, 0.42)], n=8)
    return centred(foot, shade)


def plant() -> Mesh:
    """Terracotta pot with a ring of long green leaves."""
    pot = lathe([TERRACOTTA, TERRACOTTA, BROWN], [(0.09, 0), (0.13, 0.15), (0.145, 0.2), (0.11, 0.18)], n=8)
    leaf = tube(GREEN, [(0.02, 0, 0.15), (0.1, 0, 0.34), (0.22, 0, 0.36)], [0.03, 0.06, 0.0], n=3)
    leaves = [leaf.turn("z", a) for a in (0, 72, 144, 216, 288)]
    tall = cone(LIME, 0.06, 0.34, n=4).move(z=0.16)
    return centred(pot, *leaves, tall)


def present() -> Mesh:
    """Gift box: magenta paper, yellow ribbon crossed over it, a bow."""
    paper = box(MAGENTA, 0.3, 0.3, 0.24)
    ribbon = box(YELLOW, 0.31, 0.07, 0.25) + box(YELLOW, 0.07, 0.31, 0.25)
    loop = extrude(YELLOW, [(0.0, 0.24), (0.09, 0.25), (0.14, 0.32), (0.1, 0.36)], 0.09)
    return centred(paper, ribbon, loop.both("x").turn("z", 45))


def shoe() -> Mesh:
    """Lime trainer, toe along +x: white sole, toe cap and laces, a dark opening at the ankle."""
    sole = prism(WHITE, [(-0.22, -0.08), (0.16, -0.1), (0.245, -0.03), (0.245, 0.03), (0.16, 0.1), (-0.22, 0.08)], 0.06)
    toe = prism(WHITE, [(0.02, -0.075), (0.15, -0.09), (0.23, 0.0), (0.15, 0.09), (0.02, 0.075)], 0.09, top=(0.9, 0.7))
    side = [(-0.2, 0.05), (0.13, 0.05), (0.13, 0.15), (0.02, 0.18), (-0.06, 0.31), (-0.22, 0.33)]
    upper = extrude(LIME, side, 0.14).paint_facing(BLACK, (0, 0, 1), 10)
    tongue = box(MAGENTA, 0.04, 0.1, 0.2).turn("y", -30).move(x=0.02, z=0.17)
    laces = [box(WHITE, 0.04, 0.16, 0.035).turn("y", -60).move(x=x, z=z) for x, z in ((-0.02, 0.25), (0.02, 0.19))]
    return centred(sole, toe.move(z=0.05), upper, tongue, *laces)


def umbrella() -> Mesh:
    """Open umbrella upright on its crook, panels red and yellow by turns."""
    canopy = lathe(RED, [(0.0, 0.42), (0.25, 0.33), (0.17, 0.43), (0.0, 0.47)], n=8)
    canopy = canopy.paint_where(YELLOW, lambda c: np.floor(np.arctan2(c[:, 1], c[:, 0]) * 4 / np.pi - 0.5) % 2 == 0)
    pole = tube(NAVY, [(0, 0, 0.5), (0, 0, 0.09), (0.03, 0, 0.03), (0.11, 0, 0.03), (0.14, 0, 0.12)], 0.04)
    return centred(canopy, pole)


def vase() -> Mesh:
    """Navy vase: wide belly with a cyan band, narrow neck, flared lip."""
    return centred(
        lathe(
            [NAVY, NAVY, CYAN, NAVY, NAVY, CYAN, BLACK],
            [
                (0.08, 0),
                (0.15, 0.11),
                (0.17, 0.18),
                (0.15, 0.25),
                (0.055, 0.36),
                (0.1, 0.45),
                (0.07, 0.45),
                (0.035, 0.37),
            ],
            n=8,
        )
    )
