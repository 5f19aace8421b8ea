"""Putting an object on, in or near a piece of furniture: what is asked, and when it is done.

Only the object that the hand held last counts, and only once it is let go and lies still: what was pushed somewhere,
or stood there from the start, was not put there.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Int

from daxlab.assets.furniture import FURNITURE
from daxlab.levels.layout import Layout, furniture_names, plans
from daxlab.levels.spec import Level
from daxlab.levels.vocabulary import encode
from daxlab.world.state import Props, World

STILL = 0.1
"""Slower than this an object lies still, metres a second."""
OFF_FLOOR = 0.01
"""An object that is on something has its lowest point this far above the floor, metres."""
BELOW_RIM = 0.05
"""An object that is in something has its lowest point this far below its highest, metres."""
NAME_AT = 2
"""Where the object's name stands in "put a dax on a bed"."""


class Putting(NamedTuple):
    """What an episode of putting remembers besides."""

    goal: Int[Array, ""]
    """Which of the level's goals is asked for."""
    handled: Int[Array, ""]
    """Slot of the object that was held last in the instruction phase; -1 before."""


@cache
def sentences(level: Level) -> Int[np.ndarray, "g length"]:
    """The instruction of each goal, without the object's name."""
    texts = np.stack([encode(f"put a dax {relation} a {furniture}") for relation, furniture in level.goals])
    texts[:, NAME_AT] = 0
    return texts


def pieces(level: Level) -> Int[np.ndarray, " g"]:
    """Which piece of furniture each goal names."""
    return np.array([furniture_names(level).index(furniture) for _, furniture in level.goals])


def stands(level: Level, layout: Layout, props: Props, world: World, slot: Int[Array, ""]) -> Bool[Array, " g"]:
    """Whether an object is where each goal wants it, at rest or not."""
    x, y, z = (_pick(world.position[:, axis], slot) for axis in range(3))
    bottom = z - _pick(props.half_height, slot)
    plan = plans(level, layout)[pieces(level)]
    beyond = jnp.maximum(jnp.maximum(plan[:, 0] - jnp.stack([x, y]), jnp.stack([x, y]) - plan[:, 1]), 0.0)
    beside = jnp.sqrt(jnp.sum(beyond**2, -1))
    over = beside == 0.0
    near = ~over & (beside - _pick(props.radius, slot) <= level.near)
    inside = over & (bottom < jnp.asarray(_heights(level)) - BELOW_RIM)
    relation = np.array([relation for relation, _ in level.goals])
    return jnp.select([relation == "on", relation == "in"], [over & (bottom > OFF_FLOOR), inside], near)


def still(world: World, slot: Int[Array, ""]) -> Bool[Array, ""]:
    """Whether an object lies still."""
    vx, vy, vz = (_pick(world.velocity[:, axis], slot) for axis in range(3))
    return vx**2 + vy**2 + vz**2 < STILL**2


def _heights(level: Level) -> Float[np.ndarray, " g"]:
    return np.array([2 * FURNITURE[furniture]().mesh.half_height for _, furniture in level.goals], np.float32)


def _pick(values: Array, index: Int[Array, ""]) -> Array:
    """One value of a short list without a gather; zero for index -1."""
    return jnp.where(jnp.arange(values.shape[0]) == index, values, 0).sum()
