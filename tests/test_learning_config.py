"""Configs: the paper's numbers, and one sentence for what cannot work."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace

import hypothesis.strategies as st
import pytest
from hypothesis import given

from daxlab.errors import DaxlabError
from daxlab.learning.config import PRESETS, TrainConfig, change, differences, from_json, preset, to_json, with_agent
from daxlab.learning.progress import duration


def test_the_paper_preset_is_the_papers_table():
    config = preset("paper")
    agent = config.agent
    assert (agent.vision.channels, agent.vision.blocks, agent.vision.strides) == ((16, 32, 32), (2, 2, 2), (2, 2, 2))
    assert (agent.vision.kernel, agent.vision.convolutions, agent.vision.embedding) == (3, 2, 256)
    language = agent.language
    assert (language.word, language.query, language.value, language.embedding, language.decoder) == (32, 16, 16, 32, 32)
    assert (agent.memory.heads, agent.memory.query, agent.memory.value, agent.memory.size) == (3, 256, 256, 1024)
    assert (agent.latent, agent.lstm, agent.policy, agent.value) == (256, 512, 256, 256)
    loss = config.loss
    assert (loss.policy, loss.entropy, loss.reconstruction, loss.value, loss.discount) == (0.1, 1e-4, 1.0, 0.5, 0.95)
    adam = config.optimiser
    assert (adam.learning_rate, adam.beta1, adam.beta2, adam.epsilon) == (1e-4, 0.0, 0.95, 5e-8)
    assert (config.unroll, config.minibatch, config.clip) == (128, 64, 0.0)
    assert config.spec.picture == (96, 72)
    assert not agent.standardised


@pytest.mark.parametrize("name", PRESETS)
def test_configs_survive_json(name):
    config = preset(name)
    assert from_json(json.loads(json.dumps(to_json(config)))) == config


def test_the_fingerprint_knows_what_matters():
    config = preset("desk")
    assert replace(config, steps=1).fingerprint == config.fingerprint
    assert replace(config, seed=7).fingerprint != config.fingerprint
    assert change(config, agent__memory__k=2).fingerprint != config.fingerprint


@dataclass(frozen=True)
class Part:
    size: int = 4
    kinds: tuple[int, ...] = (1, 2)


@dataclass(frozen=True)
class LaterPart(Part):
    option: bool = False


@dataclass(frozen=True)
class Whole:
    part: Part = field(default_factory=Part)
    other: Part = field(default_factory=lambda: Part(size=5))
    rate: float = 0.5


PARTS = st.builds(Part, size=st.integers(3, 5), kinds=st.sampled_from([(1, 2), (1,), ()]))
WHOLES = st.builds(Whole, part=PARTS, other=PARTS, rate=st.sampled_from([0.5, 1.0]))


@given(WHOLES, WHOLES)
def test_configs_differ_in_the_same_if_they_are_the_same(one, other):
    assert (differences(one) == differences(other)) == (one == other)


@given(WHOLES)
def test_a_field_that_came_later_changes_nothing_until_it_is_set(config):
    later = replace(config, part=LaterPart(config.part.size, config.part.kinds))
    assert differences(later) == differences(config)
    assert differences(replace(config, part=replace(later.part, option=True))) != differences(config)


def test_another_agent_leaves_behind_what_is_of_one_alone():
    config = change(with_agent(preset("desk"), "dcem"), agent__memory__query_start="heard")
    for core in ("lstm", "dnc", "dcem_match", "gtrxl"):
        assert with_agent(config, core).agent.memory.query_start == "drawn"
    assert with_agent(config, "dcem") == config


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"minibatch": 48}, "does not divide"),
        ({"rooms": 0}, "rooms"),
        ({"unroll": 0}, "unroll"),
        ({"decode_fraction": 0.0}, "decode_fraction"),
        ({"agent__memory__k": 65}, "k must be at most"),
        ({"agent__core": "dcm"}, "did you mean"),
        ({"agent__memory__sise": 3}, "did you mean size"),
        ({"agent__memory__query_start": "hear"}, "did you mean heard"),
        ({"agent__memory__query_start": "heard"}, "of dcem alone, not of dcem_match"),
        ({"level": "desk/fast_map"}, "unknown level"),
        ({"rooms__x": 3}, "no parts"),
        ({"optimiser__learning_rate": -1.0}, "learning_rate"),
    ],
)
def test_bad_options_are_one_sentence(options, word):
    with pytest.raises(DaxlabError, match=word) as error:
        change(preset("desk"), **options)
    assert "\n" not in str(error.value)


def test_unknown_preset():
    with pytest.raises(DaxlabError, match="unknown preset"):
        preset("dsk")


def test_agents_without_external_memory_drop_its_options():
    config = with_agent(preset("desk"), "lstm")
    assert not config.agent.memory.selective_write
    assert with_agent(preset("desk"), "dnc").agent.memory.selective_write


def test_a_typo_in_a_saved_config_is_named():
    data = to_json(TrainConfig()) | {"roms": 3}
    with pytest.raises(DaxlabError, match="rooms"):
        from_json(data)


def test_durations():
    assert [duration(text) for text in ("90s", "9m", "1h30m", "1.5h", "45")] == [90, 540, 5400, 5400, 45]
    for text in ("", "soon", "-3m", "0s"):
        with pytest.raises(DaxlabError, match="no length of time"):
            duration(text)
