"""Pictures on the CPU: the Numba kernel, called from a compiled JAX program or from plain NumPy."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import UInt8

from daxlab.assets.mesh import Bank
from daxlab.render import ffi, setup
from daxlab.render.scene import Scene

TYPES = Scene(np.float32, np.float32, np.int32, np.float32, np.float32, np.float32, np.int32)  # type: ignore[arg-type]
RANKS = Scene(1, 2, 1, 2, 3, 1, 0)  # type: ignore[arg-type]
_SCALARS = (setup.TAN, setup.NEAR, setup.FACING, setup.AMBIENT, setup.KEY_STRENGTH, setup.FILL_STRENGTH, setup.SHADOW)
LAW = np.array([*_SCALARS, *setup.KEY, *setup.FILL], np.float32)
"""The constants of `setup`, handed over at run time because Numba's cache on disk notices changes of `raster` only."""


def draw_batch(scene: Scene, table: setup.Table, width: int, height: int) -> UInt8[Array, "b height width 3"]:
    """Draw a batch of rooms inside a JAX program, on all of XLA's threads."""
    ffi.register()
    call = jax.ffi.ffi_call(ffi.TARGET, jax.ShapeDtypeStruct((scene.eye.shape[0], height, width, 3), jnp.uint8))
    rooms = (jnp.asarray(a, kind) for a, kind in zip(scene, TYPES, strict=True))
    return call(*rooms, table.rows, table.size, table.faces, setup.PALETTES, LAW)


def draw(
    eye: Any, look: Any, mesh: Any, position: Any, rotation: Any, room: Any, decor: Any,
    width: int, height: int, bank: Bank,
) -> UInt8[np.ndarray, "... height width 3"]:  # fmt: skip
    """Draw one room, or a batch of them (each array with a leading axis), from NumPy on the calling thread."""
    return draw_scene(Scene(eye, look, mesh, position, rotation, room, decor), setup.table(bank), width, height)


def draw_scene(scene: Scene, table: setup.Table, width: int, height: int) -> UInt8[np.ndarray, "... height width 3"]:
    """As `draw`, with the bank's table made beforehand: making it takes longer than drawing a small picture."""
    given = [np.ascontiguousarray(a, kind) for a, kind in zip(scene, TYPES, strict=True)]
    batch = given[0].shape[:-1]
    rooms = int(np.prod(batch))
    out = np.empty((*batch, height, width, 3), np.uint8)
    arrays = [*given, table.rows, table.size, table.faces, setup.PALETTES, LAW, out]
    sizes = [rooms, given[2].shape[-1], width, height, len(table.faces), len(setup.PALETTES)]
    job = np.array([*sizes, *(a.ctypes.data for a in arrays)], np.intp)
    ffi.kernel().ctypes(0, rooms, job.ctypes.data)
    return out
