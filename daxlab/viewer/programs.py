"""Compiled programs and loaded weights, made once in the background and shared by all who look.

A session asks for what it needs; while that is in the making it gets `Wait`, with a sentence for the person who waits.
The first picture needs two small programs and the rasteriser; motion and the agent are compiled behind it.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from daxlab.agents.agent import Agent
from daxlab.compilation import BRIEFEST
from daxlab.learning.evaluate import Trained, load_agent
from daxlab.levels.env import Env
from daxlab.levels.episode import Episode, start
from daxlab.levels.spec import Level
from daxlab.render import ffi
from daxlab.viewer.film import ACTORS, rules, script
from daxlab.viewer.panels import Showing, showing
from daxlab.viewer.thinking import Seen, Thinker, thinker
from daxlab.world.control import CONTROLS

MOST_WEIGHTS = 4
"""Trained agents that are kept for whoever asks for them next."""


class Wait(Exception):
    """What is needed is not ready yet; the message says what is being done."""


class Stage(NamedTuple):
    """How an episode of a level begins and looks."""

    begin: Callable[[Any], Episode]
    show: Callable[[Episode], Showing]


Motion = Callable[[Episode, Any], Episode]
"""A state and nine controls to the next state."""
Script = Callable[[Episode], int]
"""A state to an action."""


class _Job:
    """One thing in the making, or made."""

    def __init__(self, what: str, make: Callable[[], Any]) -> None:
        self.what = what
        self.done = threading.Event()
        self.value: Any = None
        self.error: BaseException | None = None
        self._make = make

    def run(self) -> None:
        try:
            self.value = self._make()
        except BaseException as error:
            self.error = error
        finally:
            self.done.set()


class Programs:
    """All that takes long, by what it is of. Safe to use from many threads."""

    def __init__(self) -> None:
        self._jobs: dict[tuple[Hashable, ...], _Job] = {}
        self._lock = threading.Lock()

    def stage(self, level: Level) -> Stage:
        """How the level's episodes begin and look."""
        # Both at once: each leaves the other a core.
        self._start(("stage", level), "building the room", lambda: _stage(level))
        self._get(("rasteriser",), "preparing the pictures", ffi.kernel)
        return self._get(("stage", level), "building the room", lambda: _stage(level))

    def motion(self, level: Level) -> Motion:
        """How controls move the world."""
        return self._get(("motion", level), "compiling the world's physics", lambda: _motion(level))

    def script(self, level: Level, name: str) -> Script:
        """A scripted actor."""
        return self._get(("script", level, name), f"compiling the {name} actor", lambda: _script(level, name))

    def mind(self, env: Env, agent: Agent) -> Thinker:
        """How an agent thinks. Agents that differ in their weights only share it."""
        key = ("mind", env.level, env.width, env.height, agent.config)
        return self._get(key, "compiling the agent's mind", lambda: _mind(env, agent))

    def weights(self, path: Path) -> Trained:
        """A trained agent. Whoever uses it keeps it: of a run that is followed, only the latest stay here."""
        with self._lock:
            for key in [key for key in self._jobs if key[0] == "weights" and key[1] != path][: -MOST_WEIGHTS + 1]:
                del self._jobs[key]
        return self._get(("weights", path), f"loading {path.name}", lambda: load_agent(path))

    def _start(self, key: tuple[Hashable, ...], what: str, make: Callable[[], Any]) -> _Job:
        with self._lock:
            job = self._jobs.get(key)
            if job is None:
                job = self._jobs[key] = _Job(what, make)
                threading.Thread(target=job.run, name=what, daemon=True).start()
            return job

    def _get(self, key: tuple[Hashable, ...], what: str, make: Callable[[], Any]) -> Any:
        job = self._start(key, what, make)
        # Most things are on disk from an earlier time: that is worth a short wait.
        if not job.done.wait(0.2):
            raise Wait(job.what)
        if job.error is not None:
            with self._lock:
                self._jobs.pop(key, None)
            raise job.error
        return job.value


def _stage(level: Level) -> Stage:
    begin = rules(level).start
    show = jax.jit(functools.partial(showing, Env(level)), compiler_options=BRIEFEST)
    show(jax.device_get(begin(np.zeros(2, np.uint32))))
    return Stage(lambda key: jax.device_get(begin(key)), lambda state: jax.device_get(show(state)))


def _some_state(level: Level) -> Episode:
    """A state to compile for: of the right shapes, worked out by nobody."""
    shapes = jax.eval_shape(lambda key: start(level, key), jax.ShapeDtypeStruct((2,), np.uint32))
    return jax.tree.map(lambda x: np.zeros(x.shape, x.dtype), shapes)


def _motion(level: Level) -> Motion:
    move = rules(level).move
    move(_some_state(level), np.zeros(len(CONTROLS), np.float32))
    return lambda state, controls: jax.device_get(move(state, np.asarray(controls, np.float32)))


def _script(level: Level, name: str) -> Script:
    act = script(level, ACTORS[name])
    act(_some_state(level))
    return lambda state: int(act(state))


def _mind(env: Env, agent: Agent) -> Thinker:
    # Weights are given at each step, not compiled in: those of the next checkpoint need no new program.
    think = thinker(env, agent)

    def call(agent: Agent, state: Episode, memory: Any, key: Any) -> tuple[Any, Seen]:
        memory, seen = think(agent, state, memory, key)
        return memory, jax.device_get(seen)

    call(agent, _some_state(env.level), agent.initial_state(), np.zeros(2, np.uint32))
    return call
