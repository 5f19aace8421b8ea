"""A scene in, pixels out. One meaning, several backends.

>>> picture = render(scene)                      # uint8 [72, 96, 3]
>>> pictures = jax.vmap(render)(scenes)          # any number of rooms in one call of the backend
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax
from jaxtyping import UInt8

from daxlab.assets.mesh import Bank
from daxlab.errors import DaxlabError, unknown
from daxlab.render.scene import Scene

__all__ = ["BACKENDS", "Scene", "render"]

BACKENDS = ("auto", "reference", "cpu", "gpu")


def render(
    scene: Scene, width: int = 96, height: int = 72, bank: Bank | None = None, backend: str = "auto"
) -> UInt8[Array, "height width 3"]:
    """Draw one room as the camera sees it; `jax.vmap` and `jax.jit` it as you like.

    ``bank`` holds the meshes that ``scene.mesh`` points into (the catalogue's by default). ``backend`` is "gpu"
    (Pallas), "cpu" (Numba), "reference" (plain JAX), or "auto": the one for JAX's default device.
    """
    if backend not in BACKENDS:
        raise unknown("render backend", backend, BACKENDS)
    if width < 1 or height < 1:
        raise DaxlabError(f"a picture must be at least 1×1 pixels; got width {width} and height {height}")
    if backend == "auto":
        backend = "gpu" if jax.default_backend() == "gpu" else "cpu"
    if bank is None:
        from daxlab.assets.catalog import bank as catalogue

        bank = catalogue()
    # Pixels are whole numbers: without this, a gradient taken round a step of the world would ask for their slope.
    one = jax.tree.map(lambda a: lax.stop_gradient(jnp.asarray(a))[None], scene)
    return _batched(_ById(bank), width, height, backend)(*one)[0]


class _ById:
    """A bank as a key of a cache: equal only to itself (its arrays have no hash)."""

    def __init__(self, bank: Bank) -> None:
        self.bank = bank

    def __hash__(self) -> int:
        return id(self.bank)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ById) and other.bank is self.bank


@functools.lru_cache(maxsize=64)
def _batched(key: _ById, width: int, height: int, backend: str) -> Callable[..., Array]:
    """A compiled function of a batch of scenes that folds every `vmap` round it into its batch axis."""
    draw = _drawer(backend)
    from daxlab.render import setup

    table = setup.table(key.bank)

    @jax.custom_batching.custom_vmap
    def pictures(*scene: Any) -> Array:
        return draw(Scene(*scene), table, width, height)

    @pictures.def_vmap
    def fold(axis_size: int, in_batched: list[bool], *scene: Any) -> tuple[Array, bool]:
        full = [
            a if batched else jnp.broadcast_to(a, (axis_size, *a.shape))
            for a, batched in zip(scene, in_batched, strict=True)
        ]
        rooms = full[0].shape[:2]
        flat = pictures(*(a.reshape(math.prod(rooms), *a.shape[2:]) for a in full))
        return flat.reshape(*rooms, *flat.shape[1:]), True

    return jax.jit(pictures)


def _drawer(backend: str) -> Callable[..., Array]:
    """The backend's function of a batch; imported here so that no other backend's packages are loaded."""
    if backend == "cpu":
        from daxlab.render.cpu import draw_batch

        return draw_batch
    if backend == "gpu":
        from daxlab.render.gpu import draw as draw_tiles

        return draw_tiles
    from daxlab.render.reference import draw

    return draw
