"""The LSTM cell that every core but the transformer has, and the core that has nothing else.

    e_t = w(h_{t-1}, x_t),  x_t = [v_t, l_t]
    h_t = LSTM(e_t, h_{t-1})

The paper gives e_t for its memory agents only; for the LSTM agent we take the same e_t without the read-out.
"""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float, PRNGKeyArray

from daxlab.agents.config import AgentConfig
from daxlab.agents.core import CoreInput, CoreOutput, no_reads
from daxlab.agents.layers import Linear
from daxlab.agents.recurrence import through_time


class LSTMState(NamedTuple):
    """Hidden and cell state."""

    h: Float[Array, " h"]
    c: Float[Array, " h"]


class LSTMCell(eqx.Module):
    """i, g, f, o = W_x x + W_h h + b;  c' = σ(f + 1) c + σ(i) tanh(g);  h' = σ(o) tanh(c')."""

    x: Linear
    h: Linear
    size: int = eqx.field(static=True)

    def __init__(self, key: PRNGKeyArray, inputs: int, size: int) -> None:
        k_x, k_h = jax.random.split(key)
        self.x = Linear(k_x, inputs, 4 * size)
        self.h = Linear(k_h, size, 4 * size, bias=False)
        self.size = size

    def initial(self) -> LSTMState:
        """Zeros."""
        return LSTMState(jnp.zeros(self.size), jnp.zeros(self.size))

    def project(self, x: Float[Array, "... x"]) -> Float[Array, "... 4h"]:
        """The input's part of the gates, for any number of steps at once."""
        return self.x(x)

    def advance(self, state: LSTMState, projected: Float[Array, " 4h"]) -> LSTMState:
        """One step from the input's part of the gates."""
        i, g, f, o = jnp.split(projected + self.h(state.h), 4, axis=-1)
        c = jax.nn.sigmoid(f + 1) * state.c + jax.nn.sigmoid(i) * jnp.tanh(g)
        return LSTMState(jax.nn.sigmoid(o) * jnp.tanh(c), c)

    def __call__(self, state: LSTMState, x: Float[Array, " x"]) -> LSTMState:
        """One step."""
        return self.advance(state, self.project(x))


def reset(state: LSTMState, first: Bool[Array, ""]) -> LSTMState:
    """Zeros at an episode's first step."""
    return jax.tree.map(lambda a: jnp.where(first, 0.0, a), state)


class LSTMCore(eqx.Module):
    """The paper's LSTM agent."""

    latent_x: Linear
    latent_h: Linear
    cell: LSTMCell

    def __init__(self, key: PRNGKeyArray, config: AgentConfig) -> None:
        k_x, k_h, k_cell = jax.random.split(key, 3)
        self.latent_x = Linear(k_x, config.vision.embedding + config.language.embedding, config.latent)
        self.latent_h = Linear(k_h, config.lstm, config.latent, bias=False)
        self.cell = LSTMCell(k_cell, config.latent, config.lstm)

    def initial(self) -> LSTMState:
        """Zeros."""
        return self.cell.initial()

    def step(self, state: LSTMState, x: CoreInput) -> tuple[LSTMState, CoreOutput]:
        """One step."""
        state, e = self._think(state, (self._prepare(x), x.first))
        return state, CoreOutput(e, state.h, no_reads(), ())

    def unroll(self, state: LSTMState, x: CoreInput) -> tuple[LSTMState, CoreOutput]:
        """T steps; what does not depend on h is done for all of them at once."""
        steps = self._prepare(x), x.first
        core, start, fixed = jax.lax.stop_gradient((self, state, steps))
        _, before = jax.lax.scan(lambda state, step: (core._think(state, step)[0], state), start, fixed)
        after, e = through_time(LSTMCore._think, self, before, steps)
        reads = jax.tree.map(lambda none: jnp.zeros((len(e), *none.shape), none.dtype), no_reads())
        return jax.tree.map(lambda x: x[-1], after), CoreOutput(e, after.h, reads, ())

    def _prepare(self, x: CoreInput) -> Float[Array, "... e"]:
        return self.latent_x(jnp.concatenate([x.v, x.l], axis=-1))

    def _think(self, state: LSTMState, step: tuple[Array, Array]) -> tuple[LSTMState, Float[Array, " e"]]:
        x_part, first = step
        state = reset(state, first)
        e = jax.nn.relu(x_part + self.latent_h(state.h))
        return self.cell(state, e), e
