"""The arithmetic of a step: against XLA's own count, against the agents themselves, and against itself."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

from daxlab.agents.agent import Agent, count_parameters
from daxlab.agents.config import CORES
from daxlab.agents.core import CoreInput
from daxlab.bench.arithmetic import rows, table
from daxlab.bench.device import Rates
from daxlab.bench.layers import agent_layers, core, encoder
from daxlab.bench.work import backward, convolution, forward, parameters, taps
from daxlab.learning.config import change, preset, with_agent
from daxlab.levels.env import Env

TOLERANCE = 0.03
"""XLA also counts what is done to single numbers: activations, biases, softmax."""
TRANSFORMER_TOLERANCE = 0.08
"""It also normalises its whole memory at every step."""
BATCH = 3
PAPER = preset("paper")
ENV = Env(PAPER.level)


@pytest.fixture(scope="module")
def agents():
    """Every agent at the paper's sizes, with options that change its layers where it has them."""
    configs = {name: with_agent(PAPER, name).agent for name in CORES}
    configs["dcem_match"] = change(
        configs["dcem_match"], memory__match_cosine=True, memory__skip_present=True, vision__fovea=16
    )
    key, sizes = jax.random.key(0), (ENV.num_actions, ENV.vocabulary_size, ENV.text_length, ENV.height, ENV.width)
    return {name: Agent(key, config, *sizes) for name, config in configs.items()}


def counted(function, *arguments) -> float:
    return jax.jit(function).lower(*arguments).compile().cost_analysis()["flops"]


def floats(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.float32)


@pytest.mark.parametrize("name", CORES)
def test_a_step_of_the_core_has_the_operations_that_xla_counts(name, agents):
    agent = agents[name]
    config = agent.config

    def step(core, state, v, l):  # noqa: E741
        x = CoreInput(v, l, jnp.array(False), jnp.array(True))
        return jax.vmap(core.step, in_axes=(0, CoreInput(0, 0, None, None)))(state, x)

    state = jax.eval_shape(lambda: jax.tree.map(lambda x: jnp.repeat(x[None], BATCH, 0), agent.core.initial()))
    seen = floats(BATCH, config.vision.embedding), floats(BATCH, config.language.embedding)
    flops = counted(step, agent.core, state, *seen)
    operations, _ = forward(core(config, 1)).over(BATCH, 1)
    tolerance = TRANSFORMER_TOLERANCE if name == "gtrxl" else TOLERANCE
    assert operations == pytest.approx(flops, rel=tolerance)


def test_the_transformers_unroll_has_the_operations_that_xla_counts(agents):
    """It has no scan, of which XLA counts one step only."""
    agent, length = agents["gtrxl"], 5
    shapes = [((agent.config.vision.embedding,), jnp.float32), ((agent.config.language.embedding,), jnp.float32)]
    x = CoreInput(*(jax.ShapeDtypeStruct((length, *s), d) for s, d in [*shapes, ((), bool), ((), bool)]))
    flops = jax.jit(lambda core, state, x: core.unroll(state, x)).lower(agent.core, agent.core.initial(), x)
    operations, _ = forward(core(agent.config, length)).over(length, 1)
    assert operations == pytest.approx(flops.cost_analysis()["flops"], rel=TRANSFORMER_TOLERANCE)


def test_the_encoder_has_the_operations_that_xla_counts_both_ways(agents):
    vision = agents["dcem"].vision
    rgb = jax.ShapeDtypeStruct((BATCH, ENV.height, ENV.width, 3), jnp.uint8)
    layers = encoder(PAPER.agent.vision, ENV.height, ENV.width)
    there, back = (way(layers).over(BATCH, 1)[0] for way in (forward, backward))
    assert there == pytest.approx(counted(lambda v, x: jax.vmap(v)(x), vision, rgb), rel=TOLERANCE)
    gradient = jax.grad(lambda v, x: jnp.sum(jax.vmap(v)(x) ** 2))
    assert there + back == pytest.approx(counted(gradient, vision, rgb), rel=TOLERANCE)


@pytest.mark.parametrize("name", CORES)
def test_every_parameter_is_counted(name, agents):
    layers = agent_layers(agents[name].config, ENV, 1)
    assert sum(parameters(part) for part in layers.values()) == count_parameters(agents[name])


@pytest.mark.parametrize(("size", "kernel", "stride"), [(9, 3, 1), (72, 3, 2), (7, 3, 2), (5, 1, 1), (12, 4, 4)])
def test_taps_on_the_zeros_round_a_picture_do_not_count(size, kernel, stride):
    ones, filters = jnp.ones((1, size, 1)), jnp.ones((kernel, 1, 1))
    hit = jax.lax.conv_general_dilated(ones, filters, (stride,), "SAME", dimension_numbers=("NWC", "WIO", "NWC"))
    assert taps(size, kernel, stride) == hit.sum()


def test_a_convolution_reads_and_writes_each_number_once():
    layer = convolution((4, 6), 3, (2, 5), 2, 4)
    assert layer.bytes == 4 * (4 * 6 * 2 + 2 * 3 * 5)
    assert layer.weights == 3 * 3 * 2 * 5 + 5


def test_a_part_takes_as_long_as_its_scarcer_resource():
    slow_bytes, slow_products = Rates(1.0, 1e30, 1e30), Rates(1e30, 1.0, 1.0)
    for name, part in table(PAPER).items():
        row = part.row()
        assert part.seconds(slow_bytes) == pytest.approx(row["bytes"]), name
        assert part.seconds(slow_products) == pytest.approx(row["operations"]), name
        assert rows(PAPER, slow_bytes)[name]["bound_microseconds"] == pytest.approx(1e6 * row["bytes"]), name


def test_the_table_follows_the_config():
    paper = rows(PAPER)
    assert "decoder forward" not in rows(change(PAPER, agent__reconstruction=False))
    quarter = rows(change(PAPER, decode_fraction=0.25))
    assert quarter["decoder backward"]["operations"] == pytest.approx(paper["decoder backward"]["operations"] / 4)
    half = rows(change(PAPER, agent__vision__dtype="bfloat16"))
    assert half["encoder forward"]["dtype"] == "bfloat16"
    assert 0.45 < half["encoder forward"]["bytes"] / paper["encoder forward"]["bytes"] < 0.6
    assert half["encoder forward"]["operations"] == paper["encoder forward"]["operations"]
    # Weights, read at every step of the scan, are shared by a minibatch.
    wide = rows(change(PAPER, minibatch=128))
    assert wide["core forward"]["bytes"] < paper["core forward"]["bytes"]
    assert wide["optimiser"]["bytes"] == pytest.approx(paper["optimiser"]["bytes"] / 2)
    # A memory of 100 rows is looked through, gathered and copied sooner than one of 1024.
    small = rows(change(PAPER, agent__memory__size=100))
    for part in ("core, acting", "core forward", "gather"):
        assert small[part]["bytes"] < paper[part]["bytes"]
