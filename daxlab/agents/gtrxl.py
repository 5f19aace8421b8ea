"""The gated TransformerXL core (section 3; Parisotto et al. 2019, "GTrXL").

Each layer, with E the layer's input, M its memory of the last M inputs and SG a stopped gradient:

    Ȳ = RelativeMultiHeadAttention(LayerNorm([SG(M), E]));   Y  = g(E, relu(Ȳ))
    Ē = MLP(LayerNorm(Y));                                   E' = g(Y, relu(Ē))

A step attends to itself and to the M steps before it, as far as they belong to its episode. e_t, from which the
observation is rebuilt, is the embedding of x_t that enters the first layer; h_t is what leaves the last.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float, PRNGKeyArray

from daxlab.agents import memory
from daxlab.agents.config import AgentConfig, TransformerConfig
from daxlab.agents.core import CoreInput, CoreOutput, Reads
from daxlab.agents.layers import LayerNorm, Linear, initial_weights, masked_softmax, normal

Place = Callable[[Float[Array, "h t distances"]], Float[Array, "h t rows"]]
"""From scores for each distance 0 … M to scores for each row."""


class Gate(eqx.Module):
    """The GRU gate of GTrXL, x the skipped input and y the layer's output.

    r = σ(W_r y + U_r x);  z = σ(W_z y + U_z x − b_g);  ĥ = tanh(W_g y + U_g (r ⊙ x));  g(x, y) = (1 − z) ⊙ x + z ⊙ ĥ
    """

    w: Linear
    """W_r, W_z and W_g side by side."""
    u: Linear
    """U_r and U_z side by side."""
    u_g: Linear
    b_g: Float[Array, " c"]

    def __init__(self, key: PRNGKeyArray, width: int, bias: float) -> None:
        k_w, k_u, k_g = jax.random.split(key, 3)
        self.w = Linear(k_w, width, 3 * width, bias=False)
        self.u = Linear(k_u, width, 2 * width, bias=False)
        self.u_g = Linear(k_g, width, width, bias=False)
        self.b_g = jnp.full(width, bias)

    def __call__(self, x: Float[Array, "... c"], y: Float[Array, "... c"]) -> Float[Array, "... c"]:
        """g(x, y)."""
        w_r, w_z, w_g = jnp.split(self.w(y), 3, axis=-1)
        u_r, u_z = jnp.split(self.u(x), 2, axis=-1)
        r = jax.nn.sigmoid(w_r + u_r)
        z = jax.nn.sigmoid(w_z + u_z - self.b_g)
        candidate = jnp.tanh(w_g + self.u_g(r * x))
        return (1 - z) * x + z * candidate


def sinusoids(count: int, width: int) -> Float[Array, "count width"]:
    """Transformer-XL's code of the distances 0 … count−1."""
    angle = jnp.arange(count)[:, None] / 10000 ** (jnp.arange(0, width, 2) / width)
    return jnp.concatenate([jnp.sin(angle), jnp.cos(angle)], axis=-1)


