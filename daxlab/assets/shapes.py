"""A small kit to build solids from code: make a part, paint it, move it, join parts, and centre the whole.

Every shape is closed and its faces are counter-clockwise seen from outside. Shapes stand on z = 0 and are centred in
x and y, except balls and tubes, which say where they are. The front of a thing looks towards -y.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from jaxtyping import Bool, Float, Int

from daxlab.assets.mesh import Mesh
from daxlab.errors import DaxlabError

Colour = tuple[float, float, float]
Point = tuple[float, ...]

_AXES = {"x": 0, "y": 1, "z": 2}


@dataclass(frozen=True)
class Part:
    """A closed solid, or several joined; every method returns a new one."""

    vertices: Float[np.ndarray, "v 3"]
    faces: Int[np.ndarray, "f 3"]
    colours: Float[np.ndarray, "f 3"]

    def __add__(self, other: Part) -> Part:
        return Part(
            np.concatenate([self.vertices, other.vertices]),
            np.concatenate([self.faces, other.faces + len(self.vertices)]),
            np.concatenate([self.colours, other.colours]),
        )

    def move(self, x: float = 0.0, y: float = 0.0, z: float = 0.0) -> Part:
        """Shift by so many metres."""
        return replace(self, vertices=self.vertices + np.array([x, y, z]))

    def turn(self, axis: str, degrees: float) -> Part:
        """Rotate about an axis through the origin, counter-clockwise seen from the axis's positive end."""
        i = (_AXES[axis] + 1) % 3
        j = (i + 1) % 3
        c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
        a, b = self.vertices[:, i], self.vertices[:, j]
        v = self.vertices.copy()
        v[:, i], v[:, j] = c * a - s * b, s * a + c * b
        return replace(self, vertices=v)

    def scale(self, x: float = 1.0, y: float = 1.0, z: float = 1.0) -> Part:
        """Stretch from the origin; a negative factor mirrors (and keeps the faces outward)."""
        flip = x * y * z < 0
        return replace(
            self,
            vertices=self.vertices * np.array([x, y, z]),
            faces=self.faces[:, ::-1] if flip else self.faces,
        )

    def both(self, axis: str) -> Part:
        """The part and its mirror image across the plane through the origin that is square to the axis."""
        factors = [1.0, 1.0, 1.0]
        factors[_AXES[axis]] = -1.0
        return self + self.scale(*factors)

    def paint(self, colour: Colour) -> Part:
        """The same in one colour."""
        return replace(self, colours=np.broadcast_to(np.array(colour), self.faces.shape).copy())

    def paint_where(self, colour: Colour, chosen: Callable[[np.ndarray], Bool[np.ndarray, " f"]]) -> Part:
        """Paint those faces whose middles (an array of shape (f, 3)) are chosen."""
        return self._paint_mask(colour, chosen(self.vertices[self.faces].mean(axis=1)))

    def paint_facing(self, colour: Colour, direction: Point, within: float = 30.0) -> Part:
        """Paint those faces that look in a direction, within so many degrees."""
        a, b, c = np.moveaxis(self.vertices[self.faces], 1, 0)
        normal = _unit(np.cross(b - a, c - a))
        return self._paint_mask(colour, normal @ _unit(np.array(direction)) > np.cos(np.radians(within)))

    def _paint_mask(self, colour: Colour, mask: Bool[np.ndarray, " f"]) -> Part:
        return replace(self, colours=np.where(mask[:, None], np.array(colour), self.colours))


def join(*parts: Part) -> Part:
    """Several parts as one; they may overlap."""
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def centred(*parts: Part) -> Mesh:
    """The parts as a mesh, with the middle of the bounding box at the origin."""
    whole = join(*parts)
    middle = (whole.vertices.min(axis=0) + whole.vertices.max(axis=0)) / 2
    return Mesh(
        (whole.vertices - middle).astype(np.float32),
        whole.faces.astype(np.int32),
        whole.colours.astype(np.float32),
    )


