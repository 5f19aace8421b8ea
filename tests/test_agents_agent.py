"""The whole agent: encoders, decoders, heads, options, and what is a parameter and what is not."""

from __future__ import annotations

import dataclasses
import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from daxlab.agents import memory
from daxlab.agents.agent import Agent, Observation, count_parameters, make_agent, partition, with_statistics
from daxlab.agents.config import AgentConfig, LanguageConfig, MemoryConfig, NoveltyConfig, VisionConfig, change
from daxlab.agents.language import Language
from daxlab.agents.layers import depth_to_space
from daxlab.agents.standardise import Statistics, initial_statistics, standardise, update_statistics
from daxlab.agents.vision import Fovea, Vision, fovea_pixels
from daxlab.errors import DaxlabError

ACTIONS, WORDS, TEXT, H, W, T = 5, 9, 4, 7, 6, 9
TINY = {
    "vision__channels": (2,),
    "vision__blocks": (1,),
    "vision__strides": (2,),
    "vision__embedding": 6,
    "latent": 7,
    "lstm": 6,
    "policy": 5,
    "value": 5,
    "memory__size": 4,
    "memory__k": 3,
    "transformer__layers": 1,
    "transformer__width": 8,
    "transformer__heads": 2,
    "transformer__head": 3,
}


unroll, step = eqx.filter_jit(Agent.unroll), eqx.filter_jit(Agent.step)


@functools.cache
def make(core: str, **options) -> Agent:
    sizes = {"num_actions": ACTIONS, "vocabulary_size": WORDS, "text_length": TEXT, "height": H, "width": W}
    return make_agent(core, jax.random.key(0), **sizes, **(TINY | options))


def observations(seed: int) -> tuple[Observation, np.ndarray]:
    rng = np.random.default_rng(seed)
    text = rng.integers(0, WORDS, (T, TEXT)).astype(np.int32)
    for t in range(1, T):
        if rng.random() < 0.7:
            text[t] = text[t - 1]
    first = rng.random(T) < 0.15
    return Observation(rng.integers(0, 256, (T, H, W, 3)).astype(np.uint8), text), first


@pytest.mark.parametrize(
    ("core", "options"),
    [
        ("lstm", {"standardise": True}),
        ("dnc", {"standardise": True, "memory__selective_write": True}),
        ("dcem_match", {"memory__selective_write": True, "memory__window": 2}),
        ("gtrxl", {"standardise": True}),
    ],
)
def test_an_agents_unroll_is_a_loop_of_its_steps(core, options):
    agent = make(core, reconstruction=False, **options)
    statistics = Statistics(jnp.full(6, 0.1), jnp.full(6, 0.01), jnp.array(3))
    plain, agent = agent, with_statistics(agent, statistics)
    for seed in range(3):
        x, first = observations(seed)
        _, whole = unroll(agent, agent.initial_state(), x, first)
        state = agent.initial_state()
        for t in range(T):
            state, output = step(agent, state, jax.tree.map(lambda a, t=t: a[t], x), first[t])
            for a, b in zip(jax.tree.leaves(output), jax.tree.leaves(whole), strict=True):
                np.testing.assert_allclose(a, b[t], atol=1e-5, rtol=1e-5)
    assert not np.allclose(unroll(plain, plain.initial_state(), x, first)[1].e, whole.e), "statistics had no effect"


def test_an_agent_that_writes_selectively_writes_for_w_steps_after_the_text_changed():
    agent = make("dcem_match", reconstruction=False, memory__selective_write=True, memory__window=2)
    x, _ = observations(0)
    x = x._replace(text=np.int32([[0] * TEXT] * 4 + [[3] * TEXT] * 5))
    first = np.arange(T) == 0
    state, output = unroll(agent, agent.initial_state(), x, first)
    assert int(state.core.ring.written) == 4
    assert sorted(state.core.ring.time.tolist()) == [0, 1, 4, 5]
    # Of a repeated text only the first steps can be read.
    assert set(np.unique(output.reads.times[-1])) <= {0, 1, 4, 5}


