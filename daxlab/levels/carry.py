"""How the scripted actors put what they hold where it is wanted."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Int

from daxlab.levels.episode import Episode
from daxlab.levels.layout import furniture_names, plans
from daxlab.levels.putting import pieces, stands, still
from daxlab.levels.route import waypoint
from daxlab.levels.spec import Level
from daxlab.levels.steer import best, wrap

ARM = 0.8
"""How far ahead an object is carried, metres: near enough that no wall can pull it from the hand, far enough to reach
the middle of a box over its corner."""
OVERHEAD = 0.9
"""How high its lowest point is carried, metres: higher than any furniture."""
INSET = 0.35
"""It is dropped this far inside the edges, metres."""
BESIDE = 0.2
"""Or with this much space between it and the furniture, metres."""
TILT, COURSE, STEP, PLACE = 0.12, 0.12, 0.14, 0.05
"""Errors that it corrects: of the head's tilt and of its course (radians), of where it stands and of where the object
will drop (metres)."""

SETTLED = 0.02
"""The head is at rest when it turns and tilts less than this, radians a step."""


def waits(level: Level, episode: Episode, slot: Int[Array, ""]) -> Bool[Array, ""]:
    """The object was let go and either falls or lies where it is wanted."""
    assert episode.putting is not None
    there = stands(level, episode.layout, episode.props, episode.world, slot)[episode.putting.goal]
    let_go = (episode.putting.handled == slot) & (episode.world.held < 0)
    return let_go & (there | ~still(episode.world, slot))


def carry(level: Level, episode: Episode, slot: Int[Array, ""]) -> Int[Array, ""]:
    """Raise the held object, pull it near, bring it to its place, let go."""
    physics, world, name = level.physics, episode.world, level.actions.index
    grab = name("GRAB")
    aim, short, way = _course(level, episode, slot)
    ahead = way - world.agent
    detour = (way != aim).any()
    course = ahead / jnp.maximum(jnp.sqrt(jnp.sum(ahead**2)), 1e-6)
    drop = aim - short * course
    to_drop = jnp.sqrt(jnp.sum((drop - world.agent) ** 2))

    height = OVERHEAD + episode.props.half_height[slot] - physics.eye_height
    pitch = jnp.arcsin(jnp.clip(height / world.distance, -1.0, 1.0)) - world.pitch
    tilt, off_tilt = best(level, "LOOK_DOWN", pitch, world.turning[1], -physics.tilt_gain, grip=True)
    bearing = wrap(jnp.arctan2(ahead[0], ahead[1]) - world.heading)
    turn, off_course = best(level, "LOOK_RIGHT", bearing, world.turning[0], physics.turn_gain, grip=True)
    coasting = jnp.sum(world.stride * course) * physics.step_seconds * physics.keep / (1 - physics.keep)
    to_go = jnp.where(detour, 1.0, to_drop - ARM - coasting)
    travels = jnp.abs(to_go) > STEP
    arm = world.distance * jnp.cos(world.pitch)
    pull, off_arm = best(
        level, "PULL", jnp.where(travels, ARM, to_drop) - arm, -world.pulling, -physics.pull_gain, grip=True
    )

    move = jnp.where(to_go > 0, name("GRAB + MOVE_FORWARD(1)"), name("GRAB + MOVE_FORWARD(-1)"))
    missed = jnp.sqrt(jnp.sum((drop - world.position[slot, :2]) ** 2))
    ready = (missed < PLACE) & still(world, slot)
    return jnp.select(
        [off_tilt > TILT, travels & (off_arm > STEP), off_course > COURSE, travels, ready, turn != grab],
        [tilt, pull, turn, move, jnp.array(name("NOOP")), turn],
        pull,
    ).astype(jnp.int32)


def turn_over(level: Level, episode: Episode, slot: Int[Array, ""]) -> Int[Array, ""]:
    """Without walking: raise the held object over the desk, turn it over its place, let go."""
    assert episode.putting is not None
    physics, world, grab = level.physics, episode.world, level.actions.index("GRAB")
    low, high = plans(level, episode.layout)[jnp.asarray(pieces(level))[episode.putting.goal]]
    ahead = (low + high) / 2 - world.agent
    tilt, _ = best(level, "LOOK_DOWN", -world.pitch, world.turning[1], -physics.tilt_gain, grip=True)
    bearing = wrap(jnp.arctan2(ahead[0], ahead[1]) - world.heading)
    turn, _ = best(level, "LOOK_RIGHT", bearing, world.turning[0], physics.turn_gain, grip=True)
    action = jnp.where(tilt == grab, turn, tilt)
    settled = still(world, slot) & (jnp.abs(world.turning) < SETTLED).all()
    return jnp.where((action == grab) & settled, level.actions.index("NOOP"), action).astype(jnp.int32)


def _course(
    level: Level, episode: Episode, slot: Int[Array, ""]
) -> tuple[Float[Array, " 2"], Float[Array, ""], Float[Array, " 2"]]:
    """The point to face, how far short of it the object is to drop, and where to walk first."""
    assert episode.putting is not None
    goal, agent = episode.putting.goal, episode.world.agent
    every = plans(level, episode.layout)
    piece = jnp.asarray(pieces(level))[goal]
    low, high = every[piece]
    beside = jnp.asarray(np.array([relation == "near" for relation, _ in level.goals]))[goal]
    middle, half = (low + high) / 2, jnp.maximum((high - low) / 2 - INSET, 0.0)
    aim = jnp.where(beside, jnp.clip(agent, low, high), jnp.clip(agent, middle - half, middle + half))
    short = jnp.where(beside, BESIDE + episode.props.radius[slot], 0.0)
    ignore = jnp.arange(len(furniture_names(level))) == piece
    return aim, short, waypoint(agent, aim, every, episode.props.room, ignore)
