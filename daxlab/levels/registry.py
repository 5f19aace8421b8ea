"""The levels by name, by the path of a file, or written out."""

from __future__ import annotations

import json
from functools import cache

from daxlab.errors import DaxlabError, unknown
from daxlab.levels import files
from daxlab.levels.catalogue import GROUPS, MIXTURES
from daxlab.levels.spec import Level
from daxlab.levels.twin import PREFIX, twin


@cache
def levels() -> dict[str, Level]:
    """Every level, by name."""
    return {level.name: level for group in GROUPS for level in group()}


def get(name: str) -> Level:
    """The level of that name or in that file; an error that lists near names if there is none.

    What `portable` gives is taken, too.
    """
    if name in levels():
        return levels()[name]
    if _at_desk(name) in levels():
        return twin(levels()[_at_desk(name)])
    if name.startswith("{"):
        return _written_out(name)
    if files.is_file(name):
        return files.load(name, levels())
    if name in MIXTURES:
        raise DaxlabError(f"{name!r} is a mixture; choose one of its levels: {', '.join(MIXTURES[name])}")
    raise unknown("level", name, levels())


def choose(names: tuple[str, ...]) -> list[Level]:
    """The levels of these names, groups or files; all if there are none."""
    chosen: dict[str, Level] = {}
    for name in names or tuple(levels()):
        group = {level.name: level for level in levels().values() if level.name.startswith(f"{name.rstrip('/')}/")}
        level = None if group else get(name)
        chosen |= group if level is None else {level.name: level}
    return list(chosen.values())


def mixture(name: str) -> dict[str, float]:
    """The levels of a training mixture with their weights."""
    if name not in MIXTURES:
        raise unknown("mixture", name, MIXTURES)
    return dict.fromkeys(MIXTURES[name], 1.0)


def weights(name: str) -> dict[Level, float]:
    """What to train on: the levels of a mixture, or one level, with their weights."""
    if name in MIXTURES:
        return {get(level): weight for level, weight in mixture(name).items()}
    if _at_desk(name) in MIXTURES:
        return {twin(get(level), carries=True): weight for level, weight in mixture(_at_desk(name)).items()}
    if name not in levels() and _at_desk(name) not in levels() and not name.startswith("{") and not files.is_file(name):
        raise unknown("level or mixture", name, (*levels(), *MIXTURES))
    return {get(name): 1.0}


def _at_desk(name: str) -> str:
    """Of a twin's name, that of the level or mixture at the desk; else nothing."""
    return name[len(PREFIX) :] if name.startswith(PREFIX) else ""


def portable(name: str) -> str:
    """The name; in place of a file's path, what it says, as JSON: it means the same without the file."""
    return json.dumps(files.to_table(get(name)), sort_keys=True) if files.is_file(name) else name


@cache
def _written_out(text: str) -> Level:
    try:
        return files.from_table(json.loads(text), levels())
    except (json.JSONDecodeError, AttributeError) as error:
        raise DaxlabError(f"{text!r} is no level: {error}") from error
