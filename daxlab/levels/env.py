"""The environment as pure functions: `Env` for one room, `Rooms` for many with auto-reset.

    env = Env("architecture_comparison/fast_map_three_objs")
    state, timestep = env.reset(jax.random.key(0))
    state, timestep = env.step(state, action)          # jit and vmap as you like

Episodes follow `dm_env`: the last time step of an episode carries its own observation; `Rooms` gives an ended room
its next episode at the following step, whatever action comes with it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Int, UInt8

from daxlab.errors import DaxlabError
from daxlab.levels import registry
from daxlab.levels.cast import things
from daxlab.levels.episode import RIGHT, RUNNING, TIMEOUT, Episode, advance, start, text
from daxlab.levels.layout import furniture_names
from daxlab.levels.spec import Level
from daxlab.levels.vocabulary import TEXT_LENGTH, WORDS, decode
from daxlab.render import render
from daxlab.render.scene import Scene
from daxlab.world.control import CONTROLS, action_table
from daxlab.world.rotation import about_z, matrix, view
from daxlab.world.sight import eye


class Observation(NamedTuple):
    """What the agent gets: pixels and words."""

    rgb: UInt8[Array, "height width 3"]
    text: Int[Array, " length"]
    """Token ids; `daxlab.levels.vocabulary.decode` makes them readable."""


class TimeStep(NamedTuple):
    """What an environment returns."""

    observation: Observation
    reward: Float[Array, ""]
    discount: Float[Array, ""]
    """0 where the episode ended for good; 1 elsewhere, also where time ran out."""
    first: Bool[Array, ""]
    """This observation begins an episode."""
    last: Bool[Array, ""]
    """This observation ends an episode."""
    success: Bool[Array, ""]
    """The episode has just ended well."""


class Env:
    """One level as functions of one room."""

    def __init__(
        self,
        level: str | Level,
        width: int | None = None,
        height: int | None = None,
        backend: str = "auto",
        decor: int = 0,
    ) -> None:
        """Width and height are the level's own unless given; `backend` is as in `daxlab.render.render`."""
        self.level = registry.get(level) if isinstance(level, str) else level
        self.width = self.level.picture[0] if width is None else width
        self.height = self.level.picture[1] if height is None else height
        if self.width < 1 or self.height < 1:
            raise DaxlabError(f"picture is {self.width}×{self.height}; both sides must be at least 1 pixel")
        self.backend = backend
        self.decor = decor
        self.num_actions = len(self.level.actions)
        self.num_controls = len(CONTROLS)
        self.vocabulary_size = len(WORDS)
        self.text_length = TEXT_LENGTH
        self._controls = action_table(self.level.actions)

    def reset(self, key: Array) -> tuple[Episode, TimeStep]:
        """A fresh episode."""
        state = self.start(key)
        return state, self.timestep(state)

    def step(self, state: Episode, action: Int[Array, ""] | int) -> tuple[Episode, TimeStep]:
        """One discrete action, an index into ``level.actions``."""
        state = self.advance(state, action)
        return state, self.timestep(state)

    def step_controls(self, state: Episode, controls: Float[Array, " 9"]) -> tuple[Episode, TimeStep]:
        """The nine continuous controls (`daxlab.world.control.CONTROLS`), each in -1…1."""
        if jnp.shape(controls) != (self.num_controls,):
            raise DaxlabError(f"controls have shape {jnp.shape(controls)}; {self.num_controls} numbers are needed")
        state = advance(self.level, state, jnp.asarray(controls, jnp.float32))
        return state, self.timestep(state)

    def start(self, key: Array) -> Episode:
        """`reset` without the picture."""
        return start(self.level, key_data(key))

    def advance(self, state: Episode, action: Int[Array, ""] | int) -> Episode:
        """`step` without the picture."""
        check_action(action, self.num_actions)
        return advance(self.level, state, jnp.asarray(self._controls)[action])

    def timestep(self, state: Episode) -> TimeStep:
        """What the agent is told of a state."""
        last = state.outcome != RUNNING
        return TimeStep(
            observation=self.observe(state),
            reward=state.reward,
            discount=1.0 - (last & (state.outcome != TIMEOUT)).astype(jnp.float32),
            first=state.clock == 0,
            last=last,
            success=state.outcome == RIGHT,
        )

    def observe(self, state: Episode) -> Observation:
        """Picture and words."""
        return Observation(rgb=self.picture(state), text=text(self.level, state))

    def picture(self, state: Episode, width: int | None = None, height: int | None = None) -> UInt8[Array, "h w 3"]:
        """The first-person view, at any size."""
        size = width or self.width, height or self.height
        return render(self.scene(state), *size, things(self.level), self.backend)

    def text(self, state: Episode) -> str:
        """The text channel, readable (for one room that is not traced)."""
        return decode(np.asarray(text(self.level, state)))

    def scene(self, state: Episode) -> Scene:
        """What there is to draw."""
        physics, world, layout = self.level.physics, state.world, state.layout
        names = furniture_names(self.level)
        shown = layout.mesh if layout.present is None else jnp.where(state.props.present, layout.mesh, -1)
        ids = [things(self.level).index(name) for name in names]
        stand = jnp.asarray(things(self.level).half_height[ids], jnp.float32)
        turned = matrix(about_z(layout.quarter * (jnp.pi / 2)))
        return Scene(
            eye=eye(physics, world),
            look=view(world.heading, world.pitch),
            mesh=jnp.concatenate([shown, jnp.asarray(ids, jnp.int32)]),
            position=jnp.concatenate([world.position, jnp.concatenate([layout.furniture, stand[:, None]], -1)]),
            rotation=jnp.concatenate([matrix(world.attitude), turned]),
            room=state.props.room,
            decor=jnp.array(self.decor, jnp.int32),
        )


