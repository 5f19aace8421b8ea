"""Weights files, the agents in the package, and probes: what each changes, and that it changes nothing else."""

from __future__ import annotations

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from daxlab import pretrained
from daxlab.cli import main
from daxlab.compilation import empty_cache
from daxlab.errors import DaxlabError
from daxlab.experiments import probes
from daxlab.experiments.probes import Forget, OtherWords, StrangeWord, Swap, former
from daxlab.learning import checkpoint, run
from daxlab.learning.config import change
from daxlab.learning.evaluate import Episodes, Meddle, export, load_agent, play
from daxlab.learning.loop import new_agent
from daxlab.levels.env import Env
from daxlab.levels.episode import DISCOVERY, INSTRUCTION, text
from daxlab.levels.registry import get
from daxlab.levels.vocabulary import NONSENSE, decode, encode_words
from tests.small import DESK, small

LEVEL = get(DESK)
MOST_BYTES = 12e6
"""Of a weights file in the package."""


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A checkpoint of an agent as it was drawn, and the agent."""
    config = small("dcem_match")
    agent = new_agent(config, Env(config.level), jax.random.key(3))
    tensors = {".agent" + name: x for name, x in checkpoint.tensors_of(agent).items()}
    return checkpoint.save(tmp_path_factory.mktemp("saved"), "light", tensors, config, 7), agent


def test_a_weights_file_holds_the_agent_to_half_precision(saved, tmp_path):
    path, agent = saved
    out = tmp_path / "deep" / "weights.safetensors"
    size = export(path, out)
    loaded = load_agent(out)
    assert size == out.stat().st_size
    assert list(out.parent.iterdir()) == [out]
    assert loaded.steps == 7 * loaded.config.steps_per_update
    pairs = [(np.asarray(a), np.asarray(b)) for a, b in zip(*map(jax.tree.leaves, (agent, loaded.agent)), strict=True)]
    assert all(a.dtype == b.dtype for a, b in pairs)
    for a, b in pairs:
        np.testing.assert_allclose(a, b, rtol=1e-3 if a.size >= checkpoint.HALVE_FROM else 0, atol=1e-6)
    assert any(a.size >= checkpoint.HALVE_FROM and (a != b).any() for a, b in pairs)


def test_what_half_precision_cannot_hold_is_not_written(tmp_path):
    huge = {".agent.x": np.full(checkpoint.HALVE_FROM, 1e9, np.float32)}
    with pytest.raises(DaxlabError, match="half precision"):
        checkpoint.export(huge, small("lstm"), 1, tmp_path / "x.safetensors")
    assert not list(tmp_path.iterdir())


def test_another_agents_weights_need_no_other_program(saved):
    _, agent = saved
    other = jax.tree.map(lambda x: 2 * x, eqx.filter(agent, eqx.is_inexact_array))
    others = eqx.combine(other, agent)
    with empty_cache() as folder:
        for weights in (agent, others):
            play(Env(LEVEL), weights, jax.random.split(jax.random.key(0), 2))
        assert len(list(folder.glob("jit__run-*-cache"))) == 1


@pytest.mark.parametrize("name", pretrained.names())
def test_each_agent_in_the_package_is_small_loads_and_has_a_card(name):
    trained = load_agent(f"pretrained:{name}")
    assert trained.path.stat().st_size <= MOST_BYTES
    card = pretrained.card(name)
    for fact in (trained.config.level, f"{trained.steps:,}", f"seed {trained.config.seed}", "Apache-2.0"):
        assert fact in card


def test_there_is_an_agent_in_the_package():
    assert "room" in pretrained.names()


def test_an_unknown_agent_is_named_with_those_there_are(capsys):
    with pytest.raises(SystemExit) as end:
        main(["probe", "pretrained:rom"])
    assert end.value.code == 2
    assert "room" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["run", "--weights", "pretrained:room"]])
def test_evaluate_takes_one_agent(arguments, capsys):
    with pytest.raises(SystemExit) as end:
        main(["evaluate", *arguments])
    assert end.value.code == 2
    assert "one agent" in capsys.readouterr().err


def test_a_run_starts_from_weights(saved, tmp_path):
    _, agent = saved
    given = run.Run(small("dcem_match"), tmp_path, "light", run.Progress(1, quiet=True), "", False, agent)
    assert all((a == b).all() for a, b in zip(*map(jax.tree.leaves, (agent, given.state.agent)), strict=True))


def test_weights_of_another_shape_are_refused_before_a_folder_is_made(saved, tmp_path):
    _, agent = saved
    with pytest.raises(DaxlabError, match="another agent"):
        run.train(change(small("dcem_match"), agent__latent=24), tmp_path / "run", agent=agent, quiet=True)
    assert not (tmp_path / "run").exists()


@pytest.fixture(scope="module")
def room():
    return Env(LEVEL).start(jax.random.key(0))


def heard(meddle, room, slot):
    """The words of a discovery step at a slot and of the instruction, as the agent hears them."""
    told = [room._replace(fixated=jnp.array(slot)), room._replace(phase=jnp.array(INSTRUCTION))]
    return [decode(np.asarray(meddle.hear(room, text(LEVEL, room)))).split() for room in told]


def test_other_words_are_the_same_in_both_phases(room):
    target = int(room.target)
    plain, other = heard(Meddle(), room, target), heard(OtherWords(), room, target)
    assert plain[0][-1] == plain[1][-1] != other[0][-1] == other[1][-1]
    assert other[0][-1] in NONSENSE
    assert [words[:-1] for words in plain] == [words[:-1] for words in other]
    # No two words become one.
    table = np.asarray(probes._neighbours())[encode_words(NONSENSE)]
    assert sorted(table) == sorted(encode_words(NONSENSE))


def test_a_strange_word_is_none_of_the_rooms(room):
    first = encode_words(NONSENSE)[: LEVEL.num_objects]
    # Neighbours in the list of words, so that one step further is not enough.
    room = room._replace(names=jnp.asarray(first), target=jnp.array(0, jnp.int32))
    naming, instruction = heard(StrangeWord(), room, 0)
    assert naming == heard(Meddle(), room, 0)[0]
    assert instruction[-1] == NONSENSE[LEVEL.num_objects]


def test_forgetting_happens_once_as_the_instruction_is_given(room):
    memory, blank = {"x": jnp.ones(3)}, {"x": jnp.zeros(3)}
    for before, after, kept in (
        (DISCOVERY, DISCOVERY, 1),
        (DISCOVERY, INSTRUCTION, 0),
        (INSTRUCTION, INSTRUCTION, 1),
        (INSTRUCTION, DISCOVERY, 1),
    ):
        rooms = (room._replace(phase=jnp.array(phase)) for phase in (before, after))
        assert (Forget().remember(*rooms, memory, blank)["x"] == kept).all()


@pytest.mark.parametrize("target", range(3))
def test_a_swap_moves_the_word_that_is_asked_for(room, target):
    room = room._replace(target=jnp.array(target))
    after = Swap().begin(room)
    new = int(after.target)
    assert new == (target + 1) % 3
    assert after.names[new] == room.names[target]
    assert after.names[target] == room.names[new]
    assert sorted(after.names.tolist()) == sorted(room.names.tolist())
    played = Episodes(*(np.array([x]) for x in (1, new, target, 1, 0.0)), {})
    assert former(played, 3) == 1
    assert former(played._replace(lifted=np.array([new])), 3) == 0


def test_probes_ask_for_objects_and_words_that_were_not_trained():
    by_name = {probe.name: probe.level for probe in probes.probes(LEVEL)}
    assert not set(by_name["held-out objects"].objects) & set(LEVEL.objects)
    assert not set(by_name["words never trained on"].words) & set(LEVEL.words)
    assert {level.num_objects for level in by_name.values()} == set(probes.COUNTS)
    four = dataclasses.replace(LEVEL, objects=LEVEL.objects[:4])
    assert {probe.level.num_objects for probe in probes.probes(four)} == {2, 3}
    room = get("architecture_comparison/fast_map_three_objs")
    assert {probe.level.num_objects for probe in probes.probes(room)} == set(probes.COUNTS)
    words = {probe.name: probe.level.words for probe in probes.probes(room)}["words never trained on"]
    assert not set(words) & {*room.words, "this", "is", "a", "pick", "up"}
    for level in (dataclasses.replace(room, regime="slow"), dataclasses.replace(room, rounds=2)):
        with pytest.raises(DaxlabError, match="probes are of levels with two phases"):
            probes.probes(level)


def test_a_row_a_probe(saved, monkeypatch, capsys):
    """Each probe plays the same keys, its own level and its own meddling; the table says so."""
    played = []

    def play(env, agent, keys, meddle):
        played.append((env.level, meddle))
        numbers = (np.array(x) for x in ([1, 2], [0, 1], [0, 0], [9, 9], [1.0, 0.0]))
        return Episodes(*numbers, {})

    monkeypatch.setattr(probes, "play", play)
    path, _ = saved
    main(["probe", str(path), "--episodes", "2"])
    rows = capsys.readouterr().out.splitlines()
    wanted = probes.probes(LEVEL)
    assert [level for level, _ in played] == [probe.level for probe in wanted]
    assert [type(meddle) for _, meddle in played] == [type(probe.meddle) for probe in wanted]
    assert all(row.startswith(probe.name) and "0.500" in row for row, probe in zip(rows, wanted, strict=True))
