"""The ray through the middle of the view: what it hits first is what the agent looks at and can grip."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int

from daxlab.world.rotation import view
from daxlab.world.state import Physics, Props, World


def eye(physics: Physics, world: World) -> Float[Array, " 3"]:
    """Where the camera is."""
    return jnp.append(world.agent, physics.eye_height)


def aimed(physics: Physics, props: Props, world: World, reach: float) -> Int[Array, ""]:
    """Index of the body that the centre ray hits first, within reach; -1 if none, or if furniture is in the way."""
    start = eye(physics, world)
    ray = view(world.heading, world.pitch)[2]
    bodies = _to_cylinders(start, ray, world.position, props.radius + physics.slack, props.half_height + physics.slack)
    bodies = jnp.where(props.present & (bodies <= reach), bodies, jnp.inf)
    nearest = jnp.argmin(bodies)
    distance = bodies[nearest]
    if props.solids.shape[0]:
        distance = jnp.where(_to_boxes(start, ray, props.solids).min() < distance, jnp.inf, distance)
    return jnp.where(jnp.isfinite(distance), nearest, -1).astype(jnp.int32)


def _safe(d: Float[Array, ...]) -> Float[Array, ...]:
    """A divisor that is never zero."""
    return jnp.where(jnp.abs(d) < 1e-6, jnp.where(d < 0, -1e-6, 1e-6), d)


def _to_cylinders(
    start: Float[Array, " 3"],
    ray: Float[Array, " 3"],
    centre: Float[Array, "n 3"],
    radius: Float[Array, " n"],
    half_height: Float[Array, " n"],
) -> Float[Array, " n"]:
    """Distance along the ray to each upright cylinder, infinite where it misses."""
    ox, oy, oz = (start[i] - centre[:, i] for i in range(3))
    a = _safe(ray[0] ** 2 + ray[1] ** 2)
    b = ox * ray[0] + oy * ray[1]
    root2 = b * b - a * (ox * ox + oy * oy - radius * radius)
    root = jnp.sqrt(jnp.maximum(root2, 0.0))
    dz = _safe(ray[2])
    z1, z2 = (-half_height - oz) / dz, (half_height - oz) / dz
    enter = jnp.maximum((-b - root) / a, jnp.minimum(z1, z2))
    leave = jnp.minimum((-b + root) / a, jnp.maximum(z1, z2))
    hit = (root2 > 0) & (leave > jnp.maximum(enter, 0.0))
    return jnp.where(hit, jnp.maximum(enter, 0.0), jnp.inf)


def _to_boxes(start: Float[Array, " 3"], ray: Float[Array, " 3"], solids: Float[Array, "m 2 3"]) -> Float[Array, " m"]:
    """Distance along the ray to each axis-aligned box, infinite where it misses."""
    t = (solids - start) / _safe(ray)
    enter, leave = t.min(1).max(-1), t.max(1).min(-1)
    return jnp.where(leave > jnp.maximum(enter, 0.0), jnp.maximum(enter, 0.0), jnp.inf)
