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
from daxlab.agents.recurrence import through_time


class DCEMState(NamedTuple):
    """LSTM and memory; the memory's columns are keys (language) and values (vision)."""

    lstm: LSTMState
    ring: memory.Ring


class Found(NamedTuple):
    """The k rows that each head found."""

    keys: Float[Array, "n k l"]
    values: Float[Array, "n k v"]
    affinity: Float[Array, "n k k"]
    """(W_q m^i) · (W_k m^j) of each two of the values."""
    valid: Bool[Array, "n k"]


class Moment(NamedTuple):
    """The parts of a step that do not depend on h, but for which rows were found."""

    first: Bool[Array, ""]
    v: Float[Array, " v"]
    l: Float[Array, " l"]  # noqa: E741
    query: Float[Array, "n l"]
    latent: Float[Array, " e"]
    found: Found | None = None
    """None where the latent has what was read from them already."""


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

    def affinity(self, memories: Float[Array, "n k v"]) -> Float[Array, "n k k"]:
        """The scores before the memories are weighted. W_q W_kᵀ is one matrix, and small."""
        return jnp.einsum("niv,njv->nij", memories @ (self.query.weight @ self.key.weight.T), memories)

    def __call__(self, weights: Float[Array, "n k"], found: Found) -> Float[Array, "n r"]:
        """Aggregate the memories of each head. W m̂^j = ŝ^j W m^j; W_v is applied once, to the sum."""
        scores = weights[:, :, None] * weights[:, None, :] * found.affinity
        attention = masked_softmax(scores / self.query.weight.shape[1] ** 0.5, found.valid[:, None, :])
        total = jnp.sum(jnp.where(found.valid[:, :, None], attention, 0.0), axis=1)
        return self.value(jnp.einsum("nj,njv->nv", total * weights, found.values))


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
        if config.memory.query_start == "heard":
            heard = jnp.tile(jnp.eye(l), heads)
            self.query_x = eqx.tree_at(
                lambda layer: layer.weight, self.query_x, replace_fn=lambda w: w.at[v:].add(heard)
            )
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
        ring, h = memory.begin(state.ring, x.first), reset(state.lstm, x.first).h
        moment = self._prepare(x)
        chosen = self._choose(memory.table(ring), h, moment)
        moment = moment._replace(found=self._find(ring.columns, chosen))
        lstm, e = self._think(state.lstm, moment)
        ring = memory.write(ring, self._rows(x), x.write, after=e)
        reads = Reads(self._weights(h, moment), chosen.time)
        return DCEMState(lstm, ring), CoreOutput(e, lstm.h, reads, (x.l, x.v))

    def unroll(self, state: DCEMState, x: CoreInput) -> tuple[DCEMState, CoreOutput]:
        """T steps. What is written does not depend on h, so all rows stand ready before the scan."""
        ring, rows, size = jax.lax.stop_gradient(state.ring), self._rows(x), self.config.size
        at = memory.moments(ring, x.first, x.write)
        window = memory.window(ring, rows, at, x.write)
        moments = self._prepare(x)
        find = jax.vmap(lambda chosen: self._find(window.columns, chosen))
        if not self.asks_h:
            # All that is read is read before the scan, which then only thinks.
            chosen = jax.vmap(lambda now, m: self._choose(memory.table_at(window, now, size), None, m))(at, moments)
            found = moments._replace(found=find(chosen))
            moments = moments._replace(latent=moments.latent + jax.vmap(lambda m: self._read(None, m))(found))
        core, fixed, quiet = jax.lax.stop_gradient((self, window, moments))

        def play(lstm: LSTMState, step: Any) -> tuple[LSTMState, Any]:
            moment, now = step
            chosen = None
            if self.asks_h:
                chosen = core._choose(memory.table_at(fixed, now, size), reset(lstm, moment.first).h, moment)
                moment = moment._replace(found=core._find(fixed.columns, chosen))
            return core._think(lstm, moment)[0], (lstm, chosen)

        _, (before, late) = jax.lax.scan(play, jax.lax.stop_gradient(state.lstm), (quiet, at))
        if self.asks_h:
            chosen = late
            moments = found = moments._replace(found=find(chosen))
        after, e = through_time(DCEM._think, self, before, moments)
        weights = jax.lax.stop_gradient(jax.vmap(self._weights)(jax.vmap(reset)(before, x.first).h, found))
        state = DCEMState(jax.tree.map(lambda x: x[-1], after), memory.close(ring, rows, at, x.write))
        return state, CoreOutput(e, after.h, Reads(weights, chosen.time), (x.l, x.v))

    def _rows(self, x: CoreInput) -> tuple[Array, Array]:
        rows = (x.l, x.v)
        return rows if self.config.write_gradient else jax.lax.stop_gradient(rows)

    def _prepare(self, x: CoreInput) -> Moment:
        inputs = jnp.concatenate([x.v, x.l], axis=-1)
        query = self.query_x(inputs).reshape(*x.l.shape[:-1], self.config.heads, self.widths[0])
        if self.match:
            query = self.config.query_gain * query + x.l[..., None, :]
        return Moment(x.first, x.v, x.l, query, self.latent_x(inputs))

    @property
    def asks_h(self) -> bool:
        """Whether what is asked of the memory depends on h."""
        return not self.match or self.config.query_gain != 0

    def _query(self, h: Float[Array, " h"] | None, moment: Moment) -> Float[Array, "n l"]:
        if h is None or not self.asks_h:
            return moment.query
        gain = self.config.query_gain if self.match else 1.0
        return moment.query + gain * self.query_h(h).reshape(moment.query.shape)

    def _choose(self, table: memory.Table, h: Float[Array, " h"] | None, moment: Moment) -> memory.Chosen:
        if self.config.skip_present:
            table = memory.without(table, moment.l)
        return memory.choose(table, self._query(h, moment), self.config.k)

    def _find(self, columns: tuple[Array, ...], chosen: memory.Chosen) -> Found:
        keys, values = (memory.gather(column, chosen.rows) for column in columns)
        return Found(keys, values, self.aggregation.affinity(values), chosen.valid)

    def _weights(self, h: Float[Array, " h"] | None, moment: Moment) -> Float[Array, "n k"]:
        """How much of each row is read."""
        assert moment.found is not None
        similarity = memory.similarity(self._query(h, moment), moment.found.keys)
        return masked_softmax(self.config.sharpness * similarity, moment.found.valid)

    def _read(self, h: Float[Array, " h"] | None, moment: Moment) -> Float[Array, " e"]:
        """What the memory adds to the latent."""
        assert moment.found is not None
        weights = self._weights(h, moment)
        r = self.aggregation(weights, moment.found)
        if not self.match:
            return self.latent_r(r.reshape(-1))
        seen_before = jnp.einsum("nk,nkv->nv", weights, moment.found.values)
        # W [r, v ⊙ m̂] in two products: what XLA makes of the two side by side is wrong on a GPU (docs/performance.md).
        of_r, of_match = jnp.split(self.latent_r.weight.reshape(len(r), -1, moment.latent.shape[-1]), [r.shape[1]], 1)
        latent = jnp.einsum("nr,nre->e", r, of_r) + jnp.einsum("nv,nve->e", moment.v * seen_before, of_match)
        if self.latent_c is not None:
            latent += self.latent_c(memory.unit(seen_before) @ memory.unit(moment.v))
        return latent

    def _think(self, lstm: LSTMState, moment: Moment) -> tuple[LSTMState, Float[Array, " e"]]:
        lstm = reset(lstm, moment.first)
        read = 0.0 if moment.found is None else self._read(lstm.h, moment)
        e = jax.nn.relu(moment.latent + self.latent_h(lstm.h) + read)
        return self.cell(lstm, e), e
