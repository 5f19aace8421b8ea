"""Worlds for tests: levels with much furniture and many bodies, and long random play in them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from daxlab.levels.layout import build, draw
from daxlab.levels.spec import Level
from daxlab.world import contacts, physics
from daxlab.world.control import action_table
from daxlab.world.state import Props, World

BARE = Level(name="test/bare", num_objects=3)
FURNISHED = Level(name="test/furnished", num_objects=5, furniture=("bed", "box", "tray"), gap=0.2)
DESK = Level(name="test/desk", num_objects=3, setting="desk")


class Worst(NamedTuple):
    """The worst violation of each law over a run: all should be near zero."""

    not_finite: Array
    outside_room: Array
    inside_furniture: Array
    agent_inside_furniture: Array
    bodies_overlap: Array


def begin(level: Level, key: Array) -> tuple[Props, World]:
    """A world at the start of a phase, with random objects."""
    k_mesh, k_layout = jax.random.split(key)
    mesh = jax.random.randint(k_mesh, (level.num_objects,), 0, 40)
    return build(level, draw(level, k_layout, mesh))


def violations(level: Level, props: Props, world: World) -> Worst:
    """How far each law is broken now (metres, or a flag)."""
    c = physics._cylinders(level.physics, props, world)
    n = level.num_objects
    outside = jnp.stack(
        [
            jnp.abs(c.x) + c.radius - props.room[0],
            jnp.abs(c.y) + c.radius - props.room[1],
            c.half - c.z,
            c.z + c.half - props.room[2],
        ]
    ).max()
    here = jnp.ones(n + 1, bool)
    in_box = -contacts.against(c, props.solids, here).gap if props.solids.shape[0] else jnp.zeros((n + 1, 1))
    pairs = -contacts.between(c, here[:, None]).gap
    pairs = jnp.where(np.tri(n + 1, k=-1, dtype=bool)[:, :] & (np.arange(n + 1) < n)[:, None], pairs, 0.0)
    finite = jax.tree.reduce(lambda a, b: a & jnp.isfinite(b).all(), (world.position, world.velocity, world), True)
    return Worst(
        not_finite=1.0 - finite,
        outside_room=jnp.maximum(outside, 0.0),
        inside_furniture=jnp.maximum(in_box[:n].max(), 0.0),
        agent_inside_furniture=jnp.maximum(in_box[n].max(), 0.0),
        bodies_overlap=jnp.maximum(pairs.max(), 0.0),
    )


def sticky_actions(key: Array, rooms: int, steps: int) -> Array:
    """Random actions, each kept for a while, so that play reaches walls, corners and pile-ups."""
    k_action, k_keep = jax.random.split(key)
    fresh = jax.random.randint(k_action, (steps, rooms), 0, 46)
    change = jax.random.uniform(k_keep, (steps, rooms)) < 0.3

    def pick(last: Array, new: tuple[Array, Array]) -> tuple[Array, Array]:
        action = jnp.where(new[1], new[0], last)
        return action, action

    return jax.lax.scan(pick, fresh[0], (fresh, change))[1]


@cache
def _player(level: Level, rooms: int, steps: int) -> Callable[[Array], tuple[Props, World, Worst]]:
    table = jnp.asarray(action_table())

    @jax.jit
    def run(key: Array) -> tuple[Props, World, Worst]:
        k_begin, k_actions = jax.random.split(key)
        props, worlds = jax.vmap(lambda key: begin(level, key))(jax.random.split(k_begin, rooms))

        def one(carry: tuple[World, Worst], action: Array) -> tuple[tuple[World, Worst], None]:
            worlds, worst = carry
            worlds = jax.vmap(lambda p, w, a: physics.step(level.physics, p, w, table[a]))(props, worlds, action)
            now = jax.vmap(lambda p, w: violations(level, p, w))(props, worlds)
            return (worlds, jax.tree.map(jnp.maximum, worst, now)), None

        worst = Worst(*(jnp.zeros(rooms) for _ in Worst._fields))
        (worlds, worst), _ = jax.lax.scan(one, (worlds, worst), sticky_actions(k_actions, rooms, steps))
        return props, worlds, worst

    return run


def random_play(level: Level, seed: int, rooms: int, steps: int) -> tuple[Props, World, Worst]:
    """Play at random in many rooms; the final worlds and the worst violations along the way."""
    return _player(level, rooms, steps)(jax.random.key(seed))
