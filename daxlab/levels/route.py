"""Ways round furniture, for the scripted actors: shortest paths over the corners of axis-aligned rectangles."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float

CLEAR = 0.17
"""A way is free if it keeps this far from every rectangle, metres: less than the agent's radius by enough that the
agent is never inside, even where it touches a corner."""
BERTH = 0.36
"""Corners are rounded at this distance along each side, metres."""
DETOUR = 20.0
"""What a way that is not free costs, metres: so that there is always some way."""


def free(start: Float[Array, "*a 2"], end: Float[Array, "*a 2"], plans: Float[Array, "f 2 2"]) -> Bool[Array, "*a f"]:
    """Whether the straight way from start to end misses each rectangle."""
    low, high = plans[:, 0] - CLEAR, plans[:, 1] + CLEAR
    start, step = start[..., None, :], (end - start)[..., None, :]
    step = jnp.where(jnp.abs(step) < 1e-6, 1e-6, step)
    one, two = (low - start) / step, (high - start) / step
    enter = jnp.minimum(one, two).max(-1)
    leave = jnp.maximum(one, two).min(-1)
    return (enter >= leave) | (leave <= 0.0) | (enter >= 1.0)


def waypoint(
    start: Float[Array, " 2"],
    goal: Float[Array, " 2"],
    plans: Float[Array, "f 2 2"],
    room: Float[Array, " 3"],
    ignore: Bool[Array, " f"],
) -> Float[Array, " 2"]:
    """Where to walk first on the shortest way to the goal; rectangles in `ignore` may be in the way of its last leg."""
    low, high = plans[:, 0] - BERTH, plans[:, 1] + BERTH
    corners = jnp.stack(
        [low, high, jnp.stack([low[:, 0], high[:, 1]], -1), jnp.stack([high[:, 0], low[:, 1]], -1)]
    ).reshape(-1, 2)
    # A corner between furniture and wall is no place to walk through.
    outside = (jnp.abs(corners) > room[:2] - BERTH).any(-1)
    last = _length(corners, goal) + DETOUR * (outside | ~(free(corners, goal, plans) | ignore).all(-1))
    legs = _length(corners[:, None], corners) + DETOUR * (outside | ~free(corners[:, None], corners, plans).all(-1))
    # From every corner to the goal by way of at most three more: each piece of furniture has two to round.
    rest = last
    for _ in range(3):
        rest = jnp.minimum(last, (legs + rest).min(-1))
    first = _length(start, corners) + DETOUR * (outside | ~free(start, corners, plans).all(-1)) + rest
    straight = _length(start, goal) + DETOUR * ~(free(start, goal, plans) | ignore).all()
    return jnp.where(straight <= first.min(), goal, corners[jnp.argmin(first)])


def _length(a: Float[Array, "*a 2"], b: Float[Array, "*b 2"]) -> Float[Array, "*c"]:
    return jnp.sqrt(jnp.sum((a - b) ** 2, -1) + 1e-12)
