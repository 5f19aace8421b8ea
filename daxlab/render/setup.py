"""What a picture means: camera, light, room, shadows and triangles, once, for every backend.

Everything here works component by component on numbers or arrays of any shape, so that the same lines run over whole
pictures (`reference`), over one tile or one mesh inside a GPU kernel (`gpu`), and serve as the text that the Numba
kernel (`raster`) follows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int

from daxlab.assets.mesh import Bank
from daxlab.render.scene import Scene

TAN = math.tan(math.radians(30.0))
"""Of half the vertical field of view (60°)."""
NEAR = 0.05
"""Metres; what is nearer to the camera's plane is not drawn."""
FACING = 1e-5
"""Metres the eye must be in front of a face's plane; excludes back faces, edge-on faces and padding (normal 0)."""
AMBIENT = 0.45
KEY = (-0.416, -0.520, 0.746)
"""Unit vector towards the main light: above, to the left and in front of the room's −y side."""
KEY_STRENGTH = 0.50
FILL = (0.857, 0.286, 0.429)
"""Unit vector towards a weak second light, so that faces turned away from the first still differ."""
FILL_STRENGTH = 0.18
SHADOW = 0.55
"""Share of the floor's light that a thing standing on it takes away at its middle."""

# Muted and light, so that things stand out. Order of surfaces: +x, −x, +y, −y, ceiling, floor.
PALETTES = np.array(
    [
        [
            [0.80, 0.72, 0.62],
            [0.66, 0.74, 0.80],
            [0.70, 0.78, 0.66],
            [0.80, 0.68, 0.70],
            [0.90] * 3,
            [0.66, 0.56, 0.45],
        ],
        [
            [0.70, 0.70, 0.80],
            [0.82, 0.76, 0.60],
            [0.62, 0.76, 0.74],
            [0.78, 0.70, 0.78],
            [0.88] * 3,
            [0.58, 0.60, 0.62],
        ],
        [
            [0.62, 0.74, 0.66],
            [0.80, 0.66, 0.58],
            [0.76, 0.76, 0.82],
            [0.82, 0.80, 0.64],
            [0.91] * 3,
            [0.68, 0.62, 0.56],
        ],
        [
            [0.78, 0.78, 0.74],
            [0.68, 0.64, 0.76],
            [0.82, 0.72, 0.60],
            [0.60, 0.74, 0.80],
            [0.89] * 3,
            [0.54, 0.58, 0.50],
        ],
    ],
    np.float32,
)

FRAME_SIZE = 36
THING_SIZE = 33


class Table(NamedTuple):
    """A bank with one row for each number of a face, so that 128 faces lie side by side."""

    rows: Float[np.ndarray, "k 15 f"]
    """Corners (ax ay az bx … cz), unit normal, colour."""
    size: Float[np.ndarray, "k 3"]
    """Bounding radius, upright radius, half height."""
    faces: Int[np.ndarray, " k"]
    """How many of the faces are the mesh's own."""


def table(bank: Bank) -> Table:
    """Lay a bank out by rows and add the normals."""
    corners = bank.triangles.astype(np.float64)
    normal = np.cross(corners[:, :, 1] - corners[:, :, 0], corners[:, :, 2] - corners[:, :, 0])
    length = np.linalg.norm(normal, axis=-1, keepdims=True)
    normal = np.where(length > 1e-9, normal / np.maximum(length, 1e-9), 0.0)
    k, f = corners.shape[:2]
    rows = np.concatenate([corners.reshape(k, f, 9), normal, bank.colours], axis=-1)
    size = np.stack([bank.bound, bank.radius, bank.half_height], axis=-1)
    return Table(np.ascontiguousarray(rows.swapaxes(1, 2), np.float32), size.astype(np.float32), bank.face_count)


def pixel_scale(width: int, height: int) -> tuple[float, float, float, float]:
    """``x = sx·u + x0`` and ``y = y0 − sy·v`` are the ray ``(x, y, 1)`` of the pixel in column u and row v."""
    s = 2.0 * TAN / height
    return s, 0.5 * s - 0.5 * s * width, s, TAN - 0.5 * s


