"""The levels by name."""

from __future__ import annotations

from functools import cache

from daxlab.errors import unknown
from daxlab.levels.catalogue import GROUPS, MIXTURES
from daxlab.levels.spec import Level


@cache
def levels() -> dict[str, Level]:
    """Every level, by name."""
    return {level.name: level for group in GROUPS for level in group()}


def get(name: str) -> Level:
    """The level of that name; an error that lists near names if there is none."""
    if name not in levels():
        raise unknown("level", name, levels())
    return levels()[name]


def mixture(name: str) -> dict[str | Level, float]:
    """The levels of a training mixture with their weights."""
    if name not in MIXTURES:
        raise unknown("mixture", name, MIXTURES)
    return dict.fromkeys(MIXTURES[name], 1.0)
