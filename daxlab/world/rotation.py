"""Rotations: quaternions (w, x, y, z) for bodies, heading and pitch for the agent's head."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float


def view(heading: Float[Array, ""], pitch: Float[Array, ""]) -> Float[Array, "3 3"]:
    """Rows right, up, forward of a head. Heading grows to the right from the y axis, pitch grows upwards."""
    sh, ch, sp, cp = jnp.sin(heading), jnp.cos(heading), jnp.sin(pitch), jnp.cos(pitch)
    zero = jnp.zeros_like(sh)
    return jnp.stack(
        [
            jnp.stack([ch, -sh, zero], -1),
            jnp.stack([-sh * sp, -ch * sp, cp], -1),
            jnp.stack([sh * cp, ch * cp, sp], -1),
        ],
        -2,
    )


def multiply(a: Float[Array, "... 4"], b: Float[Array, "... 4"]) -> Float[Array, "... 4"]:
    """The rotation that does b first, then a."""
    aw, ax, ay, az = (a[..., i] for i in range(4))
    bw, bx, by, bz = (b[..., i] for i in range(4))
    return jnp.stack(
        [
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ],
        -1,
    )


def from_vector(v: Float[Array, "... 3"]) -> Float[Array, "... 4"]:
    """The rotation by |v| radians about v."""
    angle2 = jnp.sum(v * v, -1, keepdims=True)
    half = 0.5 * jnp.sqrt(jnp.maximum(angle2, 1e-12))
    # sin(half)/angle tends to 1/2 at zero: the clamp above keeps it finite there.
    return jnp.concatenate([jnp.cos(half), v * (jnp.sin(half) / (2.0 * half))], -1)


def about_z(angle: Float[Array, ...]) -> Float[Array, "... 4"]:
    """The rotation by an angle about the vertical, counter-clockwise seen from above."""
    zero = jnp.zeros_like(angle)
    return jnp.stack([jnp.cos(angle / 2), zero, zero, jnp.sin(angle / 2)], -1)


def normalise(q: Float[Array, "... 4"]) -> Float[Array, "... 4"]:
    """Unit length."""
    return q / jnp.sqrt(jnp.maximum(jnp.sum(q * q, -1, keepdims=True), 1e-12))


def matrix(q: Float[Array, "... 4"]) -> Float[Array, "... 3 3"]:
    """The matrix that turns a column vector as the quaternion does."""
    w, x, y, z = (q[..., i] for i in range(4))
    return jnp.stack(
        [
            jnp.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)], -1),
            jnp.stack([2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)], -1),
            jnp.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], -1),
        ],
        -2,
    )
