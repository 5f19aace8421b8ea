"""Pictures on the GPU: two Pallas kernels (lowered by Triton).

The first turns the faces of each thing into edge functions, 128 faces side by side. The second draws tiles of pixels
that keep their depth and colour in registers: it passes over things whose box misses the tile, finds the faces whose
boxes meet it 32 at a time (as the bits of a word), and visits only those.

Only what Triton can do is used: array sizes are powers of two and numbers are read from memory, never from the middle
of an array in registers.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plgpu
from jaxtyping import UInt8

from daxlab.assets.mesh import MAX_FACES
from daxlab.render import setup
from daxlab.render.scene import Scene

TILE_HEIGHT, TILE_WIDTH = 8, 32
"""Pixels of a tile, powers of two; both divide 96×72."""
TILE_WARPS = 1
"""Warps of a tile. One: what is read or reduced for the whole tile is then done once, without barriers."""
FACE_WARPS = 4
WORD = 32
"""Faces whose boxes are tested at once."""

Best = tuple[Array, Array]


def draw(
    scene: Scene, table: setup.Table, width: int, height: int, interpret: bool | None = None
) -> UInt8[Array, "b height width 3"]:
    """Draw a batch of rooms; ``interpret`` (on by default where there is no GPU) runs the kernels as plain JAX."""
    if interpret is None:
        interpret = jax.default_backend() != "gpu"
    if scene.mesh.shape[1] == 0:  # a kernel cannot have an empty array
        scene = scene._replace(
            mesh=jnp.pad(scene.mesh, ((0, 0), (0, 1)), constant_values=-1),
            position=jnp.pad(scene.position, ((0, 0), (0, 1), (0, 0))),
            rotation=jnp.pad(scene.rotation, ((0, 0), (0, 1), (0, 0), (0, 0))),
        )
    rooms, n = scene.mesh.shape
    size = jnp.asarray(table.size)
    frame = jax.vmap(setup.frame_terms)(scene)
    things = jax.vmap(lambda one: setup.thing_terms(one, size, width, height))(scene)
    things, frame = things.astype(jnp.float32), frame.astype(jnp.float32)

    def of_room(*shape: int) -> pl.BlockSpec:
        return pl.BlockSpec((None, *shape), lambda room, _: (room, *(0 for _ in shape)))

    def of_thing(*shape: int) -> pl.BlockSpec:
        return pl.BlockSpec((None, None, *shape), lambda room, thing: (room, thing, *(0 for _ in shape)))

    faces = pl.pallas_call(
        partial(_face_kernel, width=width, height=height),
        grid=(rooms, n),
        in_specs=[of_thing(1), of_thing(setup.THING_SIZE), pl.BlockSpec(table.rows.shape, lambda *_: (0, 0, 0))],
        out_specs=[of_thing(12, MAX_FACES), of_thing(MAX_FACES), of_thing(4, MAX_FACES)],
        out_shape=[
            jax.ShapeDtypeStruct((rooms, n, 12, MAX_FACES), jnp.float32),
            jax.ShapeDtypeStruct((rooms, n, MAX_FACES), jnp.int32),
            jax.ShapeDtypeStruct((rooms, n, 4, MAX_FACES), jnp.float32),
        ],
        compiler_params=plgpu.CompilerParams(num_warps=FACE_WARPS, num_stages=1),
        interpret=interpret,
        name="daxlab_faces",
    )(scene.mesh.astype(jnp.int32)[:, :, None], things, jnp.asarray(table.rows))

    across, down = pl.cdiv(width, TILE_WIDTH), pl.cdiv(height, TILE_HEIGHT)
    picture = pl.pallas_call(
        partial(_tile_kernel, n=n, width=width, height=height, across=across),
        grid=(rooms, across * down),
        in_specs=[
            of_room(setup.FRAME_SIZE),
            of_room(n, setup.THING_SIZE),
            of_room(n, 12, MAX_FACES),
            of_room(n, MAX_FACES),
            of_room(n, 4, MAX_FACES),
        ],
        out_specs=of_room(height * width * 3),
        out_shape=jax.ShapeDtypeStruct((rooms, height * width * 3), jnp.uint8),
        compiler_params=plgpu.CompilerParams(num_warps=TILE_WARPS, num_stages=1),
        interpret=interpret,
        name="daxlab_tiles",
    )(frame, things, *faces)
    return picture.reshape(rooms, height, width, 3)


def _face_kernel(
    mesh: Any, thing: Any, table: Any, rows_out: Any, colour_out: Any, box_out: Any, *, width: int, height: int
) -> None:
    """One thing: `setup.face_rows` of its mesh. A thing that cannot be seen is passed over here and by every tile."""
    terms = [thing[i] for i in range(setup.THING_SIZE)]

    @pl.when((terms[21] <= terms[22]) & (terms[23] <= terms[24]))
    def _() -> None:
        k = mesh[0]
        rows, box = setup.face_rows([table[k, i, :] for i in range(15)], terms, width, height)
        for i in range(12):
            rows_out[i, :] = rows[i]
        colour_out[:] = rows[12]
        for i in range(4):
            box_out[i, :] = box[i]


def _tile_kernel(
    frame: Any, things: Any, rows: Any, colours: Any, boxes: Any, out: Any,
    *, n: int, width: int, height: int, across: int,
) -> None:  # fmt: skip
    """One tile of one room."""
    tile = pl.program_id(1)
    first_u, first_v = (tile % across) * TILE_WIDTH, (tile // across) * TILE_HEIGHT
    shape = (TILE_HEIGHT, TILE_WIDTH)
    u = first_u + lax.broadcasted_iota(jnp.int32, shape, 1)
    v = first_v + lax.broadcasted_iota(jnp.int32, shape, 0)
    sx, x0, sy, y0 = setup.pixel_scale(width, height)
    x, y = sx * u.astype(jnp.float32) + x0, y0 - sy * v.astype(jnp.float32)
    left, top = first_u.astype(jnp.float32), first_v.astype(jnp.float32)
    right, bottom = left + (TILE_WIDTH - 1.0), top + (TILE_HEIGHT - 1.0)

    def meets(u0: Any, u1: Any, v0: Any, v1: Any) -> Any:
        on_screen = (u0 <= u1) & (v0 <= v1)
        return on_screen & (u0 <= right) & (u1 >= left) & (v0 <= bottom) & (v1 >= top)

    def face(j: Any, f: Any, best: Best) -> Best:
        e0, e1, e2, w = (rows[j, i, f] * x + rows[j, i + 1, f] * y + rows[j, i + 2, f] for i in (0, 3, 6, 9))
        inside = jnp.minimum(jnp.minimum(e0, e1), e2) >= 0.0
        wins = inside & (w > best[0]) & (w < 1.0 / setup.NEAR)
        return jnp.where(wins, w, best[0]), jnp.where(wins, colours[j, f], best[1])

    def faces_of(j: Any, best: Best) -> Best:
        for start in range(0, MAX_FACES, WORD):
            hit = meets(*(boxes[j, i, pl.ds(start, WORD)] for i in range(4)))
            bits = jnp.sum(jnp.where(hit, jnp.int32(1) << lax.iota(jnp.int32, WORD), 0), dtype=jnp.int32)

            def visit(state: tuple[Array, Best], start: int = start) -> tuple[Array, Best]:
                word, now = state
                return word & (word - 1), face(j, start + _lowest(word), now)

            _, best = lax.while_loop(lambda state: state[0] != 0, visit, (bits, best))
        return best

    def thing(j: Any, best: Best) -> Best:
        seen = meets(*(things[j, i] for i in range(21, 25)))
        return lax.cond(seen, partial(faces_of, j), lambda same: same, best)

    nothing = jnp.zeros(shape, jnp.float32), jnp.zeros(shape, jnp.int32)
    depth, packed = lax.fori_loop(0, n, thing, nothing)

    def shadow(px: Array, py: Array) -> Array:
        def add(j: Any, light: Array) -> Array:
            terms = [0.0] * 25 + [things[j, i] for i in range(25, 29)]
            near = meets(*(things[j, i] for i in range(29, 33)))
            return lax.cond(near, lambda old: old * setup.shadow_of(terms, px, py), lambda old: old, light)

        return lax.fori_loop(0, n, add, jnp.ones(shape, jnp.float32))

    room = setup.background([frame[i] for i in range(setup.FRAME_SIZE)], shadow, x, y)
    packed = jnp.where(depth > 0.0, packed, room)
    on_screen = (u < width) & (v < height)
    start = (v * width + u) * 3
    for channel in range(3):
        value = ((packed >> (8 * channel)) & 255).astype(jnp.uint8)
        plgpu.store(out.at[start + channel], value, mask=on_screen)


def _lowest(word: Array) -> Array:
    """Index of the lowest bit that is set: the exponent of that bit as a float (bit 31, the sign, included)."""
    lowest = (word & -word).astype(jnp.float32)
    return ((lax.bitcast_convert_type(lowest, jnp.int32) >> 23) & 255) - 127
