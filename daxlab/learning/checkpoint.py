"""Checkpoints: safetensors files in a folder that appears whole or not at all.

    RUN/checkpoints/exact-000000123/part-00.safetensors     everything: a run that resumes from it does not differ
    RUN/checkpoints/light-000000123/part-00.safetensors …   weights, optimiser, statistics, step, key: rooms restart

Each part holds the config it was made with, its fingerprint and a digest of its own numbers. A tensor too large for
one part of a light checkpoint lies in several, as flat runs of its numbers. Nothing is unpickled.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from daxlab.errors import DaxlabError
from daxlab.learning.config import TrainConfig, from_json, to_json

Kind = Literal["exact", "light"]

FORMAT = "daxlab-1"
PART_BYTES = 15 * 2**20
"""Most numbers in one part of a light checkpoint: with its header a part stays below 16 MiB."""
HALVE_FROM = 1024
"""Numbers in a tensor from which on a weights file keeps it in half precision."""
KEEP = 2
"""Checkpoints of a kind that are kept."""
SHARED = ("format", "kind", "updates", "fingerprint", "config", "cut")
"""What the headers of all parts say alike."""

Tensors = dict[str, np.ndarray]


class Loaded(NamedTuple):
    """What a checkpoint holds."""

    tensors: Tensors
    config: TrainConfig
    fingerprint: str
    updates: int
    kind: Kind


def tensors_of(tree: Any) -> Tensors:
    """The arrays of a tree by their paths in it."""
    leaves = jax.tree_util.tree_flatten_with_path(jax.device_get(tree))[0]
    return {jax.tree_util.keystr(path): _plain(np.asarray(leaf)) for path, leaf in leaves}


def restore(
    template: Any, tensors: Tensors, where: Path, put: Callable[[np.ndarray, Any], Any] = lambda x, like: jnp.asarray(x)
) -> Any:
    """The tree of this shape with the arrays of a checkpoint in it; `put` lays each where the template's lies."""
    leaves, structure = jax.tree_util.tree_flatten_with_path(template)
    wanted = {jax.tree_util.keystr(path): leaf for path, leaf in leaves}
    found = {name: tensors.get(name) for name in wanted}
    for name, leaf in wanted.items():
        given = found[name]
        if given is None:
            raise DaxlabError(f"{where} has no {name}: it is of another agent or level")
        if given.shape != leaf.shape:
            raise DaxlabError(f"{where} has {name} of shape {given.shape} where {leaf.shape} is needed")
    arrays = (put(_typed(found[name], leaf.dtype), leaf) for name, leaf in wanted.items())
    return jax.tree_util.tree_unflatten(structure, arrays)


def _plain(x: np.ndarray) -> np.ndarray:
    """bfloat16 has no name in NumPy's own files: its bits are kept as whole numbers."""
    return np.array(x.view(np.uint16) if x.dtype == jnp.bfloat16 else x, order="C")


def _typed(x: Any, dtype: Any) -> np.ndarray:
    return x.view(jnp.bfloat16) if dtype == jnp.bfloat16 and x.dtype == np.uint16 else x.astype(dtype)


def save(folder: Path, kind: Kind, tensors: Tensors, config: TrainConfig, updates: int) -> Path:
    """Write a checkpoint; a crash at any moment leaves the earlier ones as they were."""
    final = folder / f"{kind}-{updates:09d}"
    if final.exists():
        return final
    folder.mkdir(parents=True, exist_ok=True)
    for left_over in folder.glob(".unfinished-*"):
        shutil.rmtree(left_over)
    work = folder / f".unfinished-{os.getpid()}"
    work.mkdir()
    most = PART_BYTES if kind == "light" else 2**62
    cut = {name: x.shape for name, x in tensors.items() if x.nbytes > most}
    parts = list(_split(_pieces(tensors, most), most))
    try:
        for i, part in enumerate(parts):
            notes = _notes(kind, updates, config, i, len(parts), cut, part)
            _write(part, work / f"part-{i:02d}.safetensors", notes)
        for path in (*work.iterdir(), work):
            _flush(path)
        os.rename(work, final)
    except OSError:
        # The disk may be full: what cannot be finished must not keep its place.
        shutil.rmtree(work, ignore_errors=True)
        raise
    _flush(folder)
    for old in every(folder, kind)[:-KEEP]:
        shutil.rmtree(old)
    return final


def export(tensors: Tensors, config: TrainConfig, updates: int, path: Path) -> None:
    """Write one weights file, large tensors in half precision; it appears whole or not at all."""
    part = {name: _halved(x) for name, x in tensors.items()}
    for name, x in part.items():
        if not np.isfinite(x).all():
            raise DaxlabError(f"{name} is not finite in half precision; nothing was written")
    path.parent.mkdir(parents=True, exist_ok=True)
    work = path.with_name(f".unfinished-{os.getpid()}-{path.name}")
    try:
        _write(part, work, _notes("light", updates, config, 0, 1, {}, part))
        _flush(work)
        os.replace(work, path)
    except OSError:
        work.unlink(missing_ok=True)
        raise
    _flush(path.parent)


