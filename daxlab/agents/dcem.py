"""Dual-coding episodic memory (section 3), and `dcem_match`, our variant of it.

    q^i  = q_i(v_t, l_t, h_{t-1})                        a query for each head i
    s    = cos(q^i, l_τ), τ < t                          keys are language, values are vision
    m^j, s^j                                             the k values with the most similar keys
    ŝ    = softmax_j(s^j);   m̂^j = ŝ^j m^j
    r^i  = Σ_j self-attention(m̂^1, …, m̂^k)^j;            r_t = [r^1, …, r^n]
    e_t  = w(h_{t-1}, r_t, x_t),  x_t = [v_t, l_t]
    h_t  = LSTM(e_t, h_{t-1});   then l_t and v_t are written.

`dcem_match` adds two terms, each one line below: the query starts from what is heard, q^i = l_t + q_i(…), and the
read-out also carries the match v_t ⊙ Σ_j m̂^j of what is seen with what is recalled. Its codes are always standardised
(see `standardise.py`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float, PRNGKeyArray

from daxlab.agents import memory
from daxlab.agents.config import AgentConfig, MemoryConfig
from daxlab.agents.core import CoreInput, CoreOutput, Reads
from daxlab.agents.layers import Linear, masked_softmax
from daxlab.agents.lstm import LSTMCell, LSTMState, reset


class DCEMState(NamedTuple):
    """LSTM and memory; the memory's columns are keys (language) and values (vision)."""

    lstm: LSTMState
    ring: memory.Ring


class Prepared(NamedTuple):
    """The parts of a step that do not depend on h."""

    query: Float[Array, "n l"]
    latent: Float[Array, " e"]


class Aggregation(eqx.Module):
    """Self-attention over the k weighted memories, summed: r = Σ_i Σ_j A_ij W_v m̂^j, shared by the heads."""

    query: Linear
    key: Linear
    value: Linear

    def __init__(self, key: PRNGKeyArray, inputs: int, query: int, value: int) -> None:
        k_query, k_key, k_value = jax.random.split(key, 3)
        self.query = Linear(k_query, inputs, query, bias=False)
        self.key = Linear(k_key, inputs, query, bias=False)
        self.value = Linear(k_value, inputs, value, bias=False)

    def __call__(self, memories: Float[Array, "n k v"], valid: Bool[Array, "n k"]) -> Float[Array, "n r"]:
        """Aggregate the memories of each head. W_v is linear, so it is applied once, to the sum."""
        scores = jnp.einsum("nid,njd->nij", self.query(memories), self.key(memories))
        attention = masked_softmax(scores / self.query.weight.shape[1] ** 0.5, valid[:, None, :])
        total = jnp.sum(jnp.where(valid[:, :, None], attention, 0.0), axis=1)
        return self.value(jnp.einsum("nj,njv->nv", total, memories))


