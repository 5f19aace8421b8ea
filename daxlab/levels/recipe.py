"""What is played under one name: a level, or a mixture of levels with their weights.

A mixture of your own is a TOML file with the table ``mixture``: levels by name, or by the path of their file as seen
from the mixture's, and how much of each.

    name = "mine/both"
    [mixture]
    "fast_slow/fast_map_three_objs" = 2
    "bed.toml" = 1
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from daxlab.errors import DaxlabError, unknown
from daxlab.levels import files
from daxlab.levels.files import Known
from daxlab.levels.spec import Level

FIELDS = ("name", "mixture")
"""Of a mixture's table."""


class Recipe(NamedTuple):
    """Levels and their weights; one level, if it is not a mixture."""

    name: str
    weights: dict[Level, float]


def load(path: str | Path, known: Known) -> Recipe:
    """What a file says."""
    path = Path(path)
    table = files.read(path)
    if "mixture" not in table:
        level = files.load(path, known, table)
        return Recipe(level.name, {level: 1.0})
    try:
        pairs = _listed(table, lambda name: _level(name, known, path.parent))
        return _mixed({"name": f"user/{path.stem}", **table}, pairs)
    except DaxlabError as error:
        raise DaxlabError(f"{path}: {error}") from error


def to_text(recipe: Recipe) -> str:
    """The recipe as JSON, which means the same without the file."""
    tables = [[files.to_table(level), weight] for level, weight in recipe.weights.items()]
    table = tables[0][0] if len(tables) == 1 else {"name": recipe.name, "mixture": tables}
    return json.dumps(table, sort_keys=True)


def from_text(text: str) -> Recipe:
    """What `to_text` wrote. It names no file, and none is read: it may come with someone else's weights."""
    try:
        table = json.loads(text)
        if "mixture" not in table:
            level = files.from_table(table, {})
            return Recipe(level.name, {level: 1.0})
        return _mixed(table, [(files.from_table(level, {}), weight) for level, weight in table["mixture"]])
    except (json.JSONDecodeError, AttributeError, TypeError, ValueError) as error:
        raise DaxlabError(f"{text!r} is no level: {error}") from error


def _listed(table: Mapping[str, Any], find: Any) -> list[tuple[Level, Any]]:
    """The levels that a file's table names."""
    given = table["mixture"]
    if not isinstance(given, Mapping) or not given:
        raise DaxlabError(f"mixture is {given!r}; a table of at least one level and its weight is needed")
    return [(find(name), weight) for name, weight in given.items()]


def _level(name: str, known: Known, folder: Path) -> Level:
    if not files.is_file(name):
        if name not in known:
            raise unknown("level of the mixture", name, known)
        return known[name]
    path = folder / name
    table = files.read(path)
    if "mixture" in table:
        raise DaxlabError(f"{path} is a mixture itself; name its levels")
    return files.load(path, known, table)


def _mixed(table: Mapping[str, Any], pairs: Iterable[tuple[Level, Any]]) -> Recipe:
    for field in table:
        if field not in FIELDS:
            raise unknown("field of a mixture", str(field), FIELDS)
    if not isinstance(table["name"], str):
        raise DaxlabError(f"name has {table['name']!r} where a text is needed")
    weights: dict[str, tuple[Level, float]] = {}
    for level, weight in pairs:
        # A truth value is a number to Python.
        if type(weight) not in (int, float) or not (math.isfinite(weight) and weight > 0):
            raise DaxlabError(f"the weight of {level.name!r} is {weight!r}; it must be a number above 0")
        if level.name in weights:
            raise DaxlabError(
                f"two levels of the mixture are called {level.name!r}; their figures could not be told apart"
            )
        weights[level.name] = level, float(weight)
    return Recipe(table["name"], dict(weights.values()))