def loft(colours: Colour | Sequence[Colour], rings: Sequence[np.ndarray]) -> Part:
    """Skin over rings of n points each (or one point, for a tip), closed by a cap at either end.

    The points run counter-clockwise seen from ahead as one travels along the rings. One colour for all, or one a band;
    a cap has its band's colour.
    """
    n = max(len(ring) for ring in rings)
    if len(rings) < 2 or n < 3 or any(len(ring) not in (1, n) for ring in rings):
        raise DaxlabError(f"a loft needs two or more rings of equal size; got sizes {[len(ring) for ring in rings]}")
    bands = _per_band(colours, len(rings) - 1)
    starts = np.cumsum([0] + [len(ring) for ring in rings])
    faces: list[tuple[int, int, int]] = []
    painted: list[Colour] = []

    def add(new: list[tuple[int, int, int]], colour: Colour) -> None:
        faces.extend(new)
        painted.extend([colour] * len(new))

    if len(rings[0]) > 1:
        add([(c, b, a) for a, b, c in _cap(rings[0], 0)], bands[0])
    for i, colour in enumerate(bands):
        add(_band(starts[i], len(rings[i]), starts[i + 1], len(rings[i + 1]), n), colour)
    if len(rings[-1]) > 1:
        add(_cap(rings[-1], starts[-2]), bands[-1])
    return Part(np.concatenate(rings).astype(float), np.array(faces), np.array(painted))


def lathe(colours: Colour | Sequence[Colour], profile: Sequence[Point], n: int = 8) -> Part:
    """Turn a profile of (radius, z) points about the z axis; start at the bottom, outside; radius 0 makes a tip.

    A profile that comes back down inside makes a hollow thing.
    """
    angle = np.pi / n + 2 * np.pi * np.arange(n) / n
    circle = np.stack([np.cos(angle), np.sin(angle), np.zeros(n)], axis=1)
    rings = [
        circle * r + np.array([0.0, 0.0, z]) if r > 0 else np.array([[0.0, 0.0, z]])
        for r, z in ((float(p[0]), float(p[1])) for p in profile)
    ]
    return loft(colours, rings)


def prism(
    colour: Colour,
    outline: Sequence[Point],
    height: float,
    top: float | tuple[float, float] = 1.0,
    shift: tuple[float, float] = (0.0, 0.0),
) -> Part:
    """Raise an outline of (x, y) points to a height; the top is scaled by ``top`` about the origin, then shifted."""
    base = np.array([(p[0], p[1], 0.0) for p in outline])
    if _area(base[:, :2]) < 0:
        base = base[::-1]
    sx, sy = top if isinstance(top, tuple) else (top, top)
    return loft(colour, [base, base * np.array([sx, sy, 1.0]) + np.array([*shift, height])])


def extrude(colour: Colour, outline: Sequence[Point], depth: float) -> Part:
    """A slab with an outline of (x, z) points seen from the front, centred in y."""
    return prism(colour, outline, depth).move(z=-depth / 2).turn("x", 90)


def box(colour: Colour, width: float, depth: float, height: float, top: float | tuple[float, float] = 1.0) -> Part:
    """A block; ``top`` scales its upper side."""
    w, d = width / 2, depth / 2
    return prism(colour, [(-w, -d), (w, -d), (w, d), (-w, d)], height, top)


def cylinder(colour: Colour, radius: float, height: float, n: int = 8, top: float = 1.0) -> Part:
    """An upright drum; ``top`` scales its upper side, 0 makes a cone."""
    return lathe(colour, [(radius, 0.0), (radius * top, height)], n)


def cone(colour: Colour, radius: float, height: float, n: int = 8) -> Part:
    """An upright cone."""
    return cylinder(colour, radius, height, n, top=0.0)


def wedge(colour: Colour, width: float, depth: float, height: float) -> Part:
    """A ramp that rises from the left (-x) to a full wall on the right."""
    w = width / 2
    return extrude(colour, [(-w, 0.0), (w, 0.0), (w, height)], depth)


