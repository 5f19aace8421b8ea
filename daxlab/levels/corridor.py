"""The paper's task in DeepMind Lab (appendix): objects are met one after another in a corridor, then some in a room.

Objects stand in the corridor in the order of their slots, each in the agent's way: it is too narrow to go round one.
What the agent walks into is collected and gone. The room begins where the corridor ends.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float, Int

from daxlab.levels.cast import sample, things
from daxlab.levels.layout import Layout
from daxlab.levels.spec import Level
from daxlab.levels.steer import best, wrap
from daxlab.world.state import Physics, Props, World

WIDTH = 1.0
"""Of the corridor, metres: an object of any size leaves less than the agent's width on either side."""
ASIDE, ALONG = 0.1, 0.3
"""How far an object may stand from the middle, and from its place along the corridor, metres."""
SPACING = 1.8
"""From object to object along the corridor, metres."""
BEYOND = 1.2
"""From the last object to the end, metres."""
BEHIND = 0.15
"""Free space behind the agent as a phase begins, metres."""
TOUCH = 0.05
"""With less space than this between them, the agent has walked into an object, metres."""
PITCH = -0.25
"""The head's tilt, which no action changes: objects are in view from where they stand until they are touched."""
STRAIGHT = 0.12
"""The scripted actors walk while their course is within this angle, radians."""


def draw_corridor(level: Level, key: Array, mesh: Int[Array, " n"]) -> Layout:
    """Objects one behind the other, a little askew; the agent looks along them."""
    k_aside, k_along, k_yaw = jax.random.split(key, 3)
    n = len(mesh)
    begin = BEHIND + level.physics.agent_radius
    length = begin + SPACING * n + BEYOND
    aside = jax.random.uniform(k_aside, (n,), minval=-ASIDE, maxval=ASIDE)
    along = jax.random.uniform(k_along, (n,), minval=-ALONG, maxval=ALONG)
    place = jnp.stack([aside, begin - length / 2 + SPACING * (jnp.arange(n) + 1) + along], -1)
    room = jnp.array([WIDTH / 2, length / 2, level.room[2]])
    return _layout(level, k_yaw, mesh, place, jnp.ones(n, bool), room)


def draw_room(level: Level, key: Array, mesh: Int[Array, " n"], target: Int[Array, ""]) -> Layout:
    """The target and others drawn at random, side by side before the agent in random order."""
    k_other, k_side, k_aside, k_depth, k_yaw = jax.random.split(key, 5)
    n, m = len(mesh), level.num_choices
    width, depth, height = level.room
    slots = jnp.arange(n)
    # The target is sure to be among them, as all draws are below 1.
    chosen = jax.lax.top_k(jax.random.uniform(k_other, (n,)) + (slots == target), m)[1]
    side = sample(k_side, m, m)
    aside = width / m * (side - (m - 1) / 2) + jax.random.uniform(k_aside, (m,), minval=-2 * ASIDE, maxval=2 * ASIDE)
    ahead = jax.random.uniform(k_depth, (m,), minval=0.0, maxval=depth / 4)
    # The others are parked where they are never the nearest.
    parked = jnp.tile(jnp.array([0.0, depth / 2 - 0.5]), (n, 1))
    place = parked.at[chosen].set(jnp.stack([aside, ahead], -1))
    present = (slots[:, None] == chosen).any(-1)
    return _layout(level, k_yaw, mesh, place, present, jnp.array([width / 2, depth / 2, height]))


def _layout(
    level: Level,
    key: Array,
    mesh: Int[Array, " n"],
    place: Float[Array, "n 2"],
    present: Bool[Array, " n"],
    room: Float[Array, " 3"],
) -> Layout:
    """The agent begins in the middle of the near end and looks ahead."""
    zero = jnp.zeros(())
    return Layout(
        mesh=mesh,
        place=jnp.concatenate([place, jnp.asarray(things(level).half_height)[mesh][:, None]], -1),
        yaw=jax.random.uniform(key, (len(mesh),), minval=-jnp.pi, maxval=jnp.pi),
        furniture=jnp.zeros((0, 2)),
        quarter=jnp.zeros(0, jnp.int32),
        agent=jnp.stack([zero, BEHIND + level.physics.agent_radius - room[1]]),
        heading=zero,
        pitch=zero + PITCH,
        present=present,
        room=room,
    )


def touched(physics: Physics, props: Props, world: World) -> Int[Array, ""]:
    """Slot of the object that the agent has walked into; -1 if none."""
    offset = world.position[:, :2] - world.agent
    gap = jnp.sqrt(jnp.sum(offset**2, -1) + 1e-12) - props.radius - physics.agent_radius
    gap = jnp.where(props.present, gap, jnp.inf)
    return jnp.where(gap.min() < TOUCH, jnp.argmin(gap), -1).astype(jnp.int32)


def upcoming(props: Props) -> Int[Array, ""]:
    """Slot of the object that comes next in the corridor; -1 if all are collected."""
    return jnp.where(props.present.any(), jnp.argmax(props.present), -1).astype(jnp.int32)


def at_end(physics: Physics, props: Props, world: World) -> Bool[Array, ""]:
    """Whether the agent has come to the end of the corridor."""
    return world.agent[1] > props.room[1] - physics.agent_radius - TOUCH


def walk(level: Level, world: World, goal: Float[Array, " 2"]) -> Int[Array, ""]:
    """The scripted actors' way: turn to the goal, else walk."""
    ahead = goal - world.agent
    bearing = wrap(jnp.arctan2(ahead[0], ahead[1]) - world.heading)
    turn, off_course = best(level, "LOOK_RIGHT", bearing, world.turning[0], level.physics.turn_gain)
    return jnp.where(off_course > STRAIGHT, turn, level.actions.index("MOVE_FORWARD(1)")).astype(jnp.int32)