def _write(part: Tensors, path: Path, notes: dict[str, str]) -> None:
    """One safetensors file; what the disk refuses is an error of the disk, as it is for every other file."""
    try:
        save_file(part, path, metadata=notes)
    except SafetensorError as error:
        raise OSError(f"{path} cannot be written ({error})") from error


def _halved(x: np.ndarray) -> np.ndarray:
    """Statistics and biases cost nothing and stay as they are."""
    with np.errstate(over="ignore"):
        return x.astype(np.float16) if x.dtype == np.float32 and x.size >= HALVE_FROM else x


def _notes(
    kind: Kind, updates: int, config: TrainConfig, i: int, count: int, cut: dict[str, Any], part: Tensors
) -> dict[str, str]:
    """The header of one part."""
    return {
        "format": FORMAT,
        "kind": kind,
        "updates": str(updates),
        "part": f"{i + 1} of {count}",
        "fingerprint": config.fingerprint,
        "config": json.dumps(to_json(config)),
        "cut": json.dumps(cut),
        "digest": _digest(part),
    }


def every(folder: Path, kind: str = "(exact|light)") -> list[Path]:
    """The checkpoints in a folder, oldest first."""
    if not folder.is_dir():
        return []
    named = [path for path in folder.iterdir() if re.fullmatch(rf"{kind}-\d+", path.name)]
    return sorted(named, key=lambda path: (int(path.name.split("-")[1]), path.name))


def load(path: Path) -> Loaded:
    """Read a checkpoint folder, or one weights file, and check that it is whole and untouched."""
    names = path.glob("part-*.safetensors")
    files = sorted(names, key=lambda file: (len(file.name), file.name)) if path.is_dir() else [path]
    if not files or not files[0].is_file():
        raise DaxlabError(f"there is no checkpoint at {path}")
    tensors: Tensors = {}
    notes: dict[str, str] = {}
    for i, file in enumerate(files):
        before = notes
        part, notes = _read(file)
        if notes["part"] != f"{i + 1} of {len(files)}":
            raise DaxlabError(f"{path} is incomplete: {file.name} says it is part {notes['part']}")
        if notes["digest"] != _digest(part):
            raise DaxlabError(f"{file} is damaged: its numbers are not those that were saved")
        if i and any(notes[name] != before[name] for name in SHARED):
            raise DaxlabError(f"{file} is of another checkpoint than the parts before it")
        tensors |= part
    try:
        return Loaded(
            _join(tensors, json.loads(notes["cut"])),
            from_json(json.loads(notes["config"])),
            notes["fingerprint"],
            int(notes["updates"]),
            "light" if notes["kind"] == "light" else "exact",
        )
    except (ValueError, TypeError, AttributeError) as error:
        raise DaxlabError(f"{path} has a header that cannot be read ({error})") from error


def _read(file: Path) -> tuple[Tensors, dict[str, str]]:
    try:
        with safe_open(file, framework="np") as opened:
            notes = opened.metadata() or {}
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118 (no mapping)
    except (SafetensorError, OSError, ValueError) as error:
        raise DaxlabError(f"{file} is no whole safetensors file ({error})") from error
    notes = {"cut": "{}"} | notes  # older ones have no tensor in pieces
    if not notes.keys() >= {*SHARED, "part", "digest"} or notes["format"] != FORMAT:
        raise DaxlabError(f"{file} is no checkpoint of daxlab")
    return tensors, notes


def _pieces(tensors: Tensors, most: int) -> Iterator[tuple[str, np.ndarray]]:
    """The tensors by name; one of more than `most` bytes in flat runs, each named by the place of its first number."""
    for name, x in tensors.items():
        if x.nbytes <= most:
            yield name, x
            continue
        count = most // x.itemsize
        for start in range(0, x.size, count):
            yield f"{name}@{start}", x.reshape(-1)[start : start + count]


def _join(tensors: Tensors, cut: dict[str, list[int]]) -> Tensors:
    """The tensors with those of `cut`, names and shapes, made whole of their runs."""
    whole = dict(tensors)
    for name, shape in cut.items():
        runs: list[np.ndarray] = []
        start = 0
        while f"{name}@{start}" in whole:
            runs.append(whole.pop(f"{name}@{start}"))
            start += runs[-1].size
        whole[name] = np.concatenate(runs).reshape(shape)
    return whole


def _split(pieces: Iterable[tuple[str, np.ndarray]], most: int) -> Iterator[Tensors]:
    part: Tensors = {}
    for name, x in pieces:
        if part and sum(y.nbytes for y in part.values()) + x.nbytes > most:
            yield part
            part = {}
        part[name] = x
    yield part


def _digest(tensors: Tensors) -> str:
    total = hashlib.sha256()
    for name in sorted(tensors):
        x = tensors[name]
        total.update(f"{name} {x.dtype} {x.shape}".encode())
        total.update(np.ascontiguousarray(x).data if x.size else b"")
    return total.hexdigest()


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
