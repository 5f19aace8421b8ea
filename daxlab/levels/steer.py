"""How a scripted actor turns, tilts and pulls: by the action that leaves the smallest error once momentum is gone."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int

from daxlab.levels.spec import Level
from daxlab.world.control import CONTROLS, action_table


def best(
    level: Level, control: str, error: Float[Array, ""], rate: Float[Array, ""], gain: float, grip: bool = False
) -> tuple[Int[Array, ""], Float[Array, ""]]:
    """The action whose push, once its momentum has died away, leaves the smallest error; and the error without it.

    With ``grip``, of the actions that keep the hand closed.
    """
    keep = level.physics.keep
    index, strength = _strengths(level, control, grip)
    left = jnp.abs(error - (keep * rate + gain * jnp.asarray(strength)) / (1 - keep))
    return jnp.asarray(index)[jnp.argmin(left)], jnp.abs(error - keep * rate / (1 - keep))


def _strengths(level: Level, control: str, grip: bool) -> tuple[Int[np.ndarray, " s"], Float[np.ndarray, " s"]]:
    """Actions that use this control alone, besides the hand, and their strengths, the weakest first."""
    table = action_table(level.actions)
    closed = table[:, CONTROLS.index("GRAB")] > 0
    others = np.delete(table, [CONTROLS.index(control), CONTROLS.index("GRAB")], axis=1)
    index = np.flatnonzero((others == 0).all(1) & (closed == grip))
    strength = table[index, CONTROLS.index(control)]
    order = np.argsort(np.abs(strength), kind="stable")
    return index[order].astype(np.int32), strength[order]


def wrap(angle: Float[Array, ""]) -> Float[Array, ""]:
    """The same angle within half a turn of zero."""
    return jnp.remainder(angle + jnp.pi, 2 * jnp.pi) - jnp.pi
