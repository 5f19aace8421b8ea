"""The parts of the transformer against their equations."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from daxlab.agents.config import TransformerConfig
from daxlab.agents.gtrxl import Attention, Gate, Layer, shift_by_time, sinusoids
from daxlab.agents.layers import LayerNorm, normal


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def by_the_paper(gate: Gate, x, y):
    """Parisotto et al., section 3.2, gated recurrent unit."""
    w_r, w_z, w_g = np.split(np.asarray(gate.w.weight).T, 3)
    u_r, u_z = np.split(np.asarray(gate.u.weight).T, 2)
    u_g = np.asarray(gate.u_g.weight).T
    r = sigmoid(w_r @ y + u_r @ x)
    z = sigmoid(w_z @ y + u_z @ x - np.asarray(gate.b_g))
    h = np.tanh(w_g @ y + u_g @ (r * x))
    return (1 - z) * x + z * h


def test_each_gate_of_a_layer_against_the_equation():
    layer = Layer(jax.random.key(0), TransformerConfig(width=6, heads=2, head=3, mlp=4))
    for gate in (layer.attention_gate, layer.mlp_gate):
        x, y = jax.random.normal(jax.random.key(1), (2, 6))
        np.testing.assert_allclose(gate(x, y), by_the_paper(gate, np.asarray(x), np.asarray(y)), rtol=1e-5)
        assert not np.allclose(gate(x, y), by_the_paper(gate, np.asarray(y), np.asarray(x)), atol=1e-2)


def test_a_gate_with_a_large_bias_lets_its_first_argument_through():
    x, y = jax.random.normal(jax.random.key(1), (2, 6))
    np.testing.assert_allclose(Gate(jax.random.key(0), 6, 20.0)(x, y), x, atol=1e-5)


def test_a_layer_is_norm_attention_relu_gate_norm_mlp_relu_gate():
    layer = Layer(jax.random.key(0), TransformerConfig(width=6, heads=2, head=3, mlp=4))
    old, x = jax.random.normal(jax.random.key(1), (5, 6)), jax.random.normal(jax.random.key(2), (3, 6))
    visible = jnp.tril(jnp.ones((3, 8), bool), 5)
    scale, offset = jax.random.normal(jax.random.key(3), (2, 6))
    layer = eqx.tree_at(lambda a: (a.attention_norm.scale, a.attention_norm.offset), layer, (scale, offset))
    heard, _ = eqx.filter_jit(layer.attention)(
        LayerNorm(6), layer.attention_norm(old), layer.attention_norm(x), visible, shift_by_time
    )
    expected = []
    for t in range(3):
        y = by_the_paper(layer.attention_gate, np.asarray(x[t]), np.maximum(np.asarray(heard[t]), 0))
        standard = np.asarray(layer.mlp_norm(jnp.asarray(y)))
        hidden = np.maximum(standard @ np.asarray(layer.mlp_in.weight) + np.asarray(layer.mlp_in.bias), 0)
        thought = hidden @ np.asarray(layer.mlp_out.weight) + np.asarray(layer.mlp_out.bias)
        expected.append(by_the_paper(layer.mlp_gate, y, np.maximum(thought, 0)))
    out, _ = eqx.filter_jit(layer)(normal(old), x, visible, shift_by_time)
    np.testing.assert_allclose(out, np.stack(expected), atol=1e-5)


def test_the_norm_is_of_mean_zero_and_deviation_one():
    layer = Layer(jax.random.key(0), TransformerConfig(width=6, heads=2, head=3, mlp=4))
    y = layer.attention_norm(jax.random.normal(jax.random.key(1), (5, 6)) * 4 + 3)
    np.testing.assert_allclose(y.mean(-1), 0, atol=1e-5)
    np.testing.assert_allclose(y.std(-1), 1, atol=1e-4)


def test_the_shift_puts_each_distance_on_its_row():
    memory_size, length = 4, 3
    scores = jax.random.normal(jax.random.key(0), (2, length, memory_size + 1))
    shifted = shift_by_time(scores)
    assert shifted.shape == (2, length, memory_size + length)
    for t in range(length):
        for row in range(memory_size + length):
            distance = memory_size + t - row
            inside = 0 <= distance <= memory_size
            expected = scores[:, t, distance] if inside else np.zeros(2)
            np.testing.assert_array_equal(shifted[:, t, row], expected)


def test_relative_attention_against_loops():
    config = TransformerConfig(width=6, heads=2, head=3)
    attention = Attention(jax.random.key(0), config)
    biases = jax.random.normal(jax.random.key(3), (2, 2, 3))
    attention = eqx.tree_at(lambda a: (a.content_bias, a.position_bias), attention, (biases[0], biases[1]))
    old, new = jax.random.normal(jax.random.key(1), (4, 6)), jax.random.normal(jax.random.key(2), (3, 6))
    rows = np.concatenate([old, new])
    # Row τ stands at τ − 4, so that step t sees the rows at t − 4 … t; row 1 belongs to another episode.
    visible = np.array([[0 <= 4 + t - row <= 4 and row != 1 for row in range(7)] for t in range(3)])
    out, weights = eqx.filter_jit(attention)(LayerNorm(6), old, new, jnp.asarray(visible), shift_by_time)
    code = np.asarray(sinusoids(5, 6))
    wq, wk, wv, wp = (np.asarray(w) for w in (attention.query, attention.key, attention.value, attention.position))
    for t in range(3):
        heard = []
        for head in range(2):
            q = np.asarray(new[t]) @ wq[:, head]
            seen = [row for row in range(7) if visible[t, row]]
            scores = np.array(
                [
                    (q + biases[0, head]) @ (rows[row] @ wk[:, head])
                    + (q + biases[1, head]) @ (code[4 + t - row] @ wp[:, head])
                    for row in seen
                ]
            ) / np.sqrt(3)
            a = np.exp(scores) / np.exp(scores).sum()
            np.testing.assert_allclose(weights[head, t, jnp.array(seen)], a, rtol=1e-4)
            heard.append(sum(p * (rows[row] @ wv[:, head]) for p, row in zip(a, seen, strict=True)))
        expected = np.concatenate(heard) @ np.asarray(attention.output.weight)
        np.testing.assert_allclose(out[t], expected, atol=1e-5)


def test_distances_have_different_codes():
    code = np.asarray(sinusoids(50, 8))
    assert np.allclose(code[0], [0, 0, 0, 0, 1, 1, 1, 1])
    assert np.linalg.norm(code[:, None] - code[None], axis=-1)[~np.eye(50, dtype=bool)].min() > 0.01
