"""Levels and mixtures by name, by the path of a file, or written out."""

from __future__ import annotations

from functools import cache

from daxlab.errors import DaxlabError, unknown
from daxlab.levels import files, recipe
from daxlab.levels.catalogue import GROUPS, MIXTURES
from daxlab.levels.recipe import Recipe
from daxlab.levels.spec import Level
from daxlab.levels.twin import PREFIX, twin


@cache
def levels() -> dict[str, Level]:
    """Every level, by name."""
    return {level.name: level for group in GROUPS for level in group()}


def find(name: str) -> Recipe:
    """What is played under a name, in a file, or in what `portable` gives: a level or a mixture."""
    if name in levels():
        return Recipe(name, {levels()[name]: 1.0})
    if name in MIXTURES:
        return Recipe(name, {levels()[level]: weight for level, weight in mixture(name).items()})
    if _at_desk(name) in levels():
        return Recipe(name, {twin(levels()[_at_desk(name)]): 1.0})
    if _at_desk(name) in MIXTURES:
        mixed = {levels()[level]: weight for level, weight in mixture(_at_desk(name)).items()}
        carries = any(level.goals for level in mixed)
        return Recipe(name, {twin(level, carries): weight for level, weight in mixed.items()})
    if name.startswith("{"):
        return _written_out(name)
    if files.is_file(name):
        found = recipe.load(name, levels())
        if found.name in MIXTURES or (len(found.weights) > 1 and found.name in levels()):
            raise DaxlabError(f"{name}: name is {found.name!r}, which is daxlab's own; choose another")
        return found
    raise unknown("level or mixture", name, (*levels(), *MIXTURES))


def get(name: str) -> Level:
    """The level of that name or in that file; an error that lists near names if there is none."""
    if not _is_known(name):
        raise unknown("level", name, levels())
    found = find(name)
    if len(found.weights) > 1:
        names = ", ".join(level.name for level in found.weights)
        raise DaxlabError(f"{found.name!r} is a mixture; choose one of its levels: {names}")
    return next(iter(found.weights))


def choose(names: tuple[str, ...]) -> list[Level]:
    """The levels of these names, groups, mixtures or files; all if there are none."""
    chosen: dict[str, Level] = {}
    for name in names or tuple(levels()):
        group = [level for level in levels().values() if level.name.startswith(f"{name.rstrip('/')}/")]
        found = group or (find(name).weights if _is_known(name) else [get(name)])
        chosen |= {level.name: level for level in found}
    return list(chosen.values())


def mixture(name: str) -> dict[str, float]:
    """The levels of a training mixture with their weights."""
    if name not in MIXTURES:
        raise unknown("mixture", name, MIXTURES)
    return dict.fromkeys(MIXTURES[name], 1.0)


def weights(name: str) -> dict[Level, float]:
    """What to train on: the levels of a mixture, or one level, with their weights."""
    return dict(find(name).weights)


def _at_desk(name: str) -> str:
    """Of a twin's name, that of the level or mixture at the desk; else nothing."""
    return name[len(PREFIX) :] if name.startswith(PREFIX) else ""


def portable(name: str) -> str:
    """The name; in place of a file's path, what it says, as JSON: it means the same without the file."""
    return recipe.to_text(find(name)) if files.is_file(name) else name


def _is_known(name: str) -> bool:
    ours = (*levels(), *MIXTURES)
    return name in ours or _at_desk(name) in ours or name.startswith("{") or files.is_file(name)


@cache
def _written_out(text: str) -> Recipe:
    return recipe.from_text(text)