class DCEM(eqx.Module):
    """The paper's DCEM agent; with `match`, ours."""

    query_x: Linear
    query_h: Linear
    aggregation: Aggregation
    latent_x: Linear
    latent_h: Linear
    latent_r: Linear
    latent_c: Linear | None
    cell: LSTMCell
    widths: tuple[int, int] = eqx.field(static=True)
    config: MemoryConfig = eqx.field(static=True)
    match: bool = eqx.field(static=True)

    def __init__(self, key: PRNGKeyArray, config: AgentConfig) -> None:
        keys = jax.random.split(key, 8)
        l, v = config.language.embedding, config.vision.embedding  # noqa: E741
        heads = config.memory.heads
        self.match = config.core == "dcem_match"
        # A query that starts from what is heard starts with nothing else.
        scale = 0.0 if self.match else 1.0
        self.query_x = Linear(keys[0], v + l, heads * l, scale=scale)
        self.query_h = Linear(keys[1], config.lstm, heads * l, bias=False, scale=scale)
        self.aggregation = Aggregation(keys[2], v, config.memory.query, config.memory.value)
        self.latent_x = Linear(keys[3], v + l, config.latent)
        self.latent_h = Linear(keys[4], config.lstm, config.latent, bias=False)
        self.latent_r = Linear(keys[5], heads * (config.memory.value + v * self.match), config.latent, bias=False)
        # A layer of its own: among hundreds of inputs one number would start with next to no weight.
        cosine = self.match and config.memory.match_cosine
        self.latent_c = Linear(keys[7], heads, config.latent, bias=False) if cosine else None
        self.cell = LSTMCell(keys[6], config.latent, config.lstm)
        self.widths = (l, v)
        self.config = config.memory

    def initial(self) -> DCEMState:
        """Zeros and an empty memory."""
        return DCEMState(self.cell.initial(), memory.empty(self.config.size, self.widths, self.config.dtype))

    def step(self, state: DCEMState, x: CoreInput) -> tuple[DCEMState, CoreOutput]:
        """One step: read, think, write."""
        ring = memory.begin(state.ring, x.first)
        lstm, prepared = reset(state.lstm, x.first), self._prepare(x)
        read = self._read(memory.table(ring), self._query(prepared.query, lstm.h), x)
        lstm, output = self._think(lstm, prepared, *read)
        ring = memory.write(ring, self._rows(x), x.write, after=output.e)
        return DCEMState(lstm, ring), output._replace(rows=(x.l, x.v))

    def unroll(self, state: DCEMState, x: CoreInput) -> tuple[DCEMState, CoreOutput]:
        """T steps. What is written does not depend on h, so all rows stand ready before the scan."""
        ring = jax.lax.stop_gradient(state.ring)
        rows = self._rows(x)
        at = memory.moments(ring, x.first, x.write)
        window = memory.window(ring, rows, at, x.write)

        prepared = self._prepare(x)

        def read(h: Array | None, query: Array, x: CoreInput, now: memory.Moments) -> tuple[Array, Reads]:
            return self._read(memory.table_at(window, now, self.config.size), self._query(query, h), x)

        # A query that is what is heard does not depend on h: then all reads are done at once, and the scan only thinks.
        early = None if self.asks_h else jax.vmap(lambda *step: read(None, *step))(prepared.query, x, at)

        def body(lstm: LSTMState, step: Any) -> tuple[LSTMState, CoreOutput]:
            prepared, x, now, early = step
            lstm = reset(lstm, x.first)
            return self._think(lstm, prepared, *(early or read(lstm.h, prepared.query, x, now)))

        lstm, output = jax.lax.scan(body, state.lstm, (prepared, x, at, early))
        return DCEMState(lstm, memory.close(ring, rows, at, x.write)), output._replace(rows=(x.l, x.v))

    def _rows(self, x: CoreInput) -> tuple[Array, Array]:
        rows = (x.l, x.v)
        return rows if self.config.write_gradient else jax.lax.stop_gradient(rows)

    def _prepare(self, x: CoreInput) -> Prepared:
        inputs = jnp.concatenate([x.v, x.l], axis=-1)
        query = self.query_x(inputs).reshape(*x.l.shape[:-1], self.config.heads, self.widths[0])
        if self.match:
            query = self.config.query_gain * query + x.l[..., None, :]
        return Prepared(query, self.latent_x(inputs))

    @property
    def asks_h(self) -> bool:
        """Whether what is asked of the memory depends on h."""
        return not self.match or self.config.query_gain != 0

    def _query(self, prepared: Float[Array, "n l"], h: Float[Array, " h"] | None) -> Float[Array, "n l"]:
        if h is None or not self.asks_h:
            return prepared
        gain = self.config.query_gain if self.match else 1.0
        return prepared + gain * self.query_h(h).reshape(prepared.shape)

    def _think(
        self, lstm: LSTMState, prepared: Prepared, read: Float[Array, " e"], reads: Reads
    ) -> tuple[LSTMState, CoreOutput]:
        e = jax.nn.relu(prepared.latent + self.latent_h(lstm.h) + read)
        lstm = self.cell(lstm, e)
        return lstm, CoreOutput(e, lstm.h, reads, ())

    def _read(self, table: memory.Table, query: Float[Array, "n l"], x: CoreInput) -> tuple[Float[Array, " e"], Reads]:
        """What the memory adds to the latent, and where it was read."""
        if self.config.skip_present:
            table = memory.without(table, x.l)
        recalled = memory.recall(table, query, self.config.k)
        weights = masked_softmax(self.config.sharpness * recalled.similarity, recalled.valid)
        memories = weights[..., None] * memory.gather(table, 1, recalled.rows)
        r = self.aggregation(memories, recalled.valid)
        if not self.match:
            return self.latent_r(r.reshape(-1)), Reads(weights, recalled.time)
        seen_before = jnp.sum(memories, axis=1)
        r = jnp.concatenate([r, x.v * seen_before], axis=-1)
        latent = self.latent_r(r.reshape(-1))
        if self.latent_c is not None:
            latent += self.latent_c(memory.unit(seen_before) @ memory.unit(x.v))
        return latent, Reads(weights, recalled.time)