def test_an_agent_can_keep_silence_out_of_its_memory():
    agent = make("dcem_match", reconstruction=False, memory__worded_only=True)
    x, _ = observations(0)
    x = x._replace(text=np.int32([[0] * TEXT] * 4 + [[3] * TEXT] * 5))
    state, _ = unroll(agent, agent.initial_state(), x, np.arange(T) == 0)
    assert int(state.core.ring.written) == 5


def test_an_agent_runs_over_many_rooms():
    agent = make("dcem_match", reconstruction=True)
    rooms = 3
    x, first = observations(0)
    x, first = jax.tree.map(lambda a: np.stack([a] * rooms), (x, first))
    state = jax.tree.map(lambda a: jnp.stack([a] * rooms), agent.initial_state())

    @eqx.filter_jit
    def run(agent, state, x, first):
        _, output = jax.vmap(agent.unroll)(state, x, first)
        return output, jax.vmap(jax.vmap(agent.reconstruct))(output.e)

    output, again = run(agent, state, x, first)
    assert output.logits.shape == (rooms, T, ACTIONS)
    assert output.value.shape == (rooms, T)
    assert again.image.shape == (rooms, T, H, W, 3)
    assert again.text.shape == (rooms, T, TEXT, WORDS)
    np.testing.assert_allclose(jax.nn.softmax(output.logits), 1 / ACTIONS, atol=0.05)


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("core", ["lstm", "dnc", "dcem", "dcem_match", "gtrxl"])
def test_no_gradient_moves_a_fixed_language(core, fixed):
    agent = make(core, reconstruction=True, language__fixed=fixed)
    x, first = observations(1)

    @eqx.filter_jit
    @eqx.filter_grad
    def gradient(agent):
        _, output = agent.unroll(agent.initial_state(), x, first)
        return output.logits.sum() + output.value.sum() + agent.reconstruct(output.e[-1]).text[0, 0]

    moved = [float(jnp.abs(leaf).sum()) for leaf in jax.tree.leaves(gradient(agent).language)]
    assert (sum(moved) == 0) == fixed


def test_sentences_of_a_fixed_language_are_as_alike_as_the_words_they_share():
    """Of four words two are shared, or one: a name is told from all others, whatever the draw."""
    config = LanguageConfig(word=40, query=8, value=40, embedding=40, fixed=True)
    for seed in range(3):
        language = Language(jax.random.key(seed), config, 30)
        codes = {
            (how, name): np.asarray(memory.unit(language(jnp.array([*sentence, 7, name, 0]))))
            for how, sentence in {"named": (1, 2), "asked": (3, 4)}.items()
            for name in range(10, 30)
        }
        same = [codes["named", n] @ codes["asked", n] for n in range(10, 30)]
        other = [codes["named", n] @ codes["asked", m] for n in range(10, 30) for m in range(10, 30) if n != m]
        assert min(same) > max(other) + 0.1


@pytest.mark.parametrize(
    ("wide", "stride", "root", "edge"), [(0.2, 0, False, 4), (0.2, 1, True, 4), (0.1, 1, False, 8)]
)
def test_the_fovea_sees_the_middle_of_the_view_alone(wide, stride, root, edge):
    size, height, width = 5, 24, 32
    options = {"fovea": size, "fovea_width": wide, "fovea_stride": stride, "fovea_root": root}
    vision = Vision(jax.random.key(0), VisionConfig((2,), (0,), (4,), 1, embedding=9, **options), height, width)
    rng = np.random.default_rng(0)
    rgb = rng.integers(0, 256, (height, width, 3)).astype(np.uint8)
    outside = rgb.copy()
    outside[:edge] = outside[height - edge :] = 0
    outside[:, : edge + 4] = outside[:, width - edge - 4 :] = 255
    middle = rgb.copy()
    middle[10:14, 14:18] = 255
    a, b, c = (np.asarray(vision(x)) for x in (rgb, outside, middle))
    assert a.shape == (9,)
    np.testing.assert_array_equal(a[-size:], b[-size:])
    assert not np.allclose(a[:-size], b[:-size])
    assert not np.allclose(a[-size:], c[-size:])
    # It sees to its edge: the pixels next to what it does not see count.
    near = rgb.copy()
    near[edge : edge + 2] = 255 - near[edge : edge + 2]
    assert not np.array_equal(a[-size:], np.asarray(vision(near))[-size:])


