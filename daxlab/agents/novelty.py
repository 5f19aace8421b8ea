"""NGU intrinsic reward from one column of the memory (A.4.3), with the paper's constants in `NoveltyConfig`.

Of the new embedding e and its nearest neighbours e_i among the rows in memory:

    ρ_i = |e − e_i|² / (ρ̄ + c)
    k_i = ε / (max(ρ_i − ρ_min, 0) + ε)
    s   = √(Σ_i k_i) + c
    r   = 1/s if s < s_max, else 0

ρ̄ is a lifetime average "of all ρ_i that is updated with every computation": used first, then updated, and shared by
all rooms. With an empty memory there is no neighbour and we give 0: the formula's 1/c would pay for every new episode.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float

from daxlab.agents.config import NoveltyConfig


class Average(NamedTuple):
    """A lifetime average."""

    mean: Float[Array, ""]
    terms: Float[Array, ""]


class Novelty(NamedTuple):
    """The surprise of one embedding, and what it adds to the lifetime average."""

    reward: Float[Array, ""]
    total: Float[Array, ""]
    """Sum of the new terms of the average."""
    terms: Float[Array, ""]
    """How many they are."""


def initial_average() -> Average:
    """Nothing seen."""
    return Average(jnp.zeros(()), jnp.zeros(()))


def novelty(
    average: Float[Array, ""],
    e: Float[Array, " d"],
    rows: Float[Array, "m d"],
    visible: Bool[Array, " m"],
    config: NoveltyConfig,
) -> Novelty:
    """The NGU reward of e against the visible rows, given the average ρ̄ so far. One room; no gradients."""
    e, rows = jax.lax.stop_gradient((e, rows.astype(jnp.float32)))
    distance = jnp.sum((e - rows) ** 2, axis=-1)
    nearest = -jax.lax.top_k(jnp.where(visible, -distance, -jnp.inf), min(config.neighbours, rows.shape[0]))[0]
    found = jnp.isfinite(nearest)
    nearest = jnp.where(found, nearest, 0.0)
    rho = nearest / (average + config.c)
    kernel = config.epsilon / (jnp.maximum(rho - config.rho_min, 0.0) + config.epsilon)
    s = jnp.sqrt(jnp.sum(jnp.where(found, kernel, 0.0))) + config.c
    reward = jnp.where(jnp.any(found) & (s < config.s_max), 1 / s, 0.0)
    averaged = rho if config.average == "rho" else nearest
    return Novelty(reward, jnp.sum(jnp.where(found, averaged, 0.0)), jnp.sum(found).astype(jnp.float32))


def update_average(
    average: Average, total: Float[Array, "*n"], terms: Float[Array, "*n"], axis_name: str | None = None
) -> Average:
    """The average after the computations of any number of rooms; with `axis_name` those of all devices on that axis."""
    sums = jnp.sum(total), jnp.sum(terms)
    new, added = sums if axis_name is None else jax.lax.psum(sums, axis_name)
    together = average.terms + added
    mean = average.mean + (new - added * average.mean) / jnp.maximum(together, 1.0)
    return Average(mean, together)
