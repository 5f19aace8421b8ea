"""Which objects play in an episode, and what they are called."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Int

from daxlab.assets.catalog import bank
from daxlab.levels.spec import Level
from daxlab.levels.vocabulary import encode_words


def sample(key: Array, size: int, n: int) -> Int[Array, " n"]:
    """n different numbers below size, in random order."""
    return jax.lax.top_k(jax.random.uniform(key, (size,)), n)[1].astype(jnp.int32)


def meshes(level: Level) -> Int[Array, " g"]:
    """Mesh of each object of G."""
    return jnp.asarray(np.array([bank().index(name) for name in level.objects], np.int32))


def own_names(level: Level) -> Int[Array, " g"]:
    """Permanent name of each object of G."""
    return jnp.asarray(encode_words(level.objects))


def made_up_names(level: Level) -> Int[Array, " w"]:
    """The words of the fast regime."""
    return jnp.asarray(encode_words(level.words))