@pytest.mark.parametrize("root", [False, True])
def test_the_fovea_of_one_colour_is_how_far_that_colour_is_beyond_each_units_threshold(root):
    fovea = Fovea(jax.random.key(1), VisionConfig(fovea=40, fovea_root=root))
    for colour in ([255, 0, 0], [10, 200, 90], [255, 255, 255]):
        rgb = np.full((30, 24, 3), colour, np.uint8)
        wanted = np.maximum((np.array(colour) / 127.5 - 1) @ np.asarray(fovea.colours) - fovea.threshold, 0)
        np.testing.assert_allclose(fovea(rgb), np.sqrt(wanted + 1e-4) if root else wanted, atol=1e-5)
        assert 0 < (wanted > 0).sum() < 40


def test_a_foveas_gradient_is_that_of_units_that_answer_from_their_threshold_on():
    config = VisionConfig(fovea=20, fovea_stride=2)
    fovea = Fovea(jax.random.key(1), config)
    rgb = np.random.default_rng(0).integers(0, 256, (30, 40, 3)).astype(np.uint8)
    weight = np.float32(np.random.default_rng(1).normal(size=20))

    def by_hand(fovea):
        half, stride = fovea_pixels(config, 30)
        x = rgb[15 - half : 15 + half : stride, 20 - half : 20 + half : stride] / np.float32(127.5) - 1
        far = (np.arange(len(x)) - (len(x) - 1) / 2) * stride / 6
        bell = np.exp(-(far[:, None] ** 2) - far**2)
        units = jax.nn.relu(x @ fovea.colours - fovea.threshold)
        return weight @ jnp.einsum("hw,hwf->f", bell / bell.sum(), units)

    gradient = eqx.filter_grad(lambda fovea: weight @ fovea(rgb))(fovea)
    for one, other in zip(jax.tree.leaves(gradient), jax.tree.leaves(eqx.filter_grad(by_hand)(fovea)), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
        assert np.abs(other).max() > 1e-2


@pytest.mark.parametrize("fovea", [-1, 6, 7])
def test_a_fovea_must_leave_the_resnet_something(fovea):
    with pytest.raises(DaxlabError, match=r"vision\.fovea"):
        VisionConfig(embedding=6, fovea=fovea)


@pytest.mark.parametrize("option", [{"fovea_width": 0.0}, {"fovea_width": 1.5}, {"fovea_stride": -1}])
def test_a_fovea_has_a_width_and_a_stride(option):
    with pytest.raises(DaxlabError, match="fovea_width is"):
        VisionConfig(**option)


@pytest.mark.parametrize(("height", "width"), [(72, 96), (24, 24), (32, 32), (25, 31)])
def test_the_papers_sizes_fit_any_picture(height, width):
    sizes = {"num_actions": 46, "vocabulary_size": 70, "text_length": 8, "height": height, "width": width}
    agent = make_agent("dcem", jax.random.key(0), **sizes)

    def run(agent):
        x = Observation(jnp.zeros((height, width, 3), jnp.uint8), jnp.zeros(8, jnp.int32))
        _, output = agent.step(agent.initial_state(), x, jnp.array(True))
        return output, agent.reconstruct(output.e), agent.initial_state().core.ring.columns

    output, again, columns = eqx.filter_eval_shape(run, agent)
    assert output.logits.shape == (46,)
    assert output.v.shape == (256,)
    assert again.image.shape == (height, width, 3)
    assert [c.shape for c in columns] == [(1024, 32), (1024, 256)]


def test_the_defaults_are_the_papers_table():
    c = AgentConfig()
    assert (c.vision.kernel, c.vision.convolutions) == (3, 2)
    assert (c.vision.blocks, c.vision.strides, c.vision.channels) == ((2, 2, 2), (2, 2, 2), (16, 32, 32))
    assert (c.vision.embedding, c.latent, c.lstm, c.policy, c.value) == (256, 256, 512, 256, 256)
    language = c.language
    assert (language.word, language.query, language.value, language.embedding, language.decoder) == (32, 16, 16, 32, 32)
    assert (c.memory.heads, c.memory.query, c.memory.value, c.memory.window) == (3, 256, 256, 3)
    assert (c.transformer.layers, c.transformer.width, c.transformer.heads, c.transformer.head) == (4, 256, 8, 32)
    assert dataclasses.astuple(c.novelty)[1:3] == (1e-3, 3e-5)
    assert dataclasses.astuple(c.novelty)[4:9] == (10, 1e-3, 1e-4, 8e-3, 2.0)


def test_the_transformer_is_of_dcems_order_of_size():
    def size(core):
        sizes = {"num_actions": 46, "vocabulary_size": 70, "text_length": 8}
        return count_parameters(make_agent(core, jax.random.key(0), **sizes))

    assert 4.6e6 < size("dcem") < 4.8e6
    assert size("gtrxl") < 1.6 * size("dcem")


@pytest.mark.parametrize(
    ("make_config", "words"),
    [
        (lambda: AgentConfig(core="dcen"), ["dcen", "dcem"]),
        (lambda: MemoryConfig(size=4, k=8), ["k", "8", "4"]),
        (lambda: MemoryConfig(size=0), ["size", "at least 1"]),
        (lambda: MemoryConfig(dtype="float16"), ["float16", "bfloat16"]),
        (lambda: VisionConfig(channels=(16, 32)), ["one entry for each section", "2, 3 and 3"]),
        (lambda: AgentConfig(core="lstm", memory=MemoryConfig(selective_write=True)), ["selective_write", "lstm"]),
        (lambda: AgentConfig(core="gtrxl", memory=MemoryConfig(write_gradient=True)), ["write_gradient", "gtrxl"]),
        (lambda: AgentConfig(core="gtrxl", novelty=NoveltyConfig(enabled=True)), ["novelty", "gtrxl"]),
        (
            lambda: AgentConfig(novelty=NoveltyConfig(enabled=True), memory=MemoryConfig(worded_only=True)),
            ["novelty.enabled", "memory.worded_only=false"],
        ),
        (lambda: change(AgentConfig(), memroy__size=3), ["memroy__size"]),
        (lambda: change(AgentConfig(), memory__sise=3), ["sise", "size"]),
    ],
)
def test_a_bad_config_says_what_is_wrong_in_one_sentence(make_config, words):
    with pytest.raises(DaxlabError) as error:
        make_config()
    message = str(error.value)
    assert "\n" not in message
    for word in words:
        assert word in message


def test_override_steps_into_parts():
    config = change(AgentConfig(), lstm=64, memory__size=100, memory__k=4)
    assert (config.lstm, config.memory.size, config.memory.k, config.memory.heads) == (64, 100, 4, 3)
    assert config.vision == AgentConfig().vision


def test_an_agent_without_reconstruction_has_no_decoders():
    agent = make("dcem", reconstruction=False)
    assert count_parameters(agent) < count_parameters(make("dcem"))
    with pytest.raises(ValueError, match="reconstruction=False"):
        agent.reconstruct(jnp.zeros(7))


def test_statistics_are_saved_but_not_learned():
    agent = make("lstm", standardise=True, reconstruction=False)
    parameters, rest = partition(agent)
    assert all(leaf is None for leaf in jax.tree.leaves(parameters.statistics, is_leaf=lambda x: x is None))
    assert rest.statistics.mean.shape == (6,)
    together = eqx.combine(parameters, rest)
    assert jax.tree.structure(together) == jax.tree.structure(agent)
    everything = sum(leaf.size for leaf in jax.tree.leaves(agent) if eqx.is_array(leaf))
    assert everything == count_parameters(agent) + 6 + 6 + 1
    x, first = observations(0)

    @eqx.filter_jit
    @eqx.filter_grad
    def gradient(agent):
        return jnp.sum(agent.unroll(agent.initial_state(), x, first)[1].value ** 2)

    found = gradient(agent)
    assert np.all(found.statistics.mean == 0)
    assert np.all(found.statistics.variance == 0)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(found))
    # The last layers start small, so only ask that something arrives at the far ends.
    assert np.any(found.vision.sections[0][0].weight != 0)
    assert np.any(found.language.words != 0)


