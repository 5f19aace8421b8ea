"""Scripted actors that see the state and act through the level's own actions.

The expert solves the level, which shows that it can be solved and what an episode costs; the random-object actor does
the same with an object drawn at random, which shows what chance is.
"""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int

from daxlab.errors import unknown
from daxlab.levels.carry import carry, turn_over, waits
from daxlab.levels.corridor import upcoming, walk
from daxlab.levels.episode import Episode
from daxlab.levels.layout import desk_top, furniture_names, plans
from daxlab.levels.route import waypoint
from daxlab.levels.spec import DISCOVERY, Level
from daxlab.levels.steer import best, wrap
from daxlab.world.sight import aimed, eye

Actor = Callable[[Level, Episode], Int[Array, ""]]

STAND_OFF = 1.25
"""How near the expert goes to an object to lift it, metres along the floor."""
GOOD_LOOK = 0.8
"""How near it goes to an object whose name it hears, for a view worth remembering."""
STRAIGHT = 0.12
"""It walks while its course is within this angle of the object, radians."""


def expert(level: Level, episode: Episode) -> Int[Array, ""]:
    """Visit every object, then lift (or put) the one that is asked for."""
    return act(level, episode, episode.target)


def random_object(level: Level, episode: Episode) -> Int[Array, ""]:
    """Visit every object, then do what is asked with one drawn at random, the same throughout the episode."""
    return act(level, episode, any_slot(level, episode))


def any_slot(level: Level, episode: Episode) -> Int[Array, ""]:
    """An object at random, the same throughout the episode."""
    place = (episode.key[0] % level.num_choices).astype(jnp.int32)
    if episode.next_layout.present is None:
        return place
    # Of a corridor, one of those in the room at its end.
    return jnp.argmax(jnp.cumsum(episode.next_layout.present) > place).astype(jnp.int32)


ACTORS: dict[str, Actor] = {"expert": expert, "random-object": random_object}


def actor(name: str) -> Actor:
    """The scripted actor of that name."""
    if name not in ACTORS:
        raise unknown("actor", name, ACTORS)
    return ACTORS[name]


def act(level: Level, episode: Episode, goal: Int[Array, ""]) -> Int[Array, ""]:
    """Visit every object, then do what is asked with the one in slot `goal`."""
    world = episode.world
    discovering = episode.phase == DISCOVERY
    if level.setting == "corridor":
        return _walk_into(level, episode, jnp.where(discovering, upcoming(episode.props), goal))
    offset = world.position - eye(level.physics, world)
    flat = jnp.sqrt(offset[:, 0] ** 2 + offset[:, 1] ** 2)
    # While discovering: the object in view until it was seen from near, then the nearest one without a name.
    unnamed = jnp.argmin(jnp.where(episode.visited, jnp.inf, flat)).astype(jnp.int32)
    seen = jnp.maximum(episode.fixated, 0)
    stays = (episode.fixated >= 0) & _can_walk(level) & (flat[seen] > GOOD_LOOK)
    goal = jnp.where(discovering, jnp.where(stays | episode.visited.all(), seen, unnamed), goal)
    stand_off = jnp.where(discovering, GOOD_LOOK, STAND_OFF)
    ahead, to_go = offset[goal], flat[goal] - stand_off
    if level.furniture and _can_walk(level):
        nowhere = jnp.zeros(len(furniture_names(level)), bool)
        way = waypoint(world.agent, world.position[goal, :2], plans(level, episode.layout), episode.props.room, nowhere)
        detour = (way != world.position[goal, :2]).any()
        ahead = jnp.append(way - world.agent, ahead[2])
        to_go = jnp.where(detour, 1.0, to_go)
    approach = _approach(level, episode, ahead, to_go, goal)
    lift = _put(level, episode, goal) if level.goals else _lift(level, episode, goal)
    in_reach = aimed(level.physics, episode.props, world, level.physics.reach) == goal
    grips = in_reach | (world.held == goal)
    action = jnp.where(~discovering & grips, lift, approach)
    if level.goals:
        action = jnp.where(~discovering & waits(level, episode, goal), level.actions.index("NOOP"), action)
    return action


def _lift(level: Level, episode: Episode, goal: Int[Array, ""]) -> Int[Array, ""]:
    """Grip, look up until the object is high enough, hold it there."""
    bottom = episode.world.position[goal, 2] - episode.props.half_height[goal]
    high = bottom > desk_top(level) + level.lift_height + 0.03
    raising = (episode.world.held == goal) & ~high
    return jnp.where(raising, level.actions.index("GRAB + LOOK_DOWN(-1)"), level.actions.index("GRAB"))


def _put(level: Level, episode: Episode, goal: Int[Array, ""]) -> Int[Array, ""]:
    """Grip, then carry."""
    bring = carry if _can_walk(level) else turn_over
    return jnp.where(episode.world.held == goal, bring(level, episode, goal), level.actions.index("GRAB"))


def _approach(
    level: Level, episode: Episode, offset: Float[Array, " 3"], to_go: Float[Array, ""], goal: Int[Array, ""]
) -> Int[Array, ""]:
    """Turn to the object, walk what there is to go, look down at it."""
    physics, world = level.physics, episode.world
    bearing = wrap(jnp.arctan2(offset[0], offset[1]) - world.heading)
    elevation = jnp.arctan2(offset[2], jnp.hypot(offset[0], offset[1])) - world.pitch
    turn, off_course = best(level, "LOOK_RIGHT", bearing, world.turning[0], physics.turn_gain)
    tilt, _ = best(level, "LOOK_DOWN", elevation, world.turning[1], -physics.tilt_gain)
    action = jnp.where(tilt == level.actions.index("NOOP"), turn, tilt)
    if _can_walk(level):
        seen = aimed(physics, episode.props, world, physics.reach)
        # Near enough, but another object stands in the line of sight: step aside.
        blocked = (seen >= 0) & (seen != goal)
        action = jnp.where(blocked, level.actions.index("MOVE_RIGHT(1)"), action)
        action = jnp.where(to_go > 0, level.actions.index("MOVE_FORWARD(1)"), action)
    # Where turns are coarse, the best may be none: then what else there is to do comes first.
    return jnp.where((off_course > STRAIGHT) & (turn != level.actions.index("NOOP")), turn, action)


def _walk_into(level: Level, episode: Episode, slot: Int[Array, ""]) -> Int[Array, ""]:
    """Walk to an object, or to the corridor's end if there is none."""
    end = jnp.stack([jnp.zeros(()), episode.props.room[1]])
    return walk(level, episode.world, jnp.where(slot >= 0, episode.world.position[slot, :2], end))


def _can_walk(level: Level) -> bool:
    return "MOVE_FORWARD(1)" in level.actions
