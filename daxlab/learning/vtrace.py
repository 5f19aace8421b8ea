"""V-trace (Espeholt et al. 2018, IMPALA): off-policy corrected values and advantages of one sequence."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float


class VTrace(NamedTuple):
    """For each transition from t−1 to t; neither has a gradient."""

    target_tm1: Float[Array, " t"]
    """vs: what the value at t−1 should be."""
    advantage_tm1: Float[Array, " t"]
    """ρ (r + γ vs_t − V): the weight of the policy gradient."""


def vtrace(
    v_tm1: Float[Array, " t"],
    v_t: Float[Array, " t"],
    r_t: Float[Array, " t"],
    discount_t: Float[Array, " t"],
    rho_tm1: Float[Array, " t"],
    mask_tm1: Bool[Array, " t"] | None = None,
    lambda_: float = 1.0,
    clip_rho: float = 1.0,
    clip_pg_rho: float = 1.0,
) -> VTrace:
    """V-trace targets and advantages of T transitions.

        δ_{t-1}  = ρ_{t-1} (r_t + γ_t V_t − V_{t-1})
        vs_{t-1} = V_{t-1} + δ_{t-1} + γ_t c_{t-1} (vs_t − V_t),   c = λ min(1, ρ)

    `discount_t` is the one the environment gave on arriving at t: 0 where the episode terminated, γ where it ran out of
    time. `mask_tm1` is False for what is no transition (from a LAST step to the next FIRST): there the error is 0 and
    the recursion starts afresh, so a time-out is worth V of its LAST step and nothing of the next episode.
    """
    v_tm1, v_t, rho_tm1 = jax.lax.stop_gradient((v_tm1, v_t, rho_tm1))
    if mask_tm1 is not None:
        discount_t = jnp.where(mask_tm1, discount_t, 0.0)
        r_t = jnp.where(mask_tm1, r_t, v_tm1)
    td_tm1 = jnp.minimum(clip_rho, rho_tm1) * (r_t + discount_t * v_t - v_tm1)
    c_tm1 = lambda_ * jnp.minimum(1.0, rho_tm1)

    def backwards(error_t: Array, step: tuple[Array, Array]) -> tuple[Array, Array]:
        td, decay = step
        error_tm1 = td + decay * error_t
        return error_tm1, error_tm1

    error_tm1 = jax.lax.scan(backwards, jnp.zeros(()), (td_tm1, discount_t * c_tm1), reverse=True)[1]
    error_t = jnp.append(error_tm1[1:], 0.0)
    advantage_tm1 = jnp.minimum(clip_pg_rho, rho_tm1) * (r_t + discount_t * (v_t + lambda_ * error_t) - v_tm1)
    return VTrace(v_tm1 + error_tm1, advantage_tm1)
