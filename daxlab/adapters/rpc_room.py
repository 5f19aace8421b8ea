"""A room behind the wire: one compiled program for all worlds of a level, whatever their picture and their length.

The program gives the scene, not the picture: the Numba renderer draws that from it, at any size and only when it is
asked for. The time limit is kept here, too. So a second client of a level never waits for the compiler.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int, UInt8, UInt32

from daxlab.levels import episode
from daxlab.levels.cast import things
from daxlab.levels.env import Env
from daxlab.levels.episode import RUNNING, Episode
from daxlab.levels.spec import Level
from daxlab.levels.vocabulary import decode
from daxlab.render import setup
from daxlab.render.cpu import draw_scene
from daxlab.render.scene import Scene
from daxlab.world.control import CONTROLS
from daxlab.world.sight import aimed

Parcels = tuple[Any, ...]
"""Long arrays, one a type: see `Parcel`."""
ENDLESS = 2**30
"""Steps of an episode to the program; the room itself keeps the time."""
CROSS, CROSS_IN_REACH = (150, 150, 150), (70, 255, 70)
"""Colours of the cross-hair."""


class View(NamedTuple):
    """What the program tells of a state."""

    scene: Scene
    text: Int[Any, " length"]
    reward: Float[Any, ""]
    outcome: Int[Any, ""]
    clock: Int[Any, ""]
    reachable: Int[Any, ""]
    """1 if the hand holds an object or would grip one."""


class Parcel:
    """Trees of many small arrays as one long array a type: to hand over fifty would take longer than the step."""

    def __init__(self, example: Any) -> None:
        """For trees like this one."""
        leaves, self._tree = jax.tree.flatten(example)
        self._shapes = [leaf.shape for leaf in leaves]
        self._kinds = sorted({leaf.dtype for leaf in leaves}, key=str)
        self._kind_of = [self._kinds.index(leaf.dtype) for leaf in leaves]
        ends = [0] * len(self._kinds)
        self._slices = []
        for shape, kind in zip(self._shapes, self._kind_of, strict=True):
            begin, ends[kind] = ends[kind], ends[kind] + math.prod(shape)
            self._slices.append(slice(begin, ends[kind]))

    def pack(self, tree: Any) -> Parcels:
        """One long array a type."""
        leaves = jax.tree.leaves(tree)
        groups: list[list[Array]] = [[] for _ in self._kinds]
        for leaf, kind in zip(leaves, self._kind_of, strict=True):
            groups[kind].append(jnp.ravel(leaf).astype(self._kinds[kind]))
        return tuple(jnp.concatenate(group) for group in groups)

    def unpack(self, parcels: Sequence[Any]) -> Any:
        """The tree, of whatever arrays these are."""
        places = zip(self._shapes, self._kind_of, self._slices, strict=True)
        return jax.tree.unflatten(self._tree, [parcels[kind][cut].reshape(shape) for shape, kind, cut in places])


class Program:
    """A level's start and step, compiled, and what its pictures are drawn with."""

    def __init__(self, level: Level) -> None:
        env = Env(level)

        def view(state: Episode) -> View:
            grips = aimed(level.physics, state.props, state.world, level.physics.reach) >= 0
            reachable = ((state.world.held >= 0) | grips).astype(jnp.int32)
            told = (episode.text(level, state), state.reward, state.outcome, state.clock, reachable)
            return View(env.scene(state), *told)

        def packed(state: Episode) -> tuple[Parcels, Parcels]:
            return self.states.pack(state), self.views.pack(view(state))

        def start(key: UInt32[Array, " 2"]) -> tuple[Parcels, Parcels]:
            return packed(env.start(jnp.asarray(key)))

        def step(state: Parcels, controls: Float[Array, " 9"]) -> tuple[Parcels, Parcels]:
            return packed(episode.advance(level, self.states.unpack(state), controls))

        example = jax.eval_shape(env.start, jax.ShapeDtypeStruct((2,), jnp.uint32))
        self.states, self.views = Parcel(example), Parcel(jax.eval_shape(view, example))
        self.start, self.step = jax.jit(start), jax.jit(step)
        self.key = jax.jit(lambda state: self.states.unpack(state).key)
        """Of the next episode."""
        self.table = setup.table(things(level))

    def warm_up(self) -> None:
        """Compile everything, so that no client waits later."""
        room = Room(self, first_key(0, 0), 8, 6, 1)
        room.begin()
        room.step({})
        room.picture()


