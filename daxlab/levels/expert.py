"""Scripted actors that see the state and act through the level's own actions.

The expert solves the level, which shows that it can be solved and what an episode costs; the random-object actor does
the same with an object drawn at random, which shows what chance is.
"""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int

from daxlab.errors import unknown
from daxlab.levels.episode import DISCOVERY, Episode
from daxlab.levels.layout import desk_top
from daxlab.levels.spec import Level
from daxlab.world.control import CONTROLS, action_table
from daxlab.world.sight import aimed, eye

Actor = Callable[[Level, Episode], Int[Array, ""]]

STAND_OFF = 1.25
"""How near the expert goes to an object to lift it, metres along the floor."""
GOOD_LOOK = 0.8
"""How near it goes to an object whose name it hears, for a view worth remembering."""
STRAIGHT = 0.12
"""It walks while its course is within this angle of the object, radians."""


def expert(level: Level, episode: Episode) -> Int[Array, ""]:
    """Visit every object, then lift the one that is asked for."""
    return _act(level, episode, episode.target)


def random_object(level: Level, episode: Episode) -> Int[Array, ""]:
    """Visit every object, then lift one that is drawn at random, the same one throughout the episode."""
    return _act(level, episode, (episode.key[0] % level.num_objects).astype(jnp.int32))


ACTORS: dict[str, Actor] = {"expert": expert, "random-object": random_object}


def actor(name: str) -> Actor:
    """The scripted actor of that name."""
    if name not in ACTORS:
        raise unknown("actor", name, ACTORS)
    return ACTORS[name]


def _act(level: Level, episode: Episode, goal: Int[Array, ""]) -> Int[Array, ""]:
    world = episode.world
    discovering = episode.phase == DISCOVERY
    offset = world.position - eye(level.physics, world)
    flat = jnp.sqrt(offset[:, 0] ** 2 + offset[:, 1] ** 2)
    # While discovering: the object in view until it was seen from near, then the nearest one without a name.
    unnamed = jnp.argmin(jnp.where(episode.visited, jnp.inf, flat)).astype(jnp.int32)
    seen = jnp.maximum(episode.fixated, 0)
    stays = (episode.fixated >= 0) & _can_walk(level) & (flat[seen] > GOOD_LOOK)
    goal = jnp.where(discovering, jnp.where(stays | episode.visited.all(), seen, unnamed), goal)
    stand_off = jnp.where(discovering, GOOD_LOOK, STAND_OFF)
    approach = _approach(level, episode, offset[goal], flat[goal] - stand_off, goal)
    lift = _lift(level, episode, goal)
    in_reach = aimed(level.physics, episode.props, world, level.physics.reach) == goal
    grips = in_reach | (world.held == goal)
    return jnp.where(~discovering & grips, lift, approach)


def _lift(level: Level, episode: Episode, goal: Int[Array, ""]) -> Int[Array, ""]:
    """Grip, look up until the object is high enough, hold it there."""
    bottom = episode.world.position[goal, 2] - episode.props.half_height[goal]
    high = bottom > desk_top(level) + level.lift_height + 0.03
    raising = (episode.world.held == goal) & ~high
    return jnp.where(raising, level.actions.index("GRAB + LOOK_DOWN(-1)"), level.actions.index("GRAB"))


def _approach(
    level: Level, episode: Episode, offset: Float[Array, " 3"], to_go: Float[Array, ""], goal: Int[Array, ""]
) -> Int[Array, ""]:
    """Turn to the object, walk what there is to go, look down at it."""
    physics, world = level.physics, episode.world
    bearing = _wrap(jnp.arctan2(offset[0], offset[1]) - world.heading)
    elevation = jnp.arctan2(offset[2], jnp.hypot(offset[0], offset[1])) - world.pitch
    turn, off_course = _best(level, "LOOK_RIGHT", bearing, world.turning[0], physics.turn_gain)
    tilt, _ = _best(level, "LOOK_DOWN", elevation, world.turning[1], -physics.tilt_gain)
    action = jnp.where(tilt == level.actions.index("NOOP"), turn, tilt)
    if _can_walk(level):
        seen = aimed(physics, episode.props, world, physics.reach)
        # Near enough, but another object stands in the line of sight: step aside.
        blocked = (seen >= 0) & (seen != goal)
        action = jnp.where(blocked, level.actions.index("MOVE_RIGHT(1)"), action)
        action = jnp.where(to_go > 0, level.actions.index("MOVE_FORWARD(1)"), action)
    # Where turns are coarse, the best may be none: then what else there is to do comes first.
    return jnp.where((off_course > STRAIGHT) & (turn != level.actions.index("NOOP")), turn, action)


def _can_walk(level: Level) -> bool:
    return "MOVE_FORWARD(1)" in level.actions


def _best(
    level: Level, control: str, error: Float[Array, ""], rate: Float[Array, ""], gain: float
) -> tuple[Int[Array, ""], Float[Array, ""]]:
    """The action whose push, once its momentum has died away, leaves the smallest error; and the error without it."""
    keep = level.physics.keep
    index, strength = _strengths(level, control)
    left = jnp.abs(error - (keep * rate + gain * jnp.asarray(strength)) / (1 - keep))
    return jnp.asarray(index)[jnp.argmin(left)], jnp.abs(error - keep * rate / (1 - keep))


def _strengths(level: Level, control: str) -> tuple[Int[np.ndarray, " s"], Float[np.ndarray, " s"]]:
    """Actions that use this control alone (NOOP first), and their strengths."""
    table = action_table(level.actions)
    others = np.delete(table, CONTROLS.index(control), axis=1)
    index = np.flatnonzero((others == 0).all(1))
    strength = table[index, CONTROLS.index(control)]
    order = np.argsort(np.abs(strength), kind="stable")
    return index[order].astype(np.int32), strength[order]


def _wrap(angle: Float[Array, ""]) -> Float[Array, ""]:
    return jnp.remainder(angle + jnp.pi, 2 * jnp.pi) - jnp.pi
