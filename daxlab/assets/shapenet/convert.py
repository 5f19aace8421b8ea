"""A painted model of any size and count of triangles to a mesh of ours."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from daxlab.assets.mesh import MAX_FACES, Mesh
from daxlab.assets.shapenet.folder import Skipped
from daxlab.assets.shapenet.metadata import Entry
from daxlab.assets.shapenet.obj import Model
from daxlab.assets.shapenet.sides import draw_both, show
from daxlab.assets.shapenet.simplify import Surface, simplify, thin_out

REAL = (0.03, 5.0)
"""Metres of the longest side of a real thing; what is smaller or larger has a wrong unit or is no single thing."""
LONGEST = (0.3, 0.5)
"""Metres of the longest side in our room. A thing keeps its real size where that is liftable."""
RADIUS = 0.26
"""Metres; most of the upright cylinder round it, as for our own things."""
THINNEST = 0.03
"""Metres of height; rugs are stretched to it, or nothing would be left to see."""
THINNED = 6000
"""Faces that edges are collapsed of; more are first welded on a grid."""
LOOKED_AT = 256
"""Faces whose sides are looked at; also the finest colours that are told apart."""
SAMPLES = 4096
"""Points of a surface whose colours go to the faces that take its place."""


def to_mesh(entry: Entry, model: Model, colours: Float[np.ndarray, "f 3"]) -> Mesh:
    """Upright, in metres, of liftable size, with at most ``MAX_FACES`` triangles wound outward."""
    with np.errstate(over="ignore", invalid="ignore"):  # what is too large for a number is also too large for us
        vertices = model.vertices @ (entry.unit * stand(entry)).T
        surface = check_size(Surface(vertices, model.faces, colours.astype(np.float64)))
    surface = fit(surface)
    surface = surface.only(surface.areas > 1e-12)
    if len(surface.faces) == 0:
        raise Skipped("has no surface")
    bounds = _bounds(surface)
    size = float(np.ptp(bounds, axis=0).max())
    few, _ = simplify(thin_out(surface, size, THINNED), LOOKED_AT)
    few = into_bounds(few, bounds)
    few, sides = show(recolour(few, surface), size)
    fewer, sides = simplify(few, MAX_FACES, sides)
    if len(fewer.faces) < len(few.faces):
        fewer = recolour(fewer, few)
    fewer = fit(into_bounds(draw_both(fewer, sides), bounds))
    used, faces = np.unique(fewer.faces, return_inverse=True)
    if len(used) == 0:
        raise Skipped("has no surface")
    vertices = fewer.vertices[used].astype(np.float32)
    return Mesh(vertices, faces.reshape(-1, 3).astype(np.int32), np.clip(fewer.colours, 0, 1).astype(np.float32))


def stand(entry: Entry) -> Float[np.ndarray, "3 3"]:
    """The rotation that turns a model's up to +z and its front to −y, where the viewer is."""
    up, front = np.array(entry.up), np.array(entry.front)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        up = up / np.linalg.norm(up)
        front = front / np.linalg.norm(front)
        front = front - (front @ up) * up
        length = np.linalg.norm(front)
    if not length > 0.1:  # also not a number
        raise Skipped(f"has no front: up is {entry.up}, front is {entry.front}")
    front /= length
    return np.stack([np.cross(up, front), -front, up])


def check_size(surface: Surface) -> Surface:
    """Refuse what is no household thing by its size."""
    longest = float(np.ptp(_bounds(surface), axis=0).max())
    if not REAL[0] <= longest <= REAL[1]:
        raise Skipped(f"is {longest:.3g} m long; {REAL[0]:g} to {REAL[1]:g} m are taken")
    return surface


def fit(surface: Surface) -> Surface:
    """Centred, scaled to a size that can be lifted, and not flatter than can be seen."""
    bounds = _bounds(surface)
    vertices = surface.vertices - bounds.mean(axis=0)
    longest = float(np.ptp(bounds, axis=0).max())
    scale = float(np.clip(longest, *LONGEST)) / longest
    radius = float(np.hypot(*vertices[np.unique(surface.faces), :2].T).max())
    vertices = vertices * min(scale, RADIUS / max(radius, 1e-9))
    height = float(np.ptp(vertices[surface.faces][..., 2]))
    if height < 1e-6:
        raise Skipped("has no height")
    vertices[:, 2] *= max(1.0, THINNEST / height)
    return replace(surface, vertices=vertices)


def into_bounds(surface: Surface, bounds: Float[np.ndarray, "2 3"]) -> Surface:
    """Stretched along each axis to fill the box: collapses round off what sticks out."""
    now = _bounds(surface)
    extent = np.ptp(now, axis=0)
    scale = np.where(extent > 1e-9, np.ptp(bounds, axis=0) / np.maximum(extent, 1e-9), 1.0)
    return replace(surface, vertices=(surface.vertices - now.mean(axis=0)) * scale + bounds.mean(axis=0))


def recolour(surface: Surface, source: Surface) -> Surface:
    """Each face takes the mean colour of the points of the source that it is nearest to; its own if of none."""
    rng = np.random.default_rng(0)
    area = source.areas
    face = rng.choice(len(area), SAMPLES, p=area / area.sum())
    weights = rng.dirichlet((1, 1, 1), SAMPLES)
    points = np.einsum("nc,ncx->nx", weights, source.vertices[source.faces[face]])
    nearest = np.concatenate([_nearest(some, surface) for some in np.array_split(points, 8)])
    count = np.bincount(nearest, minlength=len(surface.faces))
    total = np.stack([np.bincount(nearest, source.colours[face, k], len(count)) for k in range(3)], axis=1)
    mean = total / np.maximum(count, 1)[:, None]
    return replace(surface, colours=np.where((count > 0)[:, None], mean, surface.colours))


def _nearest(points: Float[np.ndarray, "n 3"], surface: Surface) -> np.ndarray:
    """The face nearest to each point; beyond a face's outline, nearest in its own coordinates."""
    a, b, c = np.moveaxis(surface.vertices[surface.faces], 1, 0)
    normal = np.cross(b - a, c - a)
    square = np.maximum((normal**2).sum(axis=1, keepdims=True), 1e-24)
    weights = []
    for corner, slope in ((b, np.cross(c - a, normal)), (c, np.cross(normal, b - a))):
        # Linear in the point, 1 at the corner and 0 along the edge across from it.
        slope = slope / square
        weights.append(points @ slope.T + 1 - (corner * slope).sum(axis=1))
    inner = np.clip(np.stack([1 - weights[0] - weights[1], *weights]), 0.0, None)
    inner /= inner.sum(axis=0)
    closest = [np.einsum("cnf,cf->nf", inner, (a[:, k], b[:, k], c[:, k])) for k in range(3)]
    return sum((points[:, None, k] - closest[k]) ** 2 for k in range(3)).argmin(axis=1)


def _bounds(surface: Surface) -> Float[np.ndarray, "2 3"]:
    corners = surface.vertices[np.unique(surface.faces)]
    return np.stack([corners.min(axis=0), corners.max(axis=0)])
