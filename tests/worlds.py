"""Worlds for tests: every level's own in one batch, so that one compiled step plays them all."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import cache, cached_property, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from daxlab.compilation import BRIEF
from daxlab.levels import corridor
from daxlab.levels.cast import dress, sample
from daxlab.levels.layout import build, draw
from daxlab.levels.registry import get
from daxlab.levels.spec import Level
from daxlab.world import contacts, physics, rotation
from daxlab.world.control import action_table
from daxlab.world.sight import eye
from daxlab.world.state import Physics, Props, World

BARE = Level(name="test/bare", num_objects=3)
FURNISHED = Level(name="test/furnished", num_objects=5, furniture=("bed", "box", "tray"), gap=0.2)
DESK = get("desk/fast_map_three_objs")


class Worst(NamedTuple):
    """The worst violation of each law over a run: all should be near zero."""

    not_finite: Array
    outside_room: Array
    inside_furniture: Array
    agent_inside_furniture: Array
    bodies_overlap: Array
    held: Array
    """No law: whether anything was."""


def begin(level: Level, key: Array) -> tuple[Props, World]:
    """A world at the start of a phase, with random objects."""
    k_mesh, k_layout = jax.random.split(key)
    mesh = jax.random.randint(k_mesh, (level.num_objects,), 0, 40)
    return build(level, draw(level, k_layout, mesh))


# --- all levels at once ------------------------------------------------------------------------------------------


class Every:
    """Many levels in one batch, with so many rooms each, every second one in the level's last phase.

    What differs between their worlds is data here (absent bodies, and boxes far below the floor, make the arrays
    equally long), and `step` is the world's own: it is compiled once for all.
    """

    def __init__(self, levels: Sequence[Level], rooms: int) -> None:
        self.levels, self.rooms = tuple(levels), rooms
        self.level_of = np.repeat(np.arange(len(self.levels)), rooms)
        tables = [action_table(level.actions) for level in self.levels]
        self._counts = np.array([len(table) for table in tables])[self.level_of]
        most = max(map(len, tables))
        self._controls = jnp.asarray(np.stack([np.resize(table, (most, 9)) for table in tables]))[self.level_of]
        every = [level.physics for level in self.levels]
        names = [f.name for f in dataclasses.fields(Physics) if len({getattr(p, f.name) for p in every}) > 1]
        self._strengths = {name: jnp.array([getattr(every[at], name) for at in self.level_of]) for name in names}
        self._collects = jnp.array([self.levels[at].setting == "corridor" for at in self.level_of])
        self._step = self._compiled(step)
        self._violations = self._compiled(violations)
        self._hand = self._compiled(reached)

    def _compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function of physics, one room and more, for all rooms."""

        def one(strengths: dict[str, Array], *room: Any) -> Any:
            return function(dataclasses.replace(self.levels[0].physics, **strengths), *room)

        # These run for longer than they compile.
        return jax.jit(jax.vmap(one), compiler_options=BRIEF)

    @cached_property
    def begun(self) -> list[tuple[Props, World]]:
        """The rooms of each level at the start of a phase."""
        keys = jax.random.split(jax.random.key(11), len(self.levels))
        return [begin_many(level, key, self.rooms) for level, key in zip(self.levels, keys, strict=True)]

    @cached_property
    def start(self) -> tuple[Props, World]:
        """All rooms, in one batch."""
        slots = max(props.radius.shape[1] for props, _ in self.begun)
        boxes = max(props.solids.shape[1] for props, _ in self.begun)
        padded = [(_pad_props(props, slots, boxes), _pad_world(world, slots)) for props, world in self.begun]
        return jax.tree.map(lambda *each: jnp.concatenate(each), *padded)

    def step(self, props: Props, world: World, control: Array) -> tuple[Props, World]:
        """One step; a control for each room, or one for all."""
        control = jnp.broadcast_to(control, (len(self.level_of), 9))
        return self._step(self._strengths, self._collects, props, world, control)

    def wait(self, props: Props, world: World, steps: int, action: str = "NOOP") -> tuple[Props, World]:
        """Everybody does the same all the time."""
        for _ in range(steps):
            props, world = self.step(props, world, jnp.asarray(action_table((action,))[0]))
        return props, world

    def play(self, key: Array, steps: int) -> tuple[Props, World, Worst]:
        """Random actions, each kept for a while, so that play reaches walls, corners and pile-ups."""
        props, world = self.start
        worst = Worst(*(jnp.zeros(len(self.level_of)) for _ in Worst._fields))
        fresh = jax.random.randint(key, (steps, len(self.level_of)), 0, self._counts)
        change = np.asarray(jax.random.uniform(jax.random.fold_in(key, 1), fresh.shape) < 0.3)
        actions = np.array(fresh)
        for t in range(1, steps):
            actions[t] = np.where(change[t], actions[t], actions[t - 1])
        for t in range(steps):
            props, world = self.step(props, world, self._controls[np.arange(len(self.level_of)), actions[t]])
            worst = jax.tree.map(jnp.maximum, worst, self._violations(self._strengths, props, world))
        return props, world, worst

    def hand(self, world: World) -> Array:
        """Where the hand is in every room."""
        return self._hand(self._strengths, world)


