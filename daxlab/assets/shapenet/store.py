"""What was imported, in one file that is there whole or not at all. No pickle: numbers and JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from daxlab.assets.mesh import Mesh
from daxlab.compilation import cache_folder
from daxlab.errors import DaxlabError


@dataclass(frozen=True)
class Imported:
    """A mesh and where it comes from."""

    id: str
    category: str
    stamp: str
    """Of the row and the file it was made from, and of how; a changed one is imported again."""
    mesh: Mesh


def store_file() -> Path:
    """The file that holds the imported meshes."""
    return cache_folder() / "shapenet" / "meshes.safetensors"


def save(models: Sequence[Imported], file: Path) -> None:
    """Write the file in place of the old one."""
    meshes = [model.mesh for model in models]
    arrays = {
        "vertices": np.concatenate([mesh.vertices for mesh in meshes]),
        "faces": np.concatenate([mesh.faces for mesh in meshes]),
        "colours": np.concatenate([mesh.colours for mesh in meshes]),
        "count": np.array([(len(mesh.vertices), len(mesh.faces)) for mesh in meshes], np.int32),
    }
    notes = [{"id": model.id, "category": model.category, "stamp": model.stamp} for model in models]
    part = file.with_name(f"{file.name}.{os.getpid()}.part")
    try:
        save_file(arrays, part, metadata={"models": json.dumps(notes)})
        os.replace(part, file)
    except SafetensorError as error:
        raise DaxlabError(f"{file} cannot be written ({error}); what was there is as it was") from error
    finally:
        part.unlink(missing_ok=True)


def load(file: Path) -> list[Imported]:
    """What the file holds, each mesh checked."""
    if not file.exists():
        raise DaxlabError("no ShapeNet models are imported yet; run: daxlab assets import-shapenet DIR")
    try:
        with safe_open(file, framework="np") as arrays:
            notes = json.loads(arrays.metadata()["models"])
            vertices, faces, colours = (arrays.get_tensor(name) for name in ("vertices", "faces", "colours"))
            ends = np.cumsum(arrays.get_tensor("count"), axis=0)[:-1]
        parts = zip(
            notes,
            np.split(vertices, ends[:, 0]),
            np.split(faces, ends[:, 1]),
            np.split(colours, ends[:, 1]),
            strict=True,
        )
        return [Imported(n["id"], n["category"], n["stamp"], Mesh(*arrays)) for n, *arrays in parts]
    except (SafetensorError, OSError, ValueError, KeyError, TypeError, IndexError) as error:
        raise DaxlabError(f"{file} cannot be read ({error}); import again") from error