def frame_terms(scene: Scene) -> Float[Array, " 36"]:
    """The room's numbers: eye 0…2, look 3…11, inverse distances of the six surfaces 12…17, their colours 18…35."""
    gap = jnp.stack([scene.room - scene.eye, scene.room * jnp.array([1.0, 1.0, 0.0], jnp.float32) + scene.eye], axis=-1)
    colours = jnp.asarray(PALETTES)[scene.decor % len(PALETTES)]
    terms = [scene.eye, scene.look.ravel(), 1.0 / jnp.maximum(gap.ravel(), 1e-3), colours.ravel()]
    return jnp.concatenate(terms)


def sphere_box(centre: Any, radius: Any, width: int, height: int) -> tuple[Array, Array, Array, Array]:
    """First and last column and row (as whole floats, empty when last < first) that a sphere in camera axes can touch.

    The sphere lies in the cube round it, so x/z is largest at one of the cube's ends; a cube that crosses the near
    plane may be anywhere.
    """
    sx, x0, sy, y0 = pixel_scale(width, height)
    near, far = 1.0 / jnp.maximum(centre[2] - radius, NEAR), 1.0 / jnp.maximum(centre[2] + radius, NEAR)

    def ends(c: Any) -> tuple[Array, Array]:
        low, high = c - radius, c + radius
        return jnp.minimum(low * near, low * far), jnp.maximum(high * near, high * far)

    (left, right), (bottom, top) = ends(centre[0]), ends(centre[1])
    crosses, behind = centre[2] - radius <= NEAR, centre[2] + radius <= NEAR
    first_u = jnp.where(crosses, 0.0, jnp.clip(jnp.floor((left - x0) / sx), 0.0, width))
    last_u = jnp.where(crosses, width - 1.0, jnp.clip(jnp.ceil((right - x0) / sx), -1.0, width - 1.0))
    first_v = jnp.where(crosses, 0.0, jnp.clip(jnp.floor((y0 - top) / sy), 0.0, height))
    last_v = jnp.where(crosses, height - 1.0, jnp.clip(jnp.ceil((y0 - bottom) / sy), -1.0, height - 1.0))
    return first_u, jnp.where(behind, -1.0, last_u), first_v, last_v


def thing_terms(scene: Scene, size: Float[Array, "k 3"], width: int, height: int) -> Float[Array, "n 33"]:
    """Each thing's numbers.

    Camera from mesh axes 0…8, centre in camera axes 9…11, eye in mesh axes 12…14, the two lights in mesh axes 15…20,
    box on the screen 21…24, shadow's middle, 1/radius² and strength 25…28, its box on the screen 29…32.
    """
    shown = (scene.mesh >= 0)[:, None]
    bound, radius, half_height = (size[jnp.maximum(scene.mesh, 0)][:, i] for i in range(3))
    camera = jnp.einsum("ij,njk->nik", scene.look, scene.rotation, precision="highest")
    away = scene.position - scene.eye
    centre = jnp.einsum("ij,nj->ni", scene.look, away, precision="highest")
    eye = -jnp.einsum("nij,ni->nj", scene.rotation, away, precision="highest")
    lights = jnp.einsum("li,nij->nlj", jnp.array([KEY, FILL], jnp.float32), scene.rotation, precision="highest")
    box = jnp.stack(sphere_box(centre.T, bound, width, height), axis=-1)
    nowhere = jnp.array([0.0, -1.0, 0.0, -1.0], jnp.float32)
    box = jnp.where(shown, box, nowhere)
    gap = jnp.maximum(scene.position[:, 2] - half_height, 0.0)
    strength = jnp.where(scene.mesh >= 0, SHADOW * jnp.maximum(1.0 - gap, 0.0), 0.0)
    wide = 1.25 * radius + 0.02
    shadow = jnp.stack([scene.position[:, 0], scene.position[:, 1], 1.0 / (wide * wide), strength], axis=-1)
    n = scene.mesh.shape[0]
    foot = jnp.einsum("ij,nj->ni", scene.look, away.at[:, 2].set(-scene.eye[2]), precision="highest")
    shadow_box = jnp.stack(sphere_box(foot.T, wide, width, height), axis=-1)
    shadow_box = jnp.where((strength > 0.0)[:, None], shadow_box, nowhere)
    terms = [camera.reshape(n, 9), centre, eye, lights.reshape(n, 6), box, shadow, shadow_box]
    return jnp.concatenate(terms, axis=-1)