class Attention(eqx.Module):
    """Relative multi-head attention: score(t, τ) = (q_t + b_c)·k_τ + (q_t + b_p)·W_p R_{t−τ}, over √d."""

    query: Float[Array, "c h d"]
    key: Float[Array, "c h d"]
    value: Float[Array, "c h d"]
    position: Float[Array, "c h d"]
    content_bias: Float[Array, "h d"]
    position_bias: Float[Array, "h d"]
    output: Linear

    def __init__(self, key: PRNGKeyArray, config: TransformerConfig) -> None:
        keys = jax.random.split(key, 5)
        shape = (config.width, config.heads, config.head)
        self.query, self.key, self.value, self.position = (initial_weights(k, shape, config.width) for k in keys[:4])
        self.content_bias = jnp.zeros(shape[1:])
        self.position_bias = jnp.zeros(shape[1:])
        self.output = Linear(keys[4], config.heads * config.head, config.width)

    def __call__(
        self,
        norm: LayerNorm,
        old: Float[Array, "m c"],
        new: Float[Array, "t c"],
        visible: Bool[Array, "t rows"],
        place: Place,
    ) -> tuple[Float[Array, "t c"], Float[Array, "h t rows"]]:
        """What each new row hears from the old and the new ones, and its attention to them; all come as `normal` rows.

        The norm's scale and offset are put on the weights, so that the M old rows are read as they lie. The offset adds
        the same to all scores of a step, which a softmax does not see, and its own value to whatever is heard.

        The three-factor products are contracted in the cheaper order: for one step the weights meet the query first, so
        that the old rows are never projected; for a long unroll each row is projected once.
        """
        q = jnp.einsum("tc,chd->htd", new * norm.scale + norm.offset, self.query)
        key, value = (norm.scale[:, None, None] * weight for weight in (self.key, self.value))
        content = [jnp.einsum("htd,rc,chd->htr", q + self.content_bias[:, None], rows, key) for rows in (old, new)]
        distances = jnp.einsum("pc,chd->phd", sinusoids(old.shape[0] + 1, old.shape[1]), self.position)
        position = place(jnp.einsum("htd,phd->htp", q + self.position_bias[:, None], distances))
        scores = (jnp.concatenate(content, axis=-1) + position) / q.shape[-1] ** 0.5
        weights = masked_softmax(scores, visible)
        split = jnp.split(weights, [old.shape[0]], axis=-1)
        heard_old, heard_new = (
            jnp.einsum("htr,rc,chd->thd", w, rows, value) for w, rows in zip(split, (old, new), strict=True)
        )
        heard = heard_old + heard_new + jnp.einsum("c,chd->hd", norm.offset, self.value)
        return self.output(heard.reshape(new.shape[0], -1)), weights


class Layer(eqx.Module):
    """One gated layer."""

    attention_norm: LayerNorm
    attention: Attention
    attention_gate: Gate
    mlp_norm: LayerNorm
    mlp_in: Linear
    mlp_out: Linear
    mlp_gate: Gate

    def __init__(self, key: PRNGKeyArray, config: TransformerConfig) -> None:
        keys = jax.random.split(key, 5)
        self.attention_norm = LayerNorm(config.width)
        self.attention = Attention(keys[0], config)
        self.attention_gate = Gate(keys[1], config.width, config.gate_bias)
        self.mlp_norm = LayerNorm(config.width)
        self.mlp_in = Linear(keys[2], config.width, config.mlp)
        self.mlp_out = Linear(keys[3], config.mlp, config.width)
        self.mlp_gate = Gate(keys[4], config.width, config.gate_bias)

    def __call__(
        self, old: Float[Array, "m c"], x: Float[Array, "t c"], visible: Bool[Array, "t rows"], place: Place
    ) -> tuple[Float[Array, "t c"], Float[Array, "t rows"]]:
        """The layer's output, and its attention averaged over heads; the old rows come as `normal` ones."""
        heard, weights = self.attention(self.attention_norm, old.astype(jnp.float32), normal(x), visible, place)
        y = self.attention_gate(x, jax.nn.relu(heard))
        thought = self.mlp_out(jax.nn.relu(self.mlp_in(self.mlp_norm(y))))
        return self.mlp_gate(y, jax.nn.relu(thought)), jnp.mean(jax.lax.stop_gradient(weights), axis=0)


class GTrXLState(NamedTuple):
    """The XL memory: one column for each layer, of its past inputs, `normal` already."""

    ring: memory.Ring


