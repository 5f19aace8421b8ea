"""Standardised visual codes: each feature minus its mean over rooms and time, over its deviation.

Visual codes share a large common part (floor, walls) in which a comparison of two views drowns; this takes it out.
Not in the paper: an option of every agent. The statistics are running averages, saved with the weights but no
parameters: no gradient flows into them, and the learner replaces them after each update.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int

CLIP = 5.0
"""Standardised codes lie within ±CLIP."""

DECAY = 0.99
"""Weight of the past in one update, once enough updates were seen."""


class Statistics(NamedTuple):
    """Running mean and variance of each feature."""

    mean: Float[Array, " v"]
    variance: Float[Array, " v"]
    updates: Int[Array, ""]


def initial_statistics(size: int) -> Statistics:
    """Before the first update, standardising changes nothing (but clips)."""
    return Statistics(jnp.zeros(size), jnp.ones(size), jnp.zeros((), jnp.int32))


def standardise(statistics: Statistics, v: Float[Array, "... v"]) -> Float[Array, "... v"]:
    """(v − mean) / deviation within ±CLIP. Gradients flow through v alone."""
    mean, variance, _ = jax.lax.stop_gradient(statistics)
    return jnp.clip((v - mean) * jax.lax.rsqrt(variance + 1e-6), -CLIP, CLIP)


def update_statistics(
    statistics: Statistics, v: Float[Array, "*n v"], decay: float = DECAY, axis_name: str | None = None
) -> Statistics:
    """The statistics after a batch of codes: a plain average of the first batches, then an exponential one.

    With `axis_name` the batch is the union of those of all devices on that axis.
    """
    v = jax.lax.stop_gradient(v).reshape(-1, v.shape[-1])
    mean = jnp.mean(v, axis=0)
    if axis_name is not None:
        mean = jax.lax.pmean(mean, axis_name)
    spread = jnp.mean((v - mean) ** 2, axis=0)
    if axis_name is not None:
        spread = jax.lax.pmean(spread, axis_name)
    rate = jnp.maximum(1 / (statistics.updates + 1), 1 - decay)
    step = mean - statistics.mean
    variance = (1 - rate) * (statistics.variance + rate * step**2) + rate * spread
    return Statistics(statistics.mean + rate * step, variance, statistics.updates + 1)