def face_rows(mesh: Any, thing: Any, width: int, height: int) -> tuple[list[Any], list[Any]]:
    """Turn faces into what a pixel needs.

    With a, b, c the corners in camera axes and d = (x, y, 1) the pixel's ray, the pixel is inside when the edge
    functions d·(b×c), d·(c×a), d·(a×b) are all ≥ 0 (the camera's axes are left-handed, so this is the front), and the
    inverse depth there is n·d / n·a, which equals (e₀+e₁+e₂)/det but stays exact for slivers.

    Returns 13 rows (three edges and the inverse depth, each as coefficients of x, y, 1, then the lit colour packed as
    r + 256 g + 65536 b) and 4 rows of the box (first and last column and row; empty for a face that is not drawn).
    """
    m, centre, eye, key, fill = thing[0:9], thing[9:12], thing[12:15], thing[15:18], thing[18:21]
    corner = [
        [m[3 * i] * mesh[j] + m[3 * i + 1] * mesh[j + 1] + m[3 * i + 2] * mesh[j + 2] + centre[i] for i in range(3)]
        for j in (0, 3, 6)
    ]
    nx, ny, nz = mesh[9], mesh[10], mesh[11]
    facing = nx * (eye[0] - mesh[0]) + ny * (eye[1] - mesh[1]) + nz * (eye[2] - mesh[2])
    drawn = facing > FACING
    scale = -1.0 / jnp.where(drawn, facing, 1.0)
    rows: list[Any] = []
    for p, q in ((corner[1], corner[2]), (corner[2], corner[0]), (corner[0], corner[1])):
        rows += [p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0]]
    rows += [(m[3 * i] * nx + m[3 * i + 1] * ny + m[3 * i + 2] * nz) * scale for i in range(3)]

    light = AMBIENT + KEY_STRENGTH * jnp.maximum(nx * key[0] + ny * key[1] + nz * key[2], 0.0)
    light = light + FILL_STRENGTH * jnp.maximum(nx * fill[0] + ny * fill[1] + nz * fill[2], 0.0)
    rows.append(pack(mesh[12] * light, mesh[13] * light, mesh[14] * light))
    return rows, face_box(corner, drawn, thing[21:25], width, height)


def face_box(corner: Sequence[Any], drawn: Any, whole: Any, width: int, height: int) -> list[Any]:
    """First and last column and row of the pixel centres in a face's bounding box, as whole floats.

    A face that crosses the near plane has no finite projection and takes the box of the whole thing.
    """
    sx, x0, sy, y0 = pixel_scale(width, height)
    safe = jnp.minimum(jnp.minimum(corner[0][2], corner[1][2]), corner[2][2]) > NEAR
    inverse = [1.0 / jnp.maximum(c[2], NEAR) for c in corner]
    u = [(c[0] * i - x0) / sx for c, i in zip(corner, inverse, strict=True)]
    v = [(y0 - c[1] * i) / sy for c, i in zip(corner, inverse, strict=True)]
    slack = 1e-2  # pixels, against rounding

    def low(a: Sequence[Any], first: Any) -> Any:
        edge = jnp.ceil(jnp.minimum(jnp.minimum(a[0], a[1]), a[2]) - slack)
        return jnp.where(safe, jnp.maximum(edge, first), first)

    def high(a: Sequence[Any], last: Any) -> Any:
        edge = jnp.floor(jnp.maximum(jnp.maximum(a[0], a[1]), a[2]) + slack)
        return jnp.where(safe, jnp.minimum(edge, last), last)

    return [
        low(u, whole[0]),
        jnp.where(drawn, high(u, whole[1]), -1.0),
        low(v, whole[2]),
        high(v, whole[3]),
    ]