class Rooms:
    """Many rooms of one level, each with its own key, restarted as they end."""

    def __init__(self, env: Env, count: int) -> None:
        if count < 1:
            raise DaxlabError(f"rooms is {count}; at least 1 is needed")
        self.env = env
        self.count = count
        self.levels = (env.level,)
        self.level_of: Int[np.ndarray, " rooms"] = np.zeros(count, int)
        """Which of the levels each room plays: as in `daxlab.levels.mixture.Mixture`, here the only one."""
        # Rooms end a few at a time, so a fresh episode is drawn for a slice of them, not for all at every step.
        self._slice = max(1, count // 32)

    @property
    def most_parts(self) -> int:
        """The most parts that the rooms can be cut into so that all are alike."""
        return self.count

    def part(self, parts: int) -> Rooms:
        """One of so many equal parts of the rooms."""
        return Rooms(self.env, self.count // parts)

    def dealt(self, parts: int) -> Int[np.ndarray, " rooms"]:
        """Numbers of the rooms in the order of so many equal parts: those of the first part, of the second, …"""
        return np.arange(self.count)

    def reset(self, key: Array, part: Int[Array, ""] | int = 0, parts: int = 1) -> tuple[Episode, TimeStep]:
        """A fresh episode in every room; these may be one of so many equal parts, each room with a key of its own."""
        states = self.start(key, part, parts)
        return states, jax.vmap(self.env.timestep)(states)

    def step(self, states: Episode, actions: Int[Array, " rooms"]) -> tuple[Episode, TimeStep]:
        """One action in every room; rooms whose episode had ended begin the next one instead."""
        states = self.advance(states, actions)
        return states, jax.vmap(self.env.timestep)(states)

    def start(self, key: Array, part: Int[Array, ""] | int = 0, parts: int = 1) -> Episode:
        """`reset` without the pictures."""
        keys = jax.random.split(jax.random.wrap_key_data(key_data(key)), self.count * parts)
        return jax.vmap(self.env.start)(jax.lax.dynamic_slice_in_dim(keys, part * self.count, self.count))

    def advance(self, states: Episode, actions: Int[Array, " rooms"]) -> Episode:
        """`step` without the pictures."""
        ended = states.outcome != RUNNING
        return self.restart(jax.vmap(self.env.advance)(states, actions), ended)

    def map(self, function: Callable[..., Any], states: Any, *values: Any) -> Any:
        """`function(level, state, *values)` of each room, values with a leading axis over rooms."""
        return jax.vmap(partial(function, self.env.level))(states, *values)

    def pictures(self, states: Episode) -> UInt8[Array, "rooms height width 3"]:
        """Every room's view."""
        return jax.vmap(self.env.picture)(states)

    def restart(self, states: Episode, ended: Bool[Array, " rooms"]) -> Episode:
        """Begin the next episode in the rooms that ended, a slice of them at a time."""

        def some(carry: tuple[Episode, Bool[Array, " rooms"]]) -> tuple[Episode, Bool[Array, " rooms"]]:
            states, ended = carry
            index = jnp.nonzero(ended, size=self._slice, fill_value=self.count)[0]
            keys = states.key.at[index].get(mode="clip")
            fresh = jax.vmap(self.env.start)(keys)
            put = jax.tree.map(lambda old, new: old.at[index].set(new, mode="drop"), states, fresh)
            return put, ended.at[index].set(False, mode="drop")

        return jax.lax.while_loop(lambda carry: carry[1].any(), some, (states, ended))[0]


def key_data(key: Any) -> Array:
    """The two numbers of a JAX random key, new style or old."""
    if isinstance(key, jax.Array) and jnp.issubdtype(key.dtype, jax.dtypes.prng_key) and key.shape == ():
        return jax.random.key_data(key)
    if isinstance(key, jax.Array | np.ndarray) and key.dtype == jnp.uint32 and key.shape == (2,):
        return jnp.asarray(key)
    kind = f"an array of {key.dtype} and shape {key.shape}" if hasattr(key, "dtype") else f"a {type(key).__name__}"
    raise DaxlabError(f"the key is {kind}; make one with jax.random.key(seed)")


def check_action(action: Any, count: int) -> None:
    """Refuse an action that is no index of the level's; a traced one cannot be looked at."""
    if isinstance(action, jax.core.Tracer):
        return
    value = np.asarray(action)
    if not np.issubdtype(value.dtype, np.integer):
        raise DaxlabError(f"the action is of type {value.dtype}; a whole number in 0…{count - 1} is needed")
    if value.size and (value.min() < 0 or value.max() >= count):
        raise DaxlabError(f"the action is {action}; this level has actions 0…{count - 1}")
