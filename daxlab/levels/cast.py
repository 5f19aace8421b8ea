"""Which objects play in an episode, and what they are called."""

from __future__ import annotations

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Int

from daxlab.assets import categories
from daxlab.assets.catalog import bank
from daxlab.assets.furniture import FURNITURE
from daxlab.assets.mesh import Bank, build_bank
from daxlab.levels.spec import Level
from daxlab.levels.vocabulary import encode_words


def sample(key: Array, size: int, n: int) -> Int[Array, " n"]:
    """n different numbers below size, in random order."""
    return jax.lax.top_k(jax.random.uniform(key, (size,)), n)[1].astype(jnp.int32)


def things(level: Level) -> Bank:
    """The meshes that a level's scenes are made of: its objects, maybe others, and the furniture."""
    return _classes(level.objects, level.exemplars) if level.exemplars else bank()


@cache
def _classes(names: tuple[str, ...], per_class: int) -> Bank:
    """Class after class, then the furniture."""
    furniture = {name: build().mesh for name, build in FURNITURE.items()}
    return build_bank(categories.exemplars(names, per_class) | furniture)


def meshes(level: Level) -> Int[Array, " g"]:
    """Mesh of each object of G; of a class its first."""
    if level.exemplars:
        return jnp.arange(len(level.objects), dtype=jnp.int32) * level.exemplars
    return jnp.asarray(np.array([bank().index(name) for name in level.objects], np.int32))


def dress(level: Level, key: Array, chosen: Int[Array, " n"]) -> tuple[Int[Array, " n"], Int[Array, " n"]]:
    """Meshes of the chosen objects in the discovery and in the instruction phase."""
    mesh = meshes(level)[chosen]
    if not level.exemplars:
        return mesh, mesh
    k_first, k_other = jax.random.split(key)
    first = jax.random.randint(k_first, chosen.shape, 0, level.exemplars, jnp.int32)
    if not level.extension:
        return mesh + first, mesh + first
    further = jax.random.randint(k_other, chosen.shape, 1, level.exemplars, jnp.int32)
    return mesh + first, mesh + (first + further) % level.exemplars


def own_names(level: Level) -> Int[Array, " g"]:
    """Permanent name of each object of G: of a class of several words the first, as no two classes share one."""
    return jnp.asarray(encode_words(level.objects))


def made_up_names(level: Level) -> Int[Array, " w"]:
    """The words of the fast regime."""
    return jnp.asarray(encode_words(level.words))
