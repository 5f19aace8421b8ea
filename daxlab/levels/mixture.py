"""One batch of rooms of several levels.

    rooms = Mixture(registry.mixture("fast_slow/zero_shot"), 96)      # or {"group/level": weight, …}
    states, timestep = rooms.reset(jax.random.key(0))
    states, timestep = rooms.step(states, actions)
    timestep.success[rooms.level_of == 0]              # metrics of one level

A room keeps its level for good, and how many rooms a level has follows its weight. So every level's share of the steps
is its weight, however long its episodes are, and each room-step is computed once, by its own level's compiled step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Int, UInt8

from daxlab.errors import DaxlabError
from daxlab.levels.env import Env, Rooms, TimeStep, key_data
from daxlab.levels.episode import Episode
from daxlab.levels.spec import Level

Weights = Mapping[str | Level, float] | Mapping[Level, float] | Mapping[str, float]
"""Levels, by name or spec, and how much of each."""
States = tuple[Episode, ...]
"""The rooms of each level."""


class Mixture:
    """Rooms of several levels behind the interface of `Rooms`; rooms of one level stand next to each other."""

    def __init__(self, weights: Weights, count: int, **options: Any) -> None:
        """Levels, by name or spec, with their weights; `options` are as for `Env` (width, height, backend, decor)."""
        self.envs = tuple(Env(level, **options) for level in weights)
        self.shares = shares(weights, count)
        self.count = count
        self._options = options
        check_alike([env.level for env in self.envs], [(env.width, env.height) for env in self.envs])
        self.rooms = tuple(Rooms(env, share) for env, share in zip(self.envs, self.shares, strict=True))
        self.env = self.envs[0]
        """What an agent must know of all of them: actions and picture."""
        self.levels = tuple(env.level for env in self.envs)
        self.level_of: Int[np.ndarray, " rooms"] = np.repeat(np.arange(len(self.envs)), self.shares)
        """Which level each room plays, in the order given."""

    @property
    def most_parts(self) -> int:
        """The most parts that the rooms can be cut into so that all are alike: each has equally many of a level."""
        return math.gcd(*self.shares)

    def part(self, parts: int) -> Mixture:
        """One of so many equal parts of the rooms."""
        each = {level: share // parts for level, share in zip(self.levels, self.shares, strict=True)}
        return Mixture(each, self.count // parts, **self._options)

    def dealt(self, parts: int) -> Int[np.ndarray, " rooms"]:
        """Numbers of the rooms in the order of so many equal parts: those of the first part, of the second, …"""
        levels = np.split(np.arange(self.count), np.cumsum(self.shares)[:-1])
        return np.concatenate([rooms.reshape(parts, -1) for rooms in levels], axis=1).reshape(-1)

    def reset(self, key: Array, part: Int[Array, ""] | int = 0, parts: int = 1) -> tuple[States, TimeStep]:
        """A fresh episode in every room; these may be one of so many equal parts, each room with a key of its own."""
        keys = zip(self.rooms, self._keys(key), strict=True)
        return self._join([rooms.reset(k, part, parts) for rooms, k in keys])

    def step(self, states: States, actions: Int[Array, " rooms"]) -> tuple[States, TimeStep]:
        """One action in every room; rooms whose episode had ended begin the next one of their level instead."""
        states = self.advance(states, actions)
        parts = zip(self.rooms, states, strict=True)
        return self._join([(state, jax.vmap(rooms.env.timestep)(state)) for rooms, state in parts])

    def start(self, key: Array) -> States:
        """`reset` without the pictures."""
        return tuple(rooms.start(k) for rooms, k in zip(self.rooms, self._keys(key), strict=True))

    def advance(self, states: States, actions: Int[Array, " rooms"]) -> States:
        """`step` without the pictures."""
        parts = zip(self.rooms, states, self.split(actions), strict=True)
        return tuple(rooms.advance(state, action) for rooms, state, action in parts)

    def map(self, function: Callable[..., Any], states: Any, *values: Any) -> Any:
        """`function(level, state, *values)` of each room, values with a leading axis over rooms."""
        parts = zip(self.rooms, states, self.split(values), strict=True)
        return _concatenate([rooms.map(function, state, *given) for rooms, state, given in parts])

    def pictures(self, states: States) -> UInt8[Array, "rooms height width 3"]:
        """Every room's view."""
        return jnp.concatenate([rooms.pictures(state) for rooms, state in zip(self.rooms, states, strict=True)])

    def split(self, values: Any) -> list[Any]:
        """Each level's part of a tree of arrays over rooms."""
        ends = np.cumsum(self.shares)
        return [
            jax.tree.map(lambda x, low=end - share, high=end: x[low:high], values)
            for share, end in zip(self.shares, ends, strict=True)
        ]

    def _keys(self, key: Array) -> Array:
        return jax.random.split(jax.random.wrap_key_data(key_data(key)), len(self.rooms))

    def _join(self, parts: list[tuple[Episode, TimeStep]]) -> tuple[States, TimeStep]:
        return tuple(state for state, _ in parts), _concatenate([told for _, told in parts])


def make_rooms(weights: Weights, count: int, **options: Any) -> Rooms | Mixture:
    """Rooms of one level, or of several by weight."""
    if len(weights) == 1:
        return Rooms(Env(next(iter(weights)), **options), count)
    return Mixture(weights, count, **options)


def _concatenate(parts: list[Any]) -> Any:
    return jax.tree.map(lambda *each: jnp.concatenate(each), *parts)


def shares(weights: Weights, count: int) -> tuple[int, ...]:
    """How many of the rooms each level gets: at least one, and else as near to its weight as whole numbers allow."""
    given = np.array(list(weights.values()), float)
    if given.size == 0 or not (np.isfinite(given).all() and given.min() > 0):
        raise DaxlabError(f"weights are {list(weights.values())}; a mixture needs levels with weights above 0")
    if count < len(given):
        raise DaxlabError(f"rooms is {count}; a mixture of {len(given)} levels needs at least {len(given)}")
    return _whole(tuple(given / given.sum() * count), count)


@cache
def _whole(wanted: tuple[float, ...], count: int) -> tuple[int, ...]:
    """Whole numbers for these; kept, as every config asks anew, and the paper's grid has thousands."""
    whole = np.ones(len(wanted), int)
    for _ in range(count - len(wanted)):
        whole[np.argmax(wanted - whole)] += 1
    return tuple(whole.tolist())


def check_alike(levels: Sequence[Level], sizes: Sequence[tuple[int, int]] | None = None) -> None:
    """One agent acts in all rooms: same actions, same picture (each level's own unless `sizes` says another)."""
    first, *others = levels
    size, *other_sizes = [level.picture for level in levels] if sizes is None else sizes
    for level, its in zip(others, other_sizes, strict=True):
        if level.actions != first.actions:
            raise DaxlabError(f"{level.name!r} and {first.name!r} have different actions and cannot be mixed")
        if its != size:
            raise DaxlabError(
                f"{level.name!r} has {its[0]}×{its[1]} pixels and {first.name!r} {size[0]}×{size[1]}; "
                "levels with one picture can be mixed"
            )
