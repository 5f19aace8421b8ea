"""Where things are at the start of a phase: drawn anew for every phase of every episode."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Int

from daxlab.assets.furniture import FURNITURE
from daxlab.levels.cast import things
from daxlab.levels.spec import DESK_SLOTS, Level
from daxlab.world.rotation import about_z
from daxlab.world.state import Props, World

CANDIDATES = 64
"""Places tried for each thing; the first that is free is taken, else the freest."""

DESK_DISTANCE = 0.8
"""From the agent to the objects on the desk, metres."""
DESK_ANGLE = 0.9
"""Between neighbours on the desk, radians."""
BESIDE_ANGLE, BESIDE_DISTANCE = np.pi / 2, 0.75
"""Where furniture stands beside the desk: to the left and to the right of the agent, radians and metres."""


class Layout(NamedTuple):
    """Start of one phase."""

    mesh: Int[Array, " n"]
    """Which object stands in each slot."""
    place: Float[Array, "n 3"]
    """Centres of the objects."""
    yaw: Float[Array, " n"]
    furniture: Float[Array, "f 2"]
    """Where the furniture stands."""
    quarter: Int[Array, " f"]
    """Quarter turns of each piece of furniture, counter-clockwise."""
    agent: Float[Array, " 2"]
    heading: Float[Array, ""]
    pitch: Float[Array, ""]
    present: Bool[Array, " n"] | None = None
    """Which objects there are, where not all; of corridors only."""
    room: Float[Array, " 3"] | None = None
    """Half width, half depth and height, where phases differ in them; of corridors only."""


def furniture_names(level: Level) -> tuple[str, ...]:
    """All furniture of a level; the desk setting brings its desk."""
    if level.setting != "desk":
        return level.furniture
    return ("ring" if level.num_objects > DESK_SLOTS else "desk", *level.furniture)


def draw(level: Level, key: Array, mesh: Int[Array, " n"]) -> Layout:
    """A fresh layout for these objects."""
    return _draw_desk(level, key, mesh) if level.setting == "desk" else _draw_room(level, key, mesh)


def _draw_room(level: Level, key: Array, mesh: Int[Array, " n"]) -> Layout:
    """Furniture first, then the agent, then the objects, each at a free place."""
    k_place, k_yaw, k_quarter, k_heading, k_pitch = jax.random.split(key, 5)
    names = furniture_names(level)
    f, n = len(names), len(mesh)
    quarter = jax.random.randint(k_quarter, (f,), 0, 4)
    extent = _turned(_half_extents(names), quarter)
    radius = jnp.asarray(things(level).radius)[mesh]
    agent = jnp.full((1, 2), level.physics.agent_radius)
    half = jnp.concatenate([extent, agent, jnp.broadcast_to(radius[:, None], (n, 2))])
    xy = scatter(k_place, half, jnp.array(level.room[:2]) / 2, level.gap)
    return Layout(
        mesh=mesh,
        place=jnp.concatenate([xy[f + 1 :], jnp.asarray(things(level).half_height)[mesh][:, None]], -1),
        yaw=jax.random.uniform(k_yaw, (n,), minval=-jnp.pi, maxval=jnp.pi),
        furniture=xy[:f],
        quarter=quarter,
        agent=xy[f],
        heading=jax.random.uniform(k_heading, minval=-jnp.pi, maxval=jnp.pi),
        pitch=jax.random.uniform(k_pitch, minval=-0.4, maxval=0.0),
    )


def _draw_desk(level: Level, key: Array, mesh: Int[Array, " n"]) -> Layout:
    """Objects side by side on the desk, in random order, a little askew; the agent looks somewhere along them."""
    k_order, k_angle, k_distance, k_yaw, k_heading, k_pitch = jax.random.split(key, 6)
    n = len(mesh)
    apart = DESK_ANGLE if n <= DESK_SLOTS else 2 * np.pi / n
    slot = jax.random.permutation(k_order, jnp.arange(n) - (n - 1) / 2)
    angle = apart * slot + jax.random.uniform(k_angle, (n,), minval=-0.05, maxval=0.05)
    distance = DESK_DISTANCE + jax.random.uniform(k_distance, (n,), minval=-0.08, maxval=0.08)
    height = desk_top(level) + jnp.asarray(things(level).half_height)[mesh]
    widest = apart * (n - 1) / 2
    names = furniture_names(level)
    middle = jnp.array([0.0, DESK_DISTANCE if n <= DESK_SLOTS else 0.0])
    side = jax.random.permutation(jax.random.fold_in(k_order, 1), jnp.linspace(-1.0, 1.0, max(len(names) - 1, 2)))
    beside = BESIDE_DISTANCE * jnp.stack([jnp.sin(BESIDE_ANGLE * side), jnp.cos(BESIDE_ANGLE * side)], -1)
    return Layout(
        mesh=mesh,
        place=jnp.stack([distance * jnp.sin(angle), distance * jnp.cos(angle), height], -1),
        yaw=jax.random.uniform(k_yaw, (n,), minval=-jnp.pi, maxval=jnp.pi),
        furniture=jnp.concatenate([middle[None], beside[: len(names) - 1]]),
        quarter=jnp.zeros(len(names), jnp.int32),
        agent=jnp.zeros(2),
        heading=jax.random.uniform(k_heading, minval=-widest, maxval=widest),
        pitch=jax.random.uniform(k_pitch, minval=-0.4, maxval=-0.2),
    )


def scatter(key: Array, half: Float[Array, "n 2"], room: Float[Array, " 2"], gap: float) -> Float[Array, "n 2"]:
    """Centres for rectangles of these half extents, one after another, each with a gap to those before it."""
    n = half.shape[0]
    tries = jax.random.uniform(key, (n, CANDIDATES, 2), minval=-1.0, maxval=1.0)

    def put(placed: Float[Array, "n 2"], i: Array) -> tuple[Float[Array, "n 2"], None]:
        spots = tries[i] * (room - half[i] - 0.05)
        apart = jnp.abs(spots[:, None] - placed) - (half[i] + half)
        free = jnp.where(jnp.arange(n) < i, apart.max(-1), jnp.inf).min(-1)
        return placed.at[i].set(spots[jnp.argmax(jnp.minimum(free, gap))]), None

    return jax.lax.scan(put, jnp.zeros((n, 2)), jnp.arange(n))[0]


def build(level: Level, layout: Layout) -> tuple[Props, World]:
    """The physical start of a phase."""
    n = len(layout.mesh)
    props = Props(
        radius=jnp.asarray(things(level).radius)[layout.mesh],
        half_height=jnp.asarray(things(level).half_height)[layout.mesh],
        present=jnp.ones(n, bool) if layout.present is None else layout.present,
        solids=_solids(level, layout),
        room=jnp.array([level.room[0] / 2, level.room[1] / 2, level.room[2]]) if layout.room is None else layout.room,
    )
    zero = jnp.zeros(())
    world = World(
        agent=layout.agent,
        stride=jnp.zeros(2),
        heading=layout.heading,
        pitch=layout.pitch,
        turning=jnp.zeros(2),
        position=layout.place,
        velocity=jnp.zeros((n, 3)),
        attitude=about_z(layout.yaw),
        spin=jnp.zeros(3),
        held=jnp.array(-1, jnp.int32),
        distance=zero + level.physics.near,
        pulling=zero,
    )
    return props, world


def desk_top(level: Level) -> float:
    """Height on which objects stand at the start."""
    return 2 * FURNITURE["desk"]().mesh.half_height if level.setting == "desk" else 0.0


def plans(level: Level, layout: Layout) -> Float[Array, "f 2 2"]:
    """Ground plan of each piece of furniture where it stands: low and high corner."""
    half = _turned(_half_extents(furniture_names(level)), layout.quarter)
    return jnp.stack([layout.furniture - half, layout.furniture + half], 1)


def _turned(half: Float[np.ndarray, "f 2"], quarter: Int[Array, " f"]) -> Float[Array, "f 2"]:
    """Half extents after quarter turns."""
    extent = jnp.asarray(half)
    return jnp.where((quarter % 2 == 1)[:, None], extent[:, ::-1], extent)


@cache
def _half_extents(names: tuple[str, ...]) -> Float[np.ndarray, "f 2"]:
    extents = [np.abs(FURNITURE[name]().mesh.vertices[:, :2]).max(0) for name in names]
    return np.array(extents, np.float32).reshape(-1, 2)


def _solids(level: Level, layout: Layout) -> Float[Array, "m 2 3"]:
    """The furniture's boxes where it stands."""
    solids = []
    for i, name in enumerate(furniture_names(level)):
        box = jnp.asarray(FURNITURE[name]().solids)
        x, y, z = box[..., 0], box[..., 1], box[..., 2] + FURNITURE[name]().mesh.half_height
        q = layout.quarter[i]
        tx = jnp.select([q == 0, q == 1, q == 2], [x, -y, -x], y)
        ty = jnp.select([q == 0, q == 1, q == 2], [y, x, -y], -x)
        corners = jnp.stack([tx + layout.furniture[i, 0], ty + layout.furniture[i, 1], z], -1)
        solids.append(jnp.stack([corners.min(1), corners.max(1)], 1))
    return jnp.concatenate(solids) if solids else jnp.zeros((0, 2, 3))