def ball(
    colour: Colour, rx: float, ry: float | None = None, rz: float | None = None, n: int = 8, rings: int = 3
) -> Part:
    """A sphere or ellipsoid about the origin, with ``rings`` circles of n points between its poles."""
    turn = np.pi * np.arange(rings + 2) / (rings + 1)
    profile = [(np.sin(t) if 0 < i <= rings else 0.0, -np.cos(t)) for i, t in enumerate(turn)]
    return lathe(colour, profile, n).scale(rx, rx if ry is None else ry, rx if rz is None else rz)


def tube(colour: Colour, path: Sequence[Point], radius: float | Sequence[float], n: int = 4, across: str = "y") -> Part:
    """A bar along a flat path of (x, y, z) points; ``across`` is the axis square to the path's plane."""
    points = np.array(path, float)
    radii = np.broadcast_to(np.array(radius, float), len(points))
    steps = _unit(np.diff(points, axis=0))
    tangents = _unit(np.concatenate([steps[:1], steps[:-1] + steps[1:], steps[-1:]]))
    reference = np.eye(3)[_AXES[across]]
    angle = np.pi / n + 2 * np.pi * np.arange(n) / n
    rings = []
    for point, tangent, r in zip(points, tangents, radii, strict=True):
        side = np.cross(reference, tangent)
        offsets = np.cos(angle)[:, None] * side + np.sin(angle)[:, None] * reference
        rings.append(point + r * offsets if r > 0 else point[None])
    return loft(colour, rings)


def _unit(v: np.ndarray) -> np.ndarray:
    return v / np.maximum(np.linalg.norm(v, axis=-1, keepdims=True), 1e-12)


def _per_band(colours: Colour | Sequence[Colour], count: int) -> list[Colour]:
    given = np.array(colours, float)
    rows = np.broadcast_to(given, (count, 3)) if given.ndim == 1 else given
    if rows.shape != (count, 3):
        raise DaxlabError(f"{count} bands need one colour, or {count}; got {len(rows)}")
    return [(float(r), float(g), float(b)) for r, g, b in rows]


def _band(a: int, size_a: int, b: int, size_b: int, n: int) -> list[tuple[int, int, int]]:
    """Triangles between the ring that starts at vertex a and the next, at b."""
    faces = []
    for i, j in pairwise([*range(n), 0]):
        if size_a > 1:
            faces.append((a + i, a + j, b + (j if size_b > 1 else 0)))
        if size_b > 1:
            faces.append((a + (i if size_a > 1 else 0), b + j, b + i))
    return faces


def _area(p: Float[np.ndarray, "n 2"]) -> float:
    q = np.roll(p, -1, axis=0)
    return float(np.sum(p[:, 0] * q[:, 1] - q[:, 0] * p[:, 1]) / 2)


def _cap(ring: Float[np.ndarray, "n 3"], start: int) -> list[tuple[int, int, int]]:
    """Triangles that fill a flat ring, by cutting off ears; the ring need not be convex."""
    nxt = np.roll(ring, -1, axis=0)
    normal = _unit(np.cross(ring - ring[0], nxt - ring[0]).sum(axis=0))
    u = _unit(np.cross(normal, np.eye(3)[np.argmin(np.abs(normal))]))
    flat = np.stack([ring @ u, ring @ np.cross(normal, u)], axis=1)
    left = list(range(len(ring)))
    faces = []
    while len(left) > 3:
        ear = next((k for k in range(len(left)) if _is_ear(flat, left, k)), None)
        if ear is None:
            raise DaxlabError("an outline must not cross itself")
        faces.append((start + left[ear - 1], start + left[ear], start + left[(ear + 1) % len(left)]))
        del left[ear]
    faces.append((start + left[0], start + left[1], start + left[2]))
    return faces


def _is_ear(flat: Float[np.ndarray, "n 2"], left: list[int], k: int) -> bool:
    corners = [left[k - 1], left[k], left[(k + 1) % len(left)]]
    triangle = flat[corners]
    if _area(triangle) <= 1e-10:
        return False
    rest = flat[[i for i in left if i not in corners]]
    inside = np.ones(len(rest), bool)
    for p, q in pairwise([*triangle, triangle[0]]):
        inside &= (q[0] - p[0]) * (rest[:, 1] - p[1]) - (q[1] - p[1]) * (rest[:, 0] - p[0]) > -1e-9
    return not inside.any()
