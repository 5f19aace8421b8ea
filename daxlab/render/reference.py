"""The plain renderer: every pixel looks at every face. Slow and obviously right; runs wherever JAX runs."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array, lax
from jaxtyping import UInt8

from daxlab.render import setup
from daxlab.render.scene import Scene

CHUNK = 256
"""Rooms drawn at once, so that a large batch of pictures in float32 does not fill the memory."""


def draw(scene: Scene, table: setup.Table, width: int, height: int) -> UInt8[Array, "b height width 3"]:
    """Draw a batch of rooms."""
    return lax.map(lambda one: draw_one(one, table, width, height), scene, batch_size=CHUNK)


def draw_one(scene: Scene, table: setup.Table, width: int, height: int) -> UInt8[Array, "height width 3"]:
    """Draw one room."""
    sx, x0, sy, y0 = setup.pixel_scale(width, height)
    x = jnp.broadcast_to(sx * jnp.arange(width, dtype=jnp.float32) + x0, (height, width))
    y = jnp.broadcast_to((y0 - sy * jnp.arange(height, dtype=jnp.float32))[:, None], (height, width))
    things = setup.thing_terms(scene, jnp.asarray(table.size), width, height)
    meshes = jnp.asarray(table.rows)[jnp.maximum(scene.mesh, 0)]

    def faces(mesh: Array, thing: Array) -> tuple[Array, Array, Array]:
        rows, box = setup.face_rows(mesh, thing, width, height)
        drawn = jnp.logical_and(box[0] <= box[1], box[2] <= box[3])
        return jnp.stack(rows[:12], axis=-1), rows[12], drawn

    coefficients, colour, drawn = jax.tree.map(lambda a: a.reshape(-1, *a.shape[2:]), jax.vmap(faces)(meshes, things))

    def nearer(best: tuple[Array, Array], face: tuple[Array, Array, Array]) -> tuple[tuple[Array, Array], None]:
        c, packed, shown = face
        e0, e1, e2, w = (c[i] * x + c[i + 1] * y + c[i + 2] for i in (0, 3, 6, 9))
        inside = (e0 >= 0.0) & (e1 >= 0.0) & (e2 >= 0.0) & shown
        wins = inside & (w > best[0]) & (w < 1.0 / setup.NEAR)
        return (jnp.where(wins, w, best[0]), jnp.where(wins, packed, best[1])), None

    nothing = jnp.zeros((height, width)), jnp.zeros((height, width), jnp.int32)
    (depth, packed), _ = lax.scan(nearer, nothing, (coefficients, colour, drawn), unroll=4)

    def shadow(px: Array, py: Array) -> Array:
        return jnp.prod(jax.vmap(lambda thing: setup.shadow_of(thing, px, py))(things), axis=0)

    room = setup.background(setup.frame_terms(scene), shadow, x, y)
    return setup.unpack(jnp.where(depth > 0.0, packed, room))