def test_standardised_codes_have_mean_zero_deviation_one_within_five():
    rng = np.random.default_rng(0)
    codes = (rng.normal(size=(40, 500, 3)) * [1, 0.01, 30] + [5, -7, 100]).astype(np.float32)
    statistics = initial_statistics(3)
    for batch in codes:
        statistics = update_statistics(statistics, batch)
    z = np.asarray(standardise(statistics, codes))
    np.testing.assert_allclose(z.mean((0, 1)), 0, atol=0.02)
    np.testing.assert_allclose(z.std((0, 1)), 1, atol=0.02)
    assert np.abs(standardise(statistics, jnp.full(3, 1e6))).max() == 5
    np.testing.assert_allclose(
        jax.grad(lambda v: standardise(statistics, v).sum())(jnp.array([5.0, -7, 100])),
        1 / np.sqrt(statistics.variance + 1e-6),
        rtol=1e-5,
    )


def test_the_first_updates_are_a_plain_average_of_all_codes():
    codes = np.float32(np.random.default_rng(1).normal(size=(5, 20, 2)) + np.arange(5)[:, None, None])
    statistics = initial_statistics(2)
    for batch in codes:
        statistics = update_statistics(statistics, batch)
    np.testing.assert_allclose(statistics.mean, codes.mean((0, 1)), rtol=1e-5)
    np.testing.assert_allclose(statistics.variance, codes.var((0, 1)), rtol=1e-5)


