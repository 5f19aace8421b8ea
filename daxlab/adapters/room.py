"""What the adapters share: rooms that are stepped on the device and read on the host."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import UInt32

from daxlab.errors import DaxlabError
from daxlab.levels import episode
from daxlab.levels.env import Env, Rooms, check_action
from daxlab.levels.episode import RUNNING, TIMEOUT, Episode
from daxlab.levels.spec import Level

PHASES = ("discovery", "instruction", "distractor")
"""Names of the phases, by `Episode.phase`."""
PERSON = (640, 480)
"""Width and height of the picture for people."""


class Report(NamedTuple):
    """What the host reads of a room, or with a leading axis of many."""

    rgb: np.ndarray
    text: np.ndarray
    """Token ids."""
    reward: np.ndarray
    terminated: np.ndarray
    """The episode ended with a lift or a putting, right or wrong."""
    truncated: np.ndarray
    """Time ran out."""
    success: np.ndarray
    phase: np.ndarray


class Functions(NamedTuple):
    """A level's functions of the state, compiled."""

    reset: Callable[..., tuple[Episode, Any]]
    step: Callable[..., tuple[Episode, Any]]
    picture: Callable[[Episode], Array]


class Host:
    """Holds the state of one room, or of ``count`` rooms that begin their next episode by themselves."""

    def __init__(self, env: Env, continuous: bool, count: int | None = None) -> None:
        """Actions are indices, or the nine controls if ``continuous``."""
        self.env = env
        self.continuous = continuous
        self.count = count
        self._rooms = () if count is None else (count,)
        self._functions = _compiled(env.level, env.width, env.height, continuous, count)
        self._state: Episode | None = None
        self.over = True
        """No episode is running (of one room)."""

    @property
    def fresh(self) -> bool:
        """No episode has been begun yet, so the first needs a seed."""
        return self._state is None

    def begin(self, seed: int | None) -> Report:
        """The first episodes of a seed (room i has seed + i); without one, the next of the same rooms."""
        key = self._running().key if seed is None else seeds(seed, self.count or 1).reshape(*self._rooms, 2)
        return self._read(self._functions.reset(key))

    def step(self, action: Any) -> Report:
        """One action in each room."""
        if self.over:
            raise DaxlabError("no episode is running; call reset() first")
        return self._read(self._functions.step(self._state, self._action(action)))

    def picture(self) -> np.ndarray:
        """The view, large."""
        return np.array(self._functions.picture(self._running()))

    def _running(self) -> Episode:
        if self._state is None:
            raise DaxlabError("no episode has begun; call reset() first")
        return self._state

    def _action(self, action: Any) -> np.ndarray:
        """An action from outside as the compiled step takes it, or the sentence that says what is wrong."""
        given = np.asarray(action)
        shape = (*self._rooms, self.env.num_controls) if self.continuous else self._rooms
        if given.shape != shape:
            raise DaxlabError(f"the action has shape {given.shape}; {shape} is needed")
        if not self.continuous:
            check_action(given, self.env.num_actions)
            return given.astype(np.int32)
        if not (np.issubdtype(given.dtype, np.number) and np.isfinite(given).all()):
            raise DaxlabError(f"the controls are {given}; each must be a number in -1…1")
        return given.astype(np.float32)

    def _read(self, stepped: tuple[Episode, Any]) -> Report:
        self._state, report = stepped
        # Copies: JAX's own arrays cannot be written to, which torch and others complain about.
        report = Report(*(np.array(value) for value in jax.device_get(report)))
        self.over = self.count is None and bool(report.terminated | report.truncated)
        return report


def seeds(seed: int, count: int) -> UInt32[Array, "count 2"]:
    """Data of ``jax.random.key(seed)``, ``jax.random.key(seed + 1)``, and so on."""
    numbers = (np.arange(count, dtype=np.uint64) + np.uint64(int(seed) % 2**32)).astype(np.uint32)
    return jax.random.key_data(jax.vmap(jax.random.key)(numbers))


@functools.lru_cache(maxsize=32)
def _compiled(level: Level, width: int, height: int, continuous: bool, count: int | None) -> Functions:
    """Compiled once for all environments alike: ten copies of one level cost one compilation."""
    env = Env(level, width, height)

    def advance(state: Episode, action: Array) -> Episode:
        return episode.advance(level, state, action) if continuous else env.advance(state, action)

    def report(state: Episode) -> Any:
        observation, timeout = env.observe(state), state.outcome == TIMEOUT
        ended = state.outcome != RUNNING
        success = state.outcome == episode.RIGHT
        return (*observation, state.reward, ended & ~timeout, timeout, success, state.phase)

    def picture(state: Episode) -> Array:
        return env.picture(state, *PERSON)

    if count is None:
        return _jitted(env.start, advance, report, picture)
    rooms = Rooms(env, count)

    def advance_all(states: Episode, actions: Array) -> Episode:
        return rooms.restart(jax.vmap(advance)(states, actions), states.outcome != RUNNING)

    return _jitted(jax.vmap(env.start), advance_all, jax.vmap(report), jax.vmap(picture))


def _jitted(start: Callable, advance: Callable, report: Callable, picture: Callable) -> Functions:
    def reset(key: Array) -> tuple[Episode, Any]:
        state = start(jnp.asarray(key))
        return state, report(state)

    def step(state: Episode, action: Array) -> tuple[Episode, Any]:
        state = advance(state, action)
        return state, report(state)

    return Functions(jax.jit(reset), jax.jit(step), jax.jit(picture))
