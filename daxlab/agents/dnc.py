"""The paper's Differentiable Neural Computer (section 3).

    e_t = w(h_{t-1}, r_{t-1}, x_t),  x_t = [v_t, l_t]
    h_t = LSTM(e_t, h_{t-1})
    for each head:  q(h_t), β(h_t);  s_i = cos(q, e_i), i < t;  of the k most similar rows  r̂_t = Σ_j ŝ^j e^j,
                    ŝ = softmax_j(β s^j)
    r_t = [r̂_t^1, …, r̂_t^n];  then e_t is written.

What is read at t is used at t+1: policy and value see e_t and h_t. β = 1 + softplus, as in Graves et al.
"""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, PRNGKeyArray

from daxlab.agents import memory
from daxlab.agents.config import AgentConfig, MemoryConfig
from daxlab.agents.core import CoreInput, CoreOutput, Reads
from daxlab.agents.layers import Linear, masked_softmax
from daxlab.agents.lstm import LSTMCell, LSTMState, reset


class DNCState(NamedTuple):
    """LSTM, memory, and what was read at the last step."""

    lstm: LSTMState
    ring: memory.Ring
    r: Float[Array, " r"]


class DNC(eqx.Module):
    """The paper's DNC agent."""

    latent_x: Linear
    latent_h: Linear
    latent_r: Linear
    cell: LSTMCell
    query: Linear
    strength: Linear
    size: int = eqx.field(static=True)
    config: MemoryConfig = eqx.field(static=True)

    def __init__(self, key: PRNGKeyArray, config: AgentConfig) -> None:
        keys = jax.random.split(key, 6)
        heads = config.memory.heads
        self.latent_x = Linear(keys[0], config.vision.embedding + config.language.embedding, config.latent)
        self.latent_h = Linear(keys[1], config.lstm, config.latent, bias=False)
        self.latent_r = Linear(keys[2], heads * config.latent, config.latent, bias=False)
        self.cell = LSTMCell(keys[3], config.latent, config.lstm)
        self.query = Linear(keys[4], config.lstm, heads * config.latent)
        self.strength = Linear(keys[5], config.lstm, heads)
        self.size = config.latent
        self.config = config.memory

    def initial(self) -> DNCState:
        """Zeros and an empty memory."""
        ring = memory.empty(self.config.size, (self.size,), self.config.dtype)
        return DNCState(self.cell.initial(), ring, jnp.zeros(self.config.heads * self.size))

    def step(self, state: DNCState, x: CoreInput) -> tuple[DNCState, CoreOutput]:
        """One step."""
        return self._advance(state, (self._prepare(x), x))

    def unroll(self, state: DNCState, x: CoreInput) -> tuple[DNCState, CoreOutput]:
        """T steps. What is written depends on h, so the ring goes through the scan."""
        return jax.lax.scan(lambda *a: self._advance(*a), state, (self._prepare(x), x))

    def _prepare(self, x: CoreInput) -> Float[Array, "... e"]:
        return self.latent_x(jnp.concatenate([x.v, x.l], axis=-1))

    def _advance(self, state: DNCState, step: tuple[Array, CoreInput]) -> tuple[DNCState, CoreOutput]:
        x_part, x = step
        ring = memory.begin(state.ring, x.first)
        lstm = reset(state.lstm, x.first)
        r = jnp.where(x.first, 0.0, state.r)
        e = jax.nn.relu(x_part + self.latent_h(lstm.h) + self.latent_r(r))
        lstm = self.cell(lstm, e)
        r, reads = self._read(memory.table(ring), lstm.h)
        row = e if self.config.write_gradient else jax.lax.stop_gradient(e)
        ring = memory.write(ring, (row,), x.write, after=r)
        return DNCState(lstm, ring, r), CoreOutput(e, lstm.h, reads, (e,))

    def _read(self, table: memory.Table, h: Float[Array, " h"]) -> tuple[Float[Array, " r"], Reads]:
        query = self.query(h).reshape(self.config.heads, self.size)
        beta = 1 + jax.nn.softplus(self.strength(h))
        chosen = memory.choose(table, query, self.config.k)
        rows = memory.gather(table.columns[0], chosen.rows)
        weights = masked_softmax(beta[:, None] * memory.similarity(query, rows), chosen.valid)
        r = jnp.einsum("nk,nkd->nd", weights, rows)
        return r.reshape(-1), Reads(weights, chosen.time)