def alike(level: Level) -> Level:
    """The level less what its program does not depend on; equal for levels that share one."""
    return replace(level, name="serve/any", episode_steps=ENDLESS, picture=(96, 72))


@functools.cache
def program(level: Level) -> Program:
    """The program of an `alike` level, made and compiled on its first use."""
    made = Program(level)
    made.warm_up()
    return made


def first_key(seed: int, episode_id: int) -> UInt32[np.ndarray, " 2"]:
    """The key of a world's first episode: any two whole numbers of 64 bits.

    With episode 0, a seed of 32 bits gives the episodes that the other adapters have for it.
    """
    if episode_id == 0 and 0 <= seed < 2**32:
        return np.array([0, seed], np.uint32)
    # Four words whatever the numbers: SeedSequence itself would take 2³² and 0 for 0 and 1.
    words = [number >> shift & 0xFFFFFFFF for number in (seed, episode_id) for shift in (0, 32)]
    return np.random.SeedSequence(words).generate_state(2, np.uint32)


class Room:
    """Episode after episode of one room, as its one client plays them."""

    def __init__(self, made: Program, key: Any, width: int, height: int, limit: int, cross: bool = False) -> None:
        """``limit`` is the longest episode in steps; ``cross`` puts a cross-hair into the pictures."""
        self.next_key = key
        """Of the episode that begins next."""
        self.running = False
        """An episode is being played. If not, the next request for a step begins one."""
        self.ended_for_good = False
        """The last episode ended with an answer, and not because its time ran out."""
        self.size = (width, height)
        self.limit = limit
        self.cross = cross
        self._program = made
        self._controls = np.zeros(len(CONTROLS), np.float32)
        self.state: Parcels = ()
        """All there is to know, packed; the wire gives none of it away."""
        self._view: View | None = None

    @property
    def text(self) -> str:
        """The text channel."""
        return decode(self._seen().text)

    @property
    def reward(self) -> float:
        """Of the last step; 0 at an episode's begin."""
        return float(self._seen().reward)

    def begin(self) -> None:
        """Begin the next episode, with all controls at rest."""
        self._take(self._program.start(self.next_key))
        self.next_key = self._program.key(self.state)
        self._controls = np.zeros(len(CONTROLS), np.float32)
        self.running = True

    def step(self, changes: Mapping[int, float]) -> None:
        """One step with the controls as they were, but for the changes (by place in `CONTROLS`)."""
        # A new array: the compiled step may still read the last one.
        self._controls = self._controls.copy()
        for place, value in changes.items():
            self._controls[place] = value
        seen = self._take(self._program.step(self.state, self._controls))
        self.ended_for_good = int(seen.outcome) != RUNNING
        self.running = not self.ended_for_good and int(seen.clock) < self.limit

    def interrupt(self) -> None:
        """End the episode here, if one is running; what is seen stays, but earns nothing."""
        if self.running:
            self._view = self._seen()._replace(reward=np.zeros(()))
        self.running = self.ended_for_good = False

    def picture(self) -> UInt8[np.ndarray, "height width 3"]:
        """What the agent sees."""
        seen = self._seen()
        rgb = draw_scene(seen.scene, self._program.table, *self.size)
        if self.cross:
            draw_cross(rgb, bool(seen.reachable))
        return rgb

    def _take(self, told: tuple[Parcels, Parcels]) -> View:
        self.state, view = told
        self._view = seen = self._program.views.unpack([np.asarray(part) for part in view])
        return seen

    def _seen(self) -> View:
        if self._view is None:
            raise RuntimeError("no episode has begun")
        return self._view


def draw_cross(rgb: UInt8[np.ndarray, "height width 3"], reachable: bool) -> None:
    """A small cross in the middle of a picture, lit if something is within reach."""
    height, width = rgb.shape[:2]
    arm = max(1, height // 36)
    colour = CROSS_IN_REACH if reachable else CROSS
    rgb[height // 2, max(0, width // 2 - arm) : width // 2 + arm + 1] = colour
    rgb[max(0, height // 2 - arm) : height // 2 + arm + 1, width // 2] = colour
