"""Which sides of its faces a thing shows. Files say little of it: many models are sheets, wound either way."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from daxlab.assets.shapenet.simplify import Surface

DIRECTIONS = 48
"""From which the thing is looked at."""
SHOWN = 0.02
"""Share of looks at its better side that a face needs, or it is inside and dropped."""
BOTH = 0.3
"""Share of looks at the worse side from which on a face is drawn from both sides."""
_POINTS = np.array([[4, 1, 1], [1, 4, 1], [1, 1, 4]]) / 6
"""Corners' weights of the points of a face that are looked at."""


def show(surface: Surface, size: float) -> tuple[Surface, Int[np.ndarray, " f"]]:
    """The faces that can be seen, wound to their better side, and how many sides of each are to be drawn."""
    front, back = _shares(surface, size)
    kept = np.maximum(front, back) >= SHOWN
    if not kept.any():  # a heap of slivers: better shown whole than not at all
        kept[:] = True
    better = np.where((front >= back)[:, None], surface.faces, surface.faces[:, ::-1])
    seen = Surface(surface.vertices, better, surface.colours).only(kept)
    return seen, 1 + (np.minimum(front, back)[kept] >= BOTH).astype(int)


def draw_both(surface: Surface, sides: Int[np.ndarray, " f"]) -> Surface:
    """Add the backs of the faces that have two sides."""
    back = surface.only(sides == 2)
    faces = np.concatenate([surface.faces, back.faces[:, ::-1]])
    return Surface(surface.vertices, faces, np.concatenate([surface.colours, back.colours]))


def _shares(surface: Surface, size: float) -> tuple[Float[np.ndarray, " f"], Float[np.ndarray, " f"]]:
    """Of the looks at a face's front and at its back, the shares that nothing stands before."""
    corners, normals = surface.vertices[surface.faces], surface.normals
    unit = normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
    points = np.einsum("pc,fcx->fpx", _POINTS, corners)
    looks, free = np.zeros((2, len(unit))), np.zeros((2, len(unit)))
    for towards in _directions():
        facing = unit @ towards
        clear = ~_hidden(points.reshape(-1, 3), corners, towards, 2e-3 * size).reshape(len(unit), -1)
        for side, looked in enumerate((facing > 0.1, facing < -0.1)):
            looks[side] += looked
            free[side] += looked * clear.mean(axis=1)
    front, back = free / np.maximum(looks, 1)
    return front, back


def _directions() -> Float[np.ndarray, "d 3"]:
    """Even over the sphere: points on a spiral from pole to pole."""
    k = np.arange(DIRECTIONS) + 0.5
    z, turn = 1 - 2 * k / DIRECTIONS, np.pi * (1 + 5**0.5) * k
    flat = np.sqrt(1 - z**2)
    return np.stack([flat * np.cos(turn), flat * np.sin(turn), z], axis=1)


def _hidden(points: np.ndarray, corners: np.ndarray, towards: np.ndarray, slack: float) -> np.ndarray:
    """Which points have a face before them on their way towards an eye far off."""
    aside = np.cross(towards, np.eye(3)[np.abs(towards).argmin()])
    aside /= np.linalg.norm(aside)
    axes = np.stack([aside, np.cross(towards, aside), towards])
    p, (a, b, c) = points @ axes.T, np.moveaxis(corners @ axes.T, 1, 0)
    px, py = p[:, 0, None], p[:, 1, None]

    def edge(s: np.ndarray, t: np.ndarray) -> np.ndarray:
        return (t[:, 0] - s[:, 0]) * (py - s[:, 1]) - (t[:, 1] - s[:, 1]) * (px - s[:, 0])

    u, v, w = edge(b, c), edge(c, a), edge(a, b)
    total = u + v + w
    inside = ((u >= 0) & (v >= 0) & (w >= 0)) | ((u <= 0) & (v <= 0) & (w <= 0))
    inside &= np.abs(total) > 1e-12
    depth = (u * a[:, 2] + v * b[:, 2] + w * c[:, 2]) / np.where(inside, total, 1.0)
    return (inside & (depth > p[:, 2, None] + slack)).any(axis=1)