def step(strengths: Physics, collects: Array, props: Props, world: World, control: Array) -> tuple[Props, World]:
    """The world's step; in a corridor, what the agent walks into is gone."""
    world = physics.step(strengths, props, world, control)
    taken = (jnp.arange(len(props.radius)) == corridor.touched(strengths, props, world)) & collects
    return props._replace(present=props.present & ~taken), world


def begin_many(level: Level, key: Array, rooms: int) -> tuple[Props, World]:
    """Rooms of a level, the second, fourth … as its last phase begins."""
    k_object, k_dress, k_first, k_last, k_target = jax.random.split(key, 5)
    chosen = jax.vmap(lambda k: sample(k, len(level.objects), level.num_objects))(jax.random.split(k_object, rooms))
    mesh = jax.vmap(partial(dress, level))(jax.random.split(k_dress, rooms), chosen)
    target = jax.random.randint(k_target, (rooms,), 0, level.num_objects)
    first, last = _phases(drawn_alike(level))
    one, other = (
        first(jax.random.split(k_first, rooms), mesh[0]),
        last(jax.random.split(k_last, rooms), mesh[1], target),
    )
    odd = np.arange(rooms) % 2 == 1
    return jax.tree.map(lambda a, b: jnp.where(odd.reshape(-1, *[1] * (a.ndim - 1)), b, a), one, other)


def drawn_alike(level: Level) -> Level:
    """One of the levels whose rooms are drawn by the same program, with these objects given: names, rewards, actions,
    phases and times do not enter."""
    plain = Level(name="test/plain")
    own = ("num_objects", "choices", "furniture", "setting", "room", "gap", "physics", "exemplars")
    own += ("objects",) if level.exemplars else ()
    return dataclasses.replace(plain, **{name: getattr(level, name) for name in own})


@cache
def _phases(level: Level) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """How the first and the last phase begin: compiled once for all levels that are drawn alike."""

    def first(key: Array, mesh: Array) -> tuple[Props, World]:
        return build(level, corridor.draw_corridor(level, key, mesh) if level.choices else draw(level, key, mesh))

    if not level.choices:
        begin_ = jax.jit(jax.vmap(first))
        return begin_, lambda keys, mesh, target: begin_(keys, mesh)
    last = jax.vmap(lambda key, mesh, target: build(level, corridor.draw_room(level, key, mesh, target)))
    return jax.jit(jax.vmap(first)), jax.jit(last)


def _pad_props(props: Props, slots: int, boxes: int) -> Props:
    more, below = slots - props.radius.shape[1], boxes - props.solids.shape[1]
    bodies = partial(jnp.pad, pad_width=((0, 0), (0, more)))
    rooms = len(props.radius)
    far = jnp.broadcast_to(jnp.array([[0.0, 0.0, -20.0], [1.0, 1.0, -19.0]]), (rooms, below, 2, 3))
    return props._replace(
        radius=bodies(props.radius, constant_values=0.2),
        half_height=bodies(props.half_height, constant_values=0.2),
        present=bodies(props.present),
        solids=jnp.concatenate([props.solids, far], 1),
    )


def _pad_world(world: World, slots: int) -> World:
    more = ((0, 0), (0, slots - world.position.shape[1]), (0, 0))
    upright = jnp.pad(world.attitude, more).at[:, world.position.shape[1] :, 0].set(1.0)
    return world._replace(
        position=jnp.pad(world.position, more, constant_values=0.2),
        velocity=jnp.pad(world.velocity, more),
        attitude=upright,
    )


def violations(strengths: Physics, props: Props, world: World) -> Worst:
    """How far each law is broken now (metres, or a flag)."""
    c = physics._cylinders(strengths, props, world)
    n = len(props.radius)
    here = jnp.append(props.present, True)
    outside = jnp.stack(
        [
            jnp.abs(c.x) + c.radius - props.room[0],
            jnp.abs(c.y) + c.radius - props.room[1],
            c.half - c.z,
            c.z + c.half - props.room[2],
        ]
    )
    in_box = jnp.where(here[:, None], -contacts.against(c, props.solids, here).gap, 0.0)
    pairs = -contacts.between(c, here[:, None]).gap
    apart = np.tri(n + 1, k=-1, dtype=bool) & (np.arange(n + 1) < n)[:, None] & here[:, None] & here[None, :]
    finite = jax.tree.reduce(lambda a, b: a & jnp.isfinite(b).all(), world, True)
    return Worst(
        not_finite=1.0 - finite,
        outside_room=jnp.maximum(jnp.where(here, outside, 0.0).max(), 0.0),
        inside_furniture=in_box[:n].max(initial=0.0),
        agent_inside_furniture=in_box[n].max(initial=0.0),
        bodies_overlap=jnp.maximum(jnp.where(apart, pairs, 0.0).max(), 0.0),
        held=1.0 * (world.held >= 0),
    )


def reached(strengths: Physics, world: World) -> Array:
    """Where the hand is: so far along the middle of the view."""
    return eye(strengths, world) + world.distance * rotation.view(world.heading, world.pitch)[2]
