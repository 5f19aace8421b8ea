"""Pictures folded into cells: the same numbers as unfolded, where a GPU likes them better."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daxlab.agents import layers
from daxlab.agents.config import VisionConfig
from daxlab.agents.layers import Convolution, Residual, depth_to_space, space_to_depth
from daxlab.agents.reconstruction import ImageDecoder
from daxlab.agents.vision import Vision, is_folded
from daxlab.learning.config import preset

CONFIG = VisionConfig(channels=(3, 5, 4), blocks=(1, 1, 1), strides=(2, 2, 2), embedding=6)
HEIGHT, WIDTH = 12, 16


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


@settings(max_examples=40, deadline=None)
@given(
    kernel=st.integers(1, 5),
    stride=st.integers(1, 3),
    fold=st.integers(1, 3),
    cells=st.tuples(st.integers(1, 4), st.integers(1, 4)),
)
def test_a_folded_convolution_is_the_plain_one(kernel, stride, fold, cells):
    convolution = Convolution(jax.random.key(0), 2, 3, kernel, stride)
    convolution = eqx.tree_at(lambda c: c.bias, convolution, jnp.arange(3.0))
    size = stride * fold
    x = numbers(cells[0] * size, cells[1] * size, 2)
    folded = convolution(space_to_depth(x, size), fold)
    assert folded.shape == (*cells, fold**2 * 3)
    np.testing.assert_allclose(depth_to_space(folded, fold), convolution(x), rtol=1e-4, atol=1e-5)


def test_a_folded_residual_block_is_the_plain_one():
    block, x = Residual(jax.random.key(0), 3, 3, 2), numbers(8, 6, 3)
    folded = depth_to_space(block(space_to_depth(x, 2), 2), 2)
    np.testing.assert_allclose(folded, block(x), rtol=1e-4, atol=1e-5)


@settings(max_examples=30, deadline=None)
@given(
    kernel=st.integers(1, 4),
    stride=st.integers(1, 3),
    fold=st.sampled_from([None, 1, 2]),
    size=st.tuples(st.integers(1, 4), st.integers(1, 4)),
)
def test_a_product_with_patches_is_the_convolution_with_weights_of_each_seeds_own(kernel, stride, fold, size):
    height, width = (cells * stride * (fold or 1) for cells in size)
    seeds = [Convolution(jax.random.key(seed), 9, 3, kernel, stride) for seed in (0, 1)]
    x = numbers(2, height, width, 9)
    given = jax.vmap(lambda x: space_to_depth(x, stride * fold))(x) if fold else jnp.asarray(x)
    weight = numbers(*jax.eval_shape(lambda x: seeds[0](x, fold), given[0]).shape)

    def loss(convolution, x):
        return jnp.sum(weight * convolution(x, fold))

    plain = [jax.value_and_grad(loss)(seed, one) for seed, one in zip(seeds, given, strict=True)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layers, "FEW", 0)
        patch.setattr(layers, "_in_patches", lambda x: True)
        both = jax.tree.map(lambda *each: jnp.stack(each), *seeds)
        told = jax.vmap(jax.value_and_grad(loss))(both, given)
    for a, b in zip(jax.tree.leaves(told), jax.tree.leaves(jax.tree.map(lambda *x: jnp.stack(x), *plain)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)


def test_folding_and_unfolding_are_inverse():
    x = numbers(6, 9, 2)
    np.testing.assert_array_equal(depth_to_space(space_to_depth(x, 3), 3), x)
    np.testing.assert_array_equal(space_to_depth(x, 3)[1, 2], x[3:6, 6:9].reshape(-1))


def encoder_and_decoder(rgb: np.ndarray, target: np.ndarray) -> tuple[jax.Array, ...]:
    vision = Vision(jax.random.key(0), CONFIG, HEIGHT, WIDTH)
    decoder = ImageDecoder(jax.random.key(1), CONFIG, 6, HEIGHT, WIDTH)

    def loss(modules):
        vision, decoder = modules
        v = vision(rgb)
        drawn = decoder(v)
        return jnp.sum((drawn - target) ** 2), (v, drawn)

    gradient, (v, drawn) = eqx.filter_jit(eqx.filter_grad(loss, has_aux=True))((vision, decoder))
    return v, drawn, *jax.tree.leaves(gradient)


def test_on_a_gpu_the_picture_is_folded_and_nothing_else_changes(monkeypatch):
    rgb = np.random.default_rng(1).integers(0, 256, (HEIGHT, WIDTH, 3)).astype(np.uint8)
    target = numbers(HEIGHT, WIDTH, 3)
    assert not is_folded(CONFIG, HEIGHT, WIDTH)
    plain = encoder_and_decoder(rgb, target)
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert is_folded(CONFIG, HEIGHT, WIDTH)
    folded = encoder_and_decoder(rgb, target)
    for one, other in zip(plain, folded, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-3, atol=1e-4 * np.abs(one).max())


@pytest.mark.parametrize(
    ("config", "height"),
    [
        (CONFIG, HEIGHT + 2),
        (VisionConfig(channels=(32, 32), blocks=(1, 1), strides=(2, 2)), HEIGHT),
        (VisionConfig(channels=(8, 8), blocks=(1, 1), strides=(2, 3)), HEIGHT),
        (VisionConfig(channels=(8,), blocks=(1,), strides=(2,)), HEIGHT),
    ],
)
def test_what_cannot_be_folded_is_not(monkeypatch, config, height):
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert not is_folded(config, height, WIDTH)


def test_the_papers_picture_is_folded_on_a_gpu(monkeypatch):
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert is_folded(VisionConfig(), 72, 96)


@pytest.mark.parametrize("stride", [1, 2])
def test_a_small_pictures_convolution_is_one_matrix(monkeypatch, stride):
    convolution, x = Convolution(jax.random.key(0), 4, 3, 3, stride), numbers(5, 6, 4)
    assert x.size <= layers.FEW
    small = convolution(x)
    monkeypatch.setattr(layers, "FEW", 0)
    np.testing.assert_allclose(small, convolution(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("stride", "size"), [(2, 4), (3, 24)])
def test_patches_that_do_not_overlap_are_one_product(monkeypatch, stride, size):
    convolution, x = Convolution(jax.random.key(0), 3, 5, stride, stride), numbers(size, 2 * size, 3)
    plain = layers._convolve(x, convolution.weight, stride, 2 * [(0, 0)])
    monkeypatch.setattr(layers, "_convolve", None)
    monkeypatch.setattr(layers, "FEW", 0)
    np.testing.assert_allclose(convolution(x), plain, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("name", "patched"), [("desk", {True}), ("room", {False}), ("paper", {False})])
def test_only_the_desks_pictures_are_small_enough_for_patches(monkeypatch, name, patched):
    config = preset(name)
    width, height = config.specs[0].picture
    asked = []
    monkeypatch.setattr(layers.jax, "default_backend", lambda: "gpu")
    answer = layers._in_patches
    monkeypatch.setattr(layers, "_in_patches", lambda x: asked.append(answer(x)) or answer(x))
    vision = Vision(jax.random.key(0), config.agent.vision, height, width)
    picture = jax.ShapeDtypeStruct((height, width, 3), jnp.uint8)
    eqx.filter_eval_shape(lambda vision, x: vision(x), vision, picture)
    assert set(asked) == patched
