"""Real exemplars of the paper's 31 classes, from a folder of ShapeNetSem that the user has.

    DIR/metadata.csv                     a row a model: class, unit, up, front
    DIR/models-OBJ/models/ID.obj, .mtl   (or DIR/models)
    DIR/models-textures/textures/*.jpg   (or DIR/textures, or beside the MTL file)

The paper kept 1,437 models "manually filtered"; which ones is not said. We take every model of the 31 classes that can
be read, has a colour for each face and a household size. What is left out has a line in the report.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

from daxlab.assets.categories import CATEGORIES
from daxlab.assets.mesh import Bank, Mesh, build_bank
from daxlab.assets.shapenet.convert import to_mesh
from daxlab.assets.shapenet.folder import Folder, Missing, Skipped, shown
from daxlab.assets.shapenet.metadata import Entry, category, entry, rows
from daxlab.assets.shapenet.obj import MAX_OBJ, read_obj
from daxlab.assets.shapenet.paint import face_colours
from daxlab.assets.shapenet.report import Report
from daxlab.assets.shapenet.store import Imported, load, save, store_file
from daxlab.errors import DaxlabError, unknown

MODELS = ("models-OBJ/models", "models-OBJ", "models")
"""Where OBJ files lie."""
VERSION = 1
"""Of how meshes are made; a new one makes all of them anew."""
SAVE_EVERY = 100
"""Models between two saves, so that an import that is stopped goes on from there."""


def import_folder(path: Path, again: bool = False, tell: Callable[[str], None] = lambda line: None) -> Report:
    """Import every model of the 31 classes and write them, with the report, to daxlab's cache folder.

    Models that an earlier import made from the same row and OBJ file are taken from there, unless ``again``.
    ``tell`` hears each model's name.
    """
    folder, report, file = Folder.at(path), Report(), store_file()
    old = {} if again else _earlier(file)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DaxlabError(f"{file.parent} cannot be made ({error.strerror}); set DAXLAB_CACHE to another") from error
    models: dict[str, Imported] = {}
    for item in _wanted(folder, report):
        tell(f"{item.category} {item.id}")
        try:
            models[item.id] = _import(folder, item, old.get(item.id))
        except Skipped as reason:
            report.skip(item.id, reason)
        except Exception as error:  # whatever a file provokes, the next one is still wanted
            report.skip(item.id, Skipped(f"made the importer fail: {type(error).__name__} {shown(str(error))}"))
        else:
            report.imported[item.category] += 1
            if len(models) % SAVE_EVERY == 0:
                save(list((old | models).values()), file)
    report.write(file.with_name("report.txt"))
    if not models:
        raise DaxlabError(f"no model of {path} could be imported; {file.with_name('report.txt')} says why")
    save(list(models.values()), file)
    return report


def _earlier(file: Path) -> dict[str, Imported]:
    try:
        return {model.id: model for model in load(file)}
    except DaxlabError:
        return {}


def _wanted(folder: Folder, report: Report) -> list[Entry]:
    """The rows of the 31 classes, in the order of the file."""
    found: dict[str, Entry] = {}
    for name, row in rows(folder):
        if isinstance(row, Skipped):
            report.skip(name, row)
            continue
        kind = category(row)
        if kind is None:
            report.other += 1
            continue
        try:
            item = entry(row, kind)
            if item.id in found:
                raise Skipped("stands in metadata.csv twice; the first counts")
        except Skipped as reason:
            report.skip(name, reason)
        else:
            found[item.id] = item
    return list(found.values())


def _import(folder: Folder, item: Entry, old: Imported | None) -> Imported:
    try:
        name = folder.find(f"{place}/{item.id}.obj" for place in MODELS)
    except Missing as error:
        raise Missing("has no OBJ file") from error
    status = os.stat(folder.real(name))
    stamp = f"{VERSION} {item} {status.st_size} {status.st_mtime_ns}"
    if old is not None and old.stamp == stamp:
        return old
    model = read_obj(folder.read(name, MAX_OBJ))
    colours = face_colours(model, folder, name.rpartition("/")[0])
    return Imported(item.id, item.category, stamp, to_mesh(item, model, colours))


def exemplars(
    categories: tuple[str, ...] | None = None, per_class: int | None = None, first: int = 0
) -> dict[str, Mesh]:
    """Imported models by names such as "bunk bed 3", class after class, numbered in the order of metadata.csv.

    With ``per_class``, numbers ``first`` … ``first + per_class - 1`` of each class, so that the mesh of class c and
    exemplar e has the index ``c * per_class + e``, as with our own exemplars; without it, all there are.
    """
    by_class: dict[str, list[Mesh]] = {name: [] for name in CATEGORIES}
    for model in load(store_file()):
        by_class.setdefault(model.category, []).append(model.mesh)
    categories = tuple(name for name in by_class if by_class[name]) if categories is None else categories
    found: dict[str, Mesh] = {}
    for name in categories:
        if name not in CATEGORIES:
            raise unknown("category", name, CATEGORIES)
        last = len(by_class[name]) if per_class is None else first + per_class
        if not 0 <= first < last <= len(by_class[name]):
            raise DaxlabError(f"{name} {first} to {last - 1} were asked for; {len(by_class[name])} are imported")
        found |= {f"{name} {i}": by_class[name][i] for i in range(first, last)}
    return found


def bank(categories: tuple[str, ...] | None = None, per_class: int | None = None, first: int = 0) -> Bank:
    """Those models for the renderer; the same object for the same arguments until the next import."""
    file = store_file()
    return _bank(file, file.stat().st_mtime_ns if file.exists() else 0, categories, per_class, first)


@cache
def _bank(file: Path, written: int, categories: tuple[str, ...] | None, per_class: int | None, first: int) -> Bank:
    return build_bank(exemplars(categories, per_class, first))
