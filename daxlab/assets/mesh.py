"""A mesh, and a bank of meshes with equal array sizes.

Axes: x right, y away, z up; metres. A mesh is centred on the middle of its bounding box, so that a body's
position is its centre and its lowest point is ``-half_height``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from daxlab.errors import DaxlabError

MAX_FACES = 128
"""Most triangles of one mesh; the bank pads every mesh to this number."""


@dataclass(frozen=True)
class Mesh:
    """Triangles with one flat colour each."""

    vertices: Float[np.ndarray, "v 3"]
    """Metres, centred on the bounding box."""
    faces: Int[np.ndarray, "f 3"]
    """Vertex indices, counter-clockwise seen from outside."""
    colours: Float[np.ndarray, "f 3"]
    """Red, green, blue in 0…1, one a face, before any light."""

    def __post_init__(self) -> None:
        if self.vertices.ndim != 2 or self.vertices.shape[1] != 3 or not np.isfinite(self.vertices).all():
            raise DaxlabError(f"vertices must be finite and of shape (v, 3); got {self.vertices.shape}")
        if self.faces.ndim != 2 or self.faces.shape[1] != 3 or len(self.faces) == 0:
            raise DaxlabError(f"faces must be of shape (f, 3) with f ≥ 1; got {self.faces.shape}")
        if self.faces.min() < 0 or self.faces.max() >= len(self.vertices):
            raise DaxlabError(f"faces must name vertices 0…{len(self.vertices) - 1}")
        if self.colours.shape != self.faces.shape or self.colours.min() < 0 or self.colours.max() > 1:
            raise DaxlabError("colours must be one red, green, blue triple in 0…1 for each face")

    @property
    def half_height(self) -> float:
        """Half the extent along z."""
        return float(np.abs(self.vertices[:, 2]).max())

    @property
    def radius(self) -> float:
        """Radius of the upright cylinder round the mesh."""
        return float(np.hypot(self.vertices[:, 0], self.vertices[:, 1]).max())


@dataclass(frozen=True)
class Bank:
    """Many meshes as arrays of equal size, so that an index picks one inside a compiled program."""

    names: tuple[str, ...]
    triangles: Float[np.ndarray, "k f 3 3"]
    """Corner positions of each face; faces beyond a mesh's own are all zero (zero area, never drawn)."""
    colours: Float[np.ndarray, "k f 3"]
    face_count: Int[np.ndarray, " k"]
    half_height: Float[np.ndarray, " k"]
    radius: Float[np.ndarray, " k"]
    """Of the upright cylinder round the mesh."""
    bound: Float[np.ndarray, " k"]
    """Of the sphere round the mesh, for culling."""

    def index(self, name: str) -> int:
        """Where a mesh of that name is."""
        return self.names.index(name)


def build_bank(meshes: Mapping[str, Mesh]) -> Bank:
    """Pad the meshes to ``MAX_FACES`` and stack them, in the order given."""
    k = len(meshes)
    triangles = np.zeros((k, MAX_FACES, 3, 3), np.float32)
    colours = np.zeros((k, MAX_FACES, 3), np.float32)
    for i, (name, mesh) in enumerate(meshes.items()):
        f = len(mesh.faces)
        if f > MAX_FACES:
            raise DaxlabError(f"mesh {name!r} has {f} faces; at most {MAX_FACES} are allowed")
        triangles[i, :f] = mesh.vertices[mesh.faces]
        colours[i, :f] = mesh.colours
    return Bank(
        names=tuple(meshes),
        triangles=triangles,
        colours=colours,
        face_count=np.array([len(m.faces) for m in meshes.values()], np.int32),
        half_height=np.array([m.half_height for m in meshes.values()], np.float32),
        radius=np.array([m.radius for m in meshes.values()], np.float32),
        bound=np.array([np.linalg.norm(m.vertices, axis=1).max() for m in meshes.values()], np.float32),
    )