def pack(r: Any, g: Any, b: Any) -> Int[Array, ...]:
    """Three channels in 0…1 (clipped) as one whole number, 8 bits each."""
    r8, g8, b8 = ((255.0 * jnp.clip(c, 0.0, 1.0) + 0.5).astype(jnp.int32) for c in (r, g, b))
    return r8 + g8 * 256 + b8 * 65536


def wave(v: Any) -> Any:
    """A square wave of period 1 in −1…1 with soft edges, so that rounding never flips a pixel."""
    return jnp.clip(9.0 * (jnp.abs(v - jnp.floor(v) - 0.5) * 4.0 - 1.0), -1.0, 1.0)


def background(frame: Any, shadow: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    """The room's packed colour along the rays ``(x, y, 1)``.

    Each of the six surfaces has an inverse depth that is linear in x and y; seen from inside, the largest is the one
    that is met. ``shadow`` gives the share of light that is left at a point of the floor.
    """
    ex, ey, ez = frame[0], frame[1], frame[2]
    dx, dy, dz = (x * frame[3 + i] + y * frame[6 + i] + frame[9 + i] for i in range(3))
    wx = jnp.maximum(dx * frame[12], -dx * frame[13])
    wy = jnp.maximum(dy * frame[14], -dy * frame[15])
    wz = jnp.maximum(dz * frame[16], -dz * frame[17])
    side = jnp.maximum(wx, wy)
    t = 1.0 / jnp.maximum(side, wz)
    px, py, pz = ex + t * dx, ey + t * dy, ez + t * dz
    level, on_x, up = wz >= side, wx >= wy, dz > 0.0

    along = wave(jnp.where(jnp.logical_and(on_x, jnp.logical_not(level)), py, px))
    # A pixel's footprint on the floor grows with the square of the distance, on a wall only linearly: fade sooner.
    tiles = 1.0 + 0.13 * jnp.clip(1.3 - 0.3 * t, 0.0, 1.0) * along * wave(py)
    panels = 1.0 + 0.05 * jnp.clip(1.3 - 0.15 * t, 0.0, 1.0) * along
    panels = panels * (0.80 + 0.20 * jnp.clip((pz - 0.60) * 25.0, 0.0, 1.0))
    panels = panels * (1.0 - 0.18 * jnp.clip(1.5 - jnp.abs(pz - 0.64) * 25.0, 0.0, 1.0))
    light = jnp.where(level, jnp.where(up, 1.0, tiles * shadow(px, py)), panels)
    light = light * jnp.maximum(1.0 - 0.035 * t, 0.6)

    def channel(i: int) -> Any:
        on_side = jnp.where(
            on_x,
            jnp.where(dx > 0.0, frame[18 + i], frame[21 + i]),
            jnp.where(dy > 0.0, frame[24 + i], frame[27 + i]),
        )
        return light * jnp.where(level, jnp.where(up, frame[30 + i], frame[33 + i]), on_side)

    return pack(channel(0), channel(1), channel(2))


def shadow_of(thing: Any, px: Any, py: Any) -> Any:
    """The share of light that one thing leaves at a point of the floor: a soft disc beneath it."""
    ax, ay = px - thing[25], py - thing[26]
    return 1.0 - thing[28] * jnp.maximum(1.0 - (ax * ax + ay * ay) * thing[27], 0.0)


def unpack(packed: Int[Array, ...]) -> Array:
    """Packed colours as uint8 on a new last axis."""
    channels = [packed & 255, (packed // 256) & 255, (packed // 65536) & 255]
    return jnp.stack(channels, axis=-1).astype(jnp.uint8)
