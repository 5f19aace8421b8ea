"""Furniture: what things are put on and in. It never moves, so boxes stand for it in collisions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from jaxtyping import Float

from daxlab.assets.mesh import Mesh
from daxlab.assets.palette import BROWN, CREAM, CRIMSON, MAPLE, NAVY, RED, SKY, TEAL, WHITE
from daxlab.assets.shapes import Colour, Part, box, centred, join, loft

Corners = tuple[tuple[float, float, float], tuple[float, float, float]]
"""The least and the greatest corner of an axis-aligned box."""


@dataclass(frozen=True)
class Furniture:
    """A mesh, and the axis-aligned boxes that things collide with."""

    mesh: Mesh
    solids: Float[np.ndarray, "s 2 3"]
    """Least and greatest corner of each box, in the mesh's centred axes."""


@cache
def bed() -> Furniture:
    """Bed along x, headboard at -x; the mattress's top is 0.4 m above the floor. The pillow is soft: not a solid."""
    mattress: Corners = ((-0.74, -0.45, 0.0), (0.8, 0.45, 0.4))
    headboard: Corners = ((-0.8, -0.45, 0.0), (-0.74, 0.45, 0.75))
    frame = _block(BROWN, ((-0.74, -0.45, 0.0), (0.8, 0.45, 0.16)))
    sheet = _block(WHITE, ((-0.74, -0.45, 0.16), (-0.34, 0.45, 0.4)))
    blanket = _block(NAVY, ((-0.34, -0.45, 0.16), (0.8, 0.45, 0.4)))
    pillow = box(SKY, 0.28, 0.64, 0.07, top=0.8).move(x=-0.56, z=0.4)
    return _furniture([frame, sheet, blanket, pillow, _block(BROWN, headboard)], [mattress, headboard])


@cache
def open_box() -> Furniture:
    """Teal box without a lid, 0.7 m square and 0.4 m high."""
    return _vessel((TEAL, WHITE, (0.0, 0.38, 0.40)), 0.7, 0.7, 0.4, wall=0.04, floor=0.04)


@cache
def tray() -> Furniture:
    """Red tray with a low rim."""
    return _vessel((CRIMSON, RED, CREAM), 0.9, 0.7, 0.06, wall=0.04, floor=0.02)


@cache
def desk() -> Furniture:
    """Table: a plate on two end panels and a back panel; open towards -y. Pale, so that every object stands out."""
    plate: Corners = ((-1.2, -0.4, 0.54), (1.2, 0.4, 0.6))
    ends: list[Corners] = [((x, -0.36, 0.0), (x + 0.06, 0.36, 0.54)) for x in (-1.16, 1.1)]
    back: Corners = ((-1.1, 0.3, 0.0), (1.1, 0.36, 0.54))
    solids = [plate, *ends, back]
    return _furniture([_block(MAPLE, corners) for corners in solids], solids)


@cache
def ring() -> Furniture:
    """Square table as high as the desk, all round whoever sits in its middle: four plates on four outer panels."""
    plates: list[Corners] = [
        ((-1.2, 0.4, 0.54), (1.2, 1.2, 0.6)),
        ((-1.2, -1.2, 0.54), (1.2, -0.4, 0.6)),
        ((-1.2, -0.4, 0.54), (-0.4, 0.4, 0.6)),
        ((0.4, -0.4, 0.54), (1.2, 0.4, 0.6)),
    ]
    long: list[Corners] = [((-1.16, y, 0.0), (1.16, y + 0.06, 0.54)) for y in (-1.16, 1.1)]
    short: list[Corners] = [((x, -1.1, 0.0), (x + 0.06, 1.1, 0.54)) for x in (-1.16, 1.1)]
    solids = [*plates, *long, *short]
    return _furniture([_block(MAPLE, corners) for corners in solids], solids)


FURNITURE: dict[str, Callable[[], Furniture]] = {
    "bed": bed,
    "box": open_box,
    "desk": desk,
    "ring": ring,
    "tray": tray,
}
"""Each piece by name; call it to get it."""


def _block(colour: Colour, corners: Corners) -> Part:
    low, high = np.array(corners)
    width, depth, height = high - low
    x, y = (low + high)[:2] / 2
    return box(colour, width, depth, height).move(x, y, low[2])


def _vessel(
    colours: tuple[Colour, Colour, Colour], width: float, depth: float, height: float, wall: float, floor: float
) -> Furniture:
    """An open box; colours of the outside, the rim and the inside."""
    w, d = width / 2, depth / 2
    outside = np.array([(-w, -d), (w, -d), (w, d), (-w, d)])
    inside = outside * np.array([1 - wall / w, 1 - wall / d])
    rings = [
        np.column_stack([xy, np.full(4, z)])
        for xy, z in ((outside, 0.0), (outside, height), (inside, height), (inside, floor))
    ]
    solids: list[Corners] = [
        ((-w, -d, 0.0), (w, d, floor)),
        ((-w, -d, floor), (-w + wall, d, height)),
        ((w - wall, -d, floor), (w, d, height)),
        ((-w + wall, -d, floor), (w - wall, -d + wall, height)),
        ((-w + wall, d - wall, floor), (w - wall, d, height)),
    ]
    return _furniture([loft(colours, rings)], solids)


def _furniture(parts: Sequence[Part], solids: Sequence[Corners]) -> Furniture:
    vertices = join(*parts).vertices
    middle = (vertices.min(axis=0) + vertices.max(axis=0)) / 2
    return Furniture(centred(*parts), (np.array(solids) - middle).astype(np.float32))
