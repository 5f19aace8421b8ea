"""OBJ and MTL files as arrays. What no sound file holds is refused, and nothing is larger than its limit."""

from __future__ import annotations

import io
from array import array
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from daxlab.assets.shapenet.folder import Skipped, shown

MAX_OBJ = 64 * 2**20
"""Bytes."""
MAX_MTL = 2**20
MAX_LINE = 2**16
MAX_VERTICES = 500_000
MAX_TRIANGLES = 500_000
NONE = -1
"""In place of an index: no texture coordinate."""


@dataclass(frozen=True)
class Model:
    """What an OBJ file says."""

    vertices: Float[np.ndarray, "v 3"]
    faces: Int[np.ndarray, "f 3"]
    """Polygons are cut into fans."""
    uv: Float[np.ndarray, "t 2"]
    face_uv: Int[np.ndarray, "f 3"]
    """A texture coordinate for each corner, or NONE."""
    material: Int[np.ndarray, " f"]
    """Index into ``materials``."""
    materials: tuple[str, ...]
    libraries: tuple[str, ...]
    """The MTL files that it names."""


@dataclass(frozen=True)
class Material:
    """A surface of one colour, or with a picture."""

    colour: tuple[float, float, float] | None = None
    picture: str | None = None


class _Reader:
    def __init__(self) -> None:
        self.vertices, self.uv = array("d"), array("d")
        self.faces, self.face_uv, self.material = array("q"), array("q"), array("q")
        self.materials: dict[str, int] = {}
        self.libraries: list[str] = []
        self.current: int | None = None

    def take(self, word: bytes, rest: bytes) -> None:
        if word == b"v":
            self.vertices.extend(_floats(rest, 3))
            _bound(len(self.vertices) // 3, MAX_VERTICES, "vertices")
        elif word == b"vt":
            self.uv.extend(_floats(rest, 2))
            _bound(len(self.uv) // 2, 3 * MAX_TRIANGLES, "texture coordinates")
        elif word == b"f":
            self.face(rest.split())
        elif word == b"usemtl":
            self.current = self.materials.setdefault(_text(rest), len(self.materials))
            _bound(len(self.materials), 10_000, "materials")
        elif word == b"mtllib":
            self.libraries.append(_text(rest))
            _bound(len(self.libraries), 16, "material files")

    def face(self, corners: list[bytes]) -> None:
        if self.current is None:
            raise Skipped("has faces without a material")
        if len(corners) < 3:
            raise ValueError
        _bound(len(self.material) + len(corners) - 2, MAX_TRIANGLES, "triangles")
        parts = [corner.split(b"/") for corner in corners]
        points = [_index(part[0], len(self.vertices) // 3) for part in parts]
        uv = [_index(part[1], len(self.uv) // 2) if len(part) > 1 and part[1] else NONE for part in parts]
        for i in range(1, len(corners) - 1):
            self.faces.extend((points[0], points[i], points[i + 1]))
            self.face_uv.extend((uv[0], uv[i], uv[i + 1]))
            self.material.append(self.current)

    def model(self) -> Model:
        vertices, uv = np.array(self.vertices).reshape(-1, 3), np.array(self.uv).reshape(-1, 2)
        faces, face_uv = (np.array(a, np.int64).reshape(-1, 3) for a in (self.faces, self.face_uv))
        if len(faces) == 0:
            raise Skipped("has no faces")
        if faces.max() >= len(vertices) or face_uv.max() >= len(uv):
            raise Skipped("has faces of vertices that it does not have")
        if not np.isfinite(vertices[faces]).all() or not np.isfinite(uv).all():
            raise Skipped("has vertices that are not finite")
        material = np.array(self.material, np.int64)
        return Model(vertices, faces, uv, face_uv, material, tuple(self.materials), tuple(self.libraries))


def read_obj(data: bytes) -> Model:
    """The model in an OBJ file; lines, normals, groups and all else are passed over."""
    reader = _Reader()
    for number, (word, rest) in _lines(data):
        try:
            reader.take(word, rest)
        except (ValueError, IndexError, OverflowError) as error:
            raise Skipped(f"has a line {number} that is no OBJ") from error
    return reader.model()


def read_mtl(data: bytes) -> dict[str, Material]:
    """The materials in an MTL file: diffuse colour and picture.

    Transparency is passed over: ShapeNetSem's files have it the wrong way round.
    """
    found: dict[str, Material] = {}
    name = ""
    for number, (word, rest) in _lines(data):
        if word == b"newmtl":
            name = _text(rest)
            found[name] = Material()
        elif word == b"Kd" and name:
            try:
                colour = np.clip(_floats(rest, 3), 0.0, 1.0)
            except ValueError as error:
                raise Skipped(f"has a line {number} that is no MTL") from error
            if not np.isfinite(colour).all():
                raise Skipped(f"has a colour that is not finite in line {number} of its MTL")
            found[name] = Material(tuple(colour.tolist()), found[name].picture)
        elif word == b"map_Kd" and name and rest:
            # Options (-s 1 1 1) stand before the name; a name without them may hold spaces.
            picture = rest.split()[-1] if rest.startswith(b"-") else rest
            found[name] = Material(found[name].colour, _text(picture).replace("\\", "/"))
    return found


def _lines(data: bytes) -> Iterator[tuple[int, tuple[bytes, bytes]]]:
    """The number of each line, its first word and the rest; one line at a time in memory."""
    file = io.BytesIO(data)
    number = 0
    while line := file.readline(MAX_LINE + 1):
        number += 1
        if len(line) > MAX_LINE:
            raise Skipped(f"has a line {number} of more than {MAX_LINE} bytes")
        word, _, rest = line.strip().replace(b"\t", b" ").partition(b" ")
        yield number, (word, rest.strip())


def _floats(text: bytes, count: int) -> list[float]:
    values = [float(part) for part in text.split()[:count]]
    if len(values) < count:
        raise ValueError
    return values


def _index(text: bytes, count: int) -> int:
    """From 1 up, or from -1 (the newest so far) down, to from 0 up."""
    value = int(text)
    value = value - 1 if value > 0 else count + value if value < 0 else NONE
    if not 0 <= value < 3 * MAX_TRIANGLES:
        raise Skipped(f"has a face with the index {shown(text.decode('ascii', 'replace'))}")
    return value


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _bound(count: int, most: int, what: str) -> None:
    if count > most:
        raise Skipped(f"has more than {most:,} {what}")
