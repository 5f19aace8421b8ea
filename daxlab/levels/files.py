"""Levels of your own: a spec in a TOML or a Python file, usable by its path wherever a level's name is.

    daxlab expert my_level.toml

A TOML file names the fields of `daxlab.levels.spec.Level` that differ from those of ``base`` (a level's name; without
one, from the defaults). A Python file is run, and ``level`` must be a `Level` afterwards. docs/levels.md makes one.
"""

from __future__ import annotations

import math
import runpy
import tomllib
import typing
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from daxlab.errors import DaxlabError, unknown
from daxlab.levels.spec import Level
from daxlab.world.state import Physics

SUFFIXES = (".toml", ".py")

Known = Mapping[str, Level]
"""Levels by name, for ``base``."""


def is_file(name: str) -> bool:
    """Whether this is a path and not a level's name."""
    return name.endswith(SUFFIXES)


def read(path: Path) -> dict[str, Any]:
    """What a file says, as a table."""
    if not path.is_file():
        raise DaxlabError(f"there is no level file {path}")
    try:
        return _run(path) if path.suffix == ".py" else tomllib.loads(path.read_text(encoding="utf-8"))
    except DaxlabError as error:
        raise DaxlabError(f"{path}: {error}") from error
    except (OSError, ValueError) as error:
        raise DaxlabError(f"{path} cannot be read: {_line(error)}") from error


def load(path: Path, known: Known, table: Mapping[str, Any] | None = None) -> Level:
    """The level in a file, whose table may have been read already."""
    table = read(path) if table is None else table
    try:
        level = from_table({"name": f"user/{path.stem}", **table}, known)
        if level.name in known:
            raise DaxlabError(f"name is {level.name!r}, which is daxlab's own; choose another")
    except DaxlabError as error:
        raise DaxlabError(f"{path}: {error}") from error
    return level


def _run(path: Path) -> dict[str, Any]:
    """What a Python file's level differs in from the default one."""
    try:
        level = runpy.run_path(str(path)).get("level")
    except DaxlabError:
        raise
    except (Exception, SystemExit) as error:
        raise DaxlabError(f"it stopped with {type(error).__name__}: {_line(error)}") from error
    if not isinstance(level, Level):
        raise DaxlabError("it must say level = Level(name=…), with Level from daxlab.levels.spec")
    return to_table(level)


def to_table(level: Level) -> dict[str, Any]:
    """The name, and the fields that differ from their defaults, as plain data."""
    different = _differences(level, Level(name=""))
    if "physics" in different:
        different["physics"] = _differences(level.physics, Physics())
    return different


def _differences(one: Any, other: Any) -> dict[str, Any]:
    pairs = {field.name: (getattr(one, field.name), getattr(other, field.name)) for field in fields(one)}
    return {name: mine for name, (mine, its) in pairs.items() if mine != its}


def from_table(table: Mapping[str, Any], known: Known) -> Level:
    """The level that a table describes."""
    table = dict(table)
    base = table.pop("base", None)
    if base is not None and str(base) not in known:
        raise unknown("base", str(base), known)
    begin = Level(name="base") if base is None else known[base]
    return replace(begin, **_fitted(Level, begin, table))


def _fitted(kind: type[Any], begin: Any, table: Mapping[str, Any]) -> dict[str, Any]:
    """The table's values as the fields' types want them."""
    hints = typing.get_type_hints(kind)
    for name in table:
        if name not in hints:
            raise unknown(f"field of {kind.__name__}", str(name), hints)
    return {name: _fit(value, hints[name], name, getattr(begin, name)) for name, value in table.items()}


def _fit(value: Any, hint: Any, name: str, begin: Any = None) -> Any:
    """One value; a sentence if it is of another type."""
    if hint is Physics and isinstance(value, Mapping):
        return replace(begin, **_fitted(Physics, begin, value))
    if typing.get_origin(hint) is tuple and isinstance(value, list | tuple):
        parts = typing.get_args(hint)
        parts = (parts[0],) * len(value) if parts[-1] is ... else parts
        if len(parts) == len(value):
            return tuple(_fit(item, part, name) for item, part in zip(value, parts, strict=True))
    plain = str if typing.get_origin(hint) is typing.Literal else hint
    # A truth value is a whole number to Python, and a whole number is a number.
    if plain is float and type(value) in (int, float) and math.isfinite(value):
        return float(value)
    if type(value) is plain and plain is not float:
        return value
    raise DaxlabError(f"{name} has {value!r} where {_WANTED.get(plain, 'a list like its default')} is needed")


_WANTED = {int: "a whole number", float: "a number", bool: "true or false", str: "a text", Physics: "a table"}


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())