class GTrXL(eqx.Module):
    """The paper's gated TransformerXL agent."""

    embed: Linear
    layers: tuple[Layer, ...]
    size: int = eqx.field(static=True)
    dtype: str = eqx.field(static=True)

    def __init__(self, key: PRNGKeyArray, config: AgentConfig) -> None:
        k_embed, *keys = jax.random.split(key, 1 + config.transformer.layers)
        width = config.transformer.width
        self.embed = Linear(k_embed, config.vision.embedding + config.language.embedding, width)
        self.layers = tuple(Layer(k, config.transformer) for k in keys)
        self.size = config.memory.size
        self.dtype = config.memory.dtype

    def initial(self) -> GTrXLState:
        """An empty memory."""
        width = self.embed.weight.shape[1]
        return GTrXLState(memory.empty(self.size, [width] * len(self.layers), self.dtype))

    def step(self, state: GTrXLState, x: CoreInput) -> tuple[GTrXLState, CoreOutput]:
        """One step, against the ring as it lies."""
        ring = memory.begin(state.ring, x.first)
        slot = jnp.arange(self.size)
        distance = (ring.written - 1 - slot) % self.size + 1
        visible = jnp.append(slot < ring.written, True)

        def place(scores: Float[Array, "h 1 distances"]) -> Float[Array, "h 1 rows"]:
            return jnp.concatenate([scores[..., distance], scores[..., :1]], axis=-1)

        e, inputs, h, attention = self._layers(x, ring.columns, visible[None], place)
        by_distance = jnp.append(self.size, memory.newest_first(ring))
        reads = _reads(attention[:, 0, by_distance], ring.clock)
        rows = tuple(i[0] for i in jax.lax.stop_gradient(inputs))
        ring = memory.write(ring, rows, jnp.array(True), after=h[0])
        return GTrXLState(ring), CoreOutput(e[0], h[0], reads, ())

    def unroll(self, state: GTrXLState, x: CoreInput) -> tuple[GTrXLState, CoreOutput]:
        """T steps at once: a transformer needs no scan."""
        ring = jax.lax.stop_gradient(state.ring)
        length, size = x.first.shape[0], self.size
        always = jnp.ones(length, bool)
        at = memory.moments(ring, x.first, always)
        old = tuple(column[memory.newest_first(ring)[::-1]] for column in ring.columns)
        number = jnp.concatenate([ring.written - size + jnp.arange(size), at.written])
        episode = jnp.concatenate([jnp.where(number[:size] >= 0, 0, -1), at.episode])
        visible = (episode == at.episode[:, None]) & (number <= at.written[:, None])
        visible = visible & (number >= at.written[:, None] - size)

        e, inputs, h, attention = self._layers(x, old, visible, shift_by_time)
        row = size + jnp.arange(length)[:, None] - jnp.arange(size + 1)
        by_distance = jnp.take_along_axis(attention, row[None], axis=-1)
        reads = jax.vmap(_reads)(by_distance.swapaxes(0, 1), at.clock)
        ring = memory.close(ring, jax.lax.stop_gradient(inputs), at, always)
        return GTrXLState(ring), CoreOutput(e, h, reads, ())

    def _layers(
        self, x: CoreInput, old: tuple[Array, ...], visible: Bool[Array, "t rows"], place: Place
    ) -> tuple[Array, tuple[Array, ...], Array, Float[Array, "layers t rows"]]:
        inputs, attention = [], []
        e = jax.nn.relu(self.embed(jnp.atleast_2d(jnp.concatenate([x.v, x.l], axis=-1))))
        h = e
        for layer, rows in zip(self.layers, old, strict=True):
            inputs.append(normal(h))
            h, weights = layer(rows, h, visible, place)
            attention.append(weights)
        return e, tuple(inputs), h, jnp.stack(attention)


def shift_by_time(scores: Float[Array, "h t distances"]) -> Float[Array, "h t rows"]:
    """Transformer-XL's shift: out[t, τ] = scores[t, M + t − τ] for the M + T rows τ, 0 for a distance outside 0 … M."""
    heads, length, distances = scores.shape
    padded = jnp.pad(scores[..., ::-1], ((0, 0), (0, 0), (0, length)))
    flat = padded.reshape(heads, -1)[:, :-length]
    return flat.reshape(heads, length, distances + length - 1)


def _reads(weights: Float[Array, "layers distances"], clock: Array) -> Reads:
    time = clock - jnp.arange(weights.shape[-1])
    return Reads(weights, jnp.broadcast_to(jnp.where(weights > 0, time, -1), weights.shape))
