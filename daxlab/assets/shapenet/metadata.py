"""The rows of metadata.csv: which model is of which class, how large, and which way it stands."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from daxlab.assets.categories import CATEGORIES
from daxlab.assets.shapenet.folder import Folder, Missing, Skipped, shown
from daxlab.errors import DaxlabError

MAX_METADATA = 64 * 2**20
"""Bytes; the real file has about 5 MiB."""
DEFAULT_UP, DEFAULT_FRONT = (0.0, 0.0, 1.0), (0.0, -1.0, 0.0)
"""For rows that say nothing: the axes of SketchUp, where most models were made."""

_ALSO = {
    "Couch": "sofa",
    "Speaker": "loudspeaker",
    "PC": "computer",
    "DrinkBottle": "bottle",
    "BeerBottle": "bottle",
    "DrinkingGlass": "glass",
    "WineGlass": "glass",
    "TableLamp": "lamp",
    "DeskLamp": "lamp",
    "PottedPlant": "plant",
    "Keyboard": "keyboard",
}
"""ShapeNetSem's own labels for classes that the paper calls by their WordNet names."""
_CLASS = {name.title().replace(" ", ""): name for name in CATEGORIES} | _ALSO


@dataclass(frozen=True)
class Entry:
    """A model that a row of metadata.csv describes."""

    id: str
    category: str
    """One of the paper's 31 classes."""
    unit: float
    """Metres to one unit of the file."""
    up: tuple[float, float, float]
    front: tuple[float, float, float]


def rows(folder: Folder) -> Iterator[tuple[str, Mapping[str, str] | Skipped]]:
    """Each row by the name it goes by in the report; what cannot be read as a row is a reason instead."""
    try:
        text = folder.read("metadata.csv", MAX_METADATA).decode("utf-8", "replace")
    except Missing as error:
        raise DaxlabError(f"{folder.root} has no metadata.csv; give the folder that ShapeNetSem unpacks to") from error
    except Skipped as error:
        raise DaxlabError(str(error)) from error
    reader = csv.DictReader(io.StringIO(text, newline=""))
    lacks = {"fullId", "category", "unit", "up", "front"} - set(reader.fieldnames or ())
    if lacks:
        raise DaxlabError(f"metadata.csv has no column {', '.join(sorted(lacks))}; is it ShapeNetSem's?")
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield f"line {reader.line_num} of metadata.csv", Skipped(f"is no row ({error})")
            continue
        row = {key: value or "" for key, value in row.items() if isinstance(key, str)}
        yield row["fullId"].removeprefix("wss."), row


def category(row: Mapping[str, str]) -> str | None:
    """Which of the 31 classes a row is of; None if of none.

    The paper's names are the first WordNet lemmas; the manual labels count as well. "Table,CoffeeTable" is a coffee
    table: a name that ends another is the wider class.
    """
    labels = row["category"].split(",")
    if "_BAD" in labels:
        return None
    lemma = row.get("wnlemmas", "").split(",")[0].strip().lower()
    found = [lemma] if lemma in CATEGORIES else []
    found += [_CLASS[label.strip()] for label in labels if label.strip() in _CLASS]
    narrow = [name for name in found if not any(other.endswith(f" {name}") for other in found)]
    return narrow[0] if narrow else None


def entry(row: Mapping[str, str], category: str) -> Entry:
    """The row with its numbers read."""
    name = row["fullId"].removeprefix("wss.")
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,128}", name):
        raise Skipped("is no model's id")
    if not row["unit"].strip():
        raise Skipped("has no unit, so its size is unknown")
    unit = _numbers(row["unit"], 1, "unit")[0]
    if not 1e-6 <= unit <= 1e3:
        raise Skipped(f"has a unit of {unit:g} m")
    up, front = (_numbers(row[key], 3, key) or default for key, default in _AXES.items())
    return Entry(name, category, unit, up, front)


_AXES = {"up": DEFAULT_UP, "front": DEFAULT_FRONT}


def _numbers(text: str, count: int, what: str) -> tuple:
    r"""Numbers with commas between, which the file escapes (``0\,0\,1``); empty for nothing."""
    if not text.strip():
        return ()
    try:
        values = tuple(float(part) for part in text.replace("\\", "").split(","))
    except ValueError:
        values = ()
    if len(values) != count or not np.isfinite(values).all():
        raise Skipped(f"has the {what} {shown(text)}")
    return values
