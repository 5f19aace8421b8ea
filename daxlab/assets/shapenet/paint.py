"""The colour of each face of a model: its material's, or the mean of its picture over the face."""

from __future__ import annotations

import io
import struct
from pathlib import PurePosixPath

import numpy as np
from jaxtyping import Float

from daxlab.assets.shapenet.folder import Folder, Missing, Skipped, shown
from daxlab.assets.shapenet.obj import MAX_MTL, NONE, Material, Model, read_mtl

TEXTURES = ("models-textures/textures", "models-textures", "textures")
"""Where pictures lie, beside the folder of the MTL file itself."""
MAX_PICTURE = 32 * 2**20
"""Bytes of a picture file."""
MAX_PIXELS = 2**24
"""Of a picture; it is looked at before any of them is decoded."""
SIDE = 64
"""Pictures are shrunk to this many pixels a side: means are all that is asked of them."""
MAX_PICTURES = 64
"""Of one model."""
CHUNK = 16_384
"""Faces painted at a time, so that memory stays small."""
FORMATS = ("JPEG", "PNG", "BMP", "GIF", "TIFF")

# Corners' weights of points spread evenly over a triangle: the middles of the 16 small triangles it falls into.
_UP = [(i + 1 / 3, j + 1 / 3) for i in range(4) for j in range(4 - i)]
_DOWN = [(i + 2 / 3, j + 2 / 3) for i in range(3) for j in range(3 - i)]
SPREAD = np.array([(4 - i - j, i, j) for i, j in _UP + _DOWN]) / 4


def face_colours(model: Model, folder: Folder, where: str) -> Float[np.ndarray, "f 3"]:
    """A colour for each face; ``where`` is the folder of the OBJ file."""
    known = _materials(model, folder, where)
    pictures: dict[str, np.ndarray] = {}
    colours = np.zeros((len(model.faces), 3), np.float32)
    for index in np.unique(model.material):
        name = model.materials[index]
        if name not in known:
            raise Skipped(f"has a material {shown(name)} that no MTL file describes")
        faces = np.flatnonzero(model.material == index)
        material = known[name]
        if material.picture is not None:
            if material.picture not in pictures:
                if len(pictures) == MAX_PICTURES:
                    raise Skipped(f"has more than {MAX_PICTURES} pictures")
                pictures[material.picture] = _picture(material.picture, folder, where)
            for some in np.array_split(faces, -(-len(faces) // CHUNK)):
                colours[some] = _mean_colour(pictures[material.picture], model.uv, model.face_uv[some])
        elif material.colour is not None:
            colours[faces] = material.colour
        else:
            raise Skipped(f"has a material {shown(name)} without a colour")
    return colours


def _materials(model: Model, folder: Folder, where: str) -> dict[str, Material]:
    if not model.libraries:
        raise Skipped("names no MTL file")
    known: dict[str, Material] = {}
    for library in dict.fromkeys(model.libraries):
        known |= read_mtl(folder.read(str(PurePosixPath(where) / library.replace("\\", "/")), MAX_MTL))
    return known


def _picture(name: str, folder: Folder, where: str) -> Float[np.ndarray, "h w 4"]:
    """The picture, shrunk; red, green, blue and opacity in 0…1."""
    from PIL import Image

    places = [str(PurePosixPath(place) / name) for place in (where, *TEXTURES)]
    try:
        data = folder.read(folder.find(places), MAX_PICTURE)
    except Missing as error:
        raise Missing(f"has a picture {shown(name)} that is missing (it comes with models-textures.zip)") from error
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as image:
            if image.width * image.height > MAX_PIXELS:
                raise Skipped(f"has a picture {shown(name)} of {image.width}×{image.height} pixels")
            image.draft("RGB", (SIDE, SIDE))
            small = image.convert("RGBA").resize((SIDE, SIDE), Image.Resampling.BOX)
    except (OSError, SyntaxError, ValueError, EOFError, struct.error, Image.DecompressionBombError) as error:
        raise Skipped(f"has a picture {shown(name)} that cannot be read") from error
    return np.asarray(small, np.float32) / 255


def _mean_colour(
    picture: Float[np.ndarray, "h w 4"], uv: Float[np.ndarray, "t 2"], face_uv: np.ndarray
) -> Float[np.ndarray, "f 3"]:
    """The mean over each face, pixels counted by their opacity; over the whole picture without coordinates."""
    h, w = picture.shape[:2]
    has = (face_uv != NONE).all(axis=1)
    # The last row stands for faces without coordinates, of which nothing is used.
    corners = np.concatenate([uv, np.zeros((1, 2))])[np.where(has[:, None], face_uv, len(uv))]
    points = np.einsum("pc,fcx->fpx", SPREAD, corners)
    column = np.minimum((points[..., 0] % 1.0 * w).astype(int), w - 1)
    row = h - 1 - np.minimum((points[..., 1] % 1.0 * h).astype(int), h - 1)
    pixels = np.where(has[:, None, None], picture[row, column], picture.reshape(-1, 4).mean(axis=0))
    opacity = pixels[..., 3:] + 1e-3
    return np.clip((pixels[..., :3] * opacity).sum(axis=1) / opacity.sum(axis=1), 0.0, 1.0)