def test_later_updates_forget():
    statistics = Statistics(jnp.zeros(1), jnp.ones(1), jnp.array(10_000))
    after = update_statistics(statistics, jnp.ones((4, 1)), decay=0.9)
    assert float(after.mean[0]) == pytest.approx(0.1)
    assert float(after.variance[0]) == pytest.approx(0.9 * 1 + 0.1 * 0 + 0.9 * 0.1)


def test_language_ignores_padding_and_bears_silence():
    language = Language(jax.random.key(0), LanguageConfig(), 9)
    encode = eqx.filter_jit(language)
    one = encode(jnp.array([3, 4, 0, 0]))
    np.testing.assert_allclose(one, encode(jnp.array([0, 3, 0, 4])), rtol=1e-5)
    np.testing.assert_allclose(one, encode(jnp.array([3, 4])), rtol=1e-5)
    assert not np.allclose(one, encode(jnp.array([3, 5, 0, 0])))
    np.testing.assert_array_equal(encode(jnp.zeros(4, int)), language.output.bias)
    gradient = eqx.filter_jit(eqx.filter_grad(lambda m: m(jnp.zeros(4, int)).sum()))(language)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradient))
    assert np.all(gradient.words == 0)


def test_language_is_self_attention_by_hand():
    m = Language(jax.random.key(0), LanguageConfig(), 9)
    x = np.asarray(m.words)[[3, 4, 7]]
    scores = (x @ m.query.weight) @ (x @ m.key.weight).T / 4
    a = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    expected = (a @ (x @ m.value.weight)).mean(0) @ m.output.weight
    np.testing.assert_allclose(m(jnp.array([3, 4, 7, 0])), expected, rtol=1e-4, atol=1e-6)


def test_bfloat16_convolutions_give_nearly_the_float32_code():
    rgb = np.random.default_rng(0).integers(0, 256, (24, 24, 3)).astype(np.uint8)
    codes = {}
    for dtype in ("float32", "bfloat16"):
        vision = Vision(
            jax.random.key(0), VisionConfig(channels=(4, 8), blocks=(1, 1), strides=(2, 2), dtype=dtype), 24, 24
        )
        codes[dtype] = np.asarray(eqx.filter_jit(vision)(rgb))
        assert codes[dtype].dtype == np.float32
    error = np.abs(codes["float32"] - codes["bfloat16"])
    assert 0 < error.max() < 0.03 * np.abs(codes["float32"]).max()


def test_depth_to_space_by_hand():
    x = jnp.arange(2 * 3 * 8).reshape(2, 3, 8)
    y = depth_to_space(x, 2)
    assert y.shape == (4, 6, 2)
    for i in range(4):
        for j in range(6):
            patch = (i % 2) * 2 + j % 2
            np.testing.assert_array_equal(y[i, j], x[i // 2, j // 2, patch * 2 : patch * 2 + 2])
