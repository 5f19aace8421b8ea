"""What a run is told about itself, on cases made by hand."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from daxlab.agents.core import Reads
from daxlab.learning.diagnostics import measure, nearest, no_notes, recall, summarise, take_notes
from daxlab.learning.evaluate import wilson
from daxlab.levels import registry
from daxlab.levels.env import Env
from daxlab.levels.episode import INSTRUCTION


@pytest.fixture(scope="module")
def level():
    return registry.get("desk/fast_map_three_objs")


@pytest.fixture(scope="module")
def room(level):
    return jax.jit(Env(level).start)(jax.random.key(0))._replace(target=jnp.array(1), visited=jnp.ones(3, bool))


def notes_of(level, room, fixated):
    notes = no_notes(level)
    for clock, slot in enumerate(fixated):
        notes = take_notes(
            level, room._replace(clock=jnp.array(clock), fixated=jnp.array(slot), reward=jnp.array(0.1)), notes
        )
    return notes


def test_recall_is_the_share_of_weight_on_the_targets_rows(level, room):
    notes = notes_of(level, room, [-1, 1, 1, 0, 2])
    reads = Reads(jnp.array([[0.5, 0.3, 0.2, 0.0]]), jnp.array([[1, 3, 2, -1]]))
    share, found = recall(notes, room._replace(phase=jnp.array(INSTRUCTION)), reads)
    assert float(share) == pytest.approx(0.7)
    assert float(found) == 1
    missed = Reads(jnp.array([[0.6, 0.4]]), jnp.array([[0, 4]]))
    assert [float(x) for x in recall(notes, room, missed)] == [0, 0]


def test_rows_of_the_instruction_phase_do_not_count(level, room):
    notes = notes_of(level, room, [0])
    notes = take_notes(
        level, room._replace(clock=jnp.array(1), fixated=jnp.array(1), phase=jnp.array(INSTRUCTION)), notes
    )
    share, _ = recall(notes, room, Reads(jnp.ones((1, 1)), jnp.array([[1]])))
    assert float(share) == 0


def test_an_empty_memory_gives_finite_recall(level, room):
    share, found = recall(no_notes(level), room, Reads(jnp.zeros((2, 3)), jnp.full((2, 3), -1)))
    assert (float(share), float(found)) == (0, 0)


def test_notes_start_afresh_with_an_episode(level, room):
    notes = notes_of(level, room, [1, 1, 2])
    assert (int(notes.last), round(float(notes.reward), 3)) == (2, 0.3)
    again = take_notes(level, room._replace(clock=jnp.array(0), fixated=jnp.array(-1)), notes)
    assert (int(again.last), float(again.reward)) == (-1, 0.0)


def test_nearest_on_the_desk_is_nearest_to_the_gaze(level, room):
    for slot in range(3):
        x, y, _ = np.asarray(room.layout.place[slot])
        looking = room.layout._replace(heading=jnp.arctan2(x, y))
        assert int(nearest(level, looking)) == slot


def test_an_ended_episode_counts_once_and_says_what_was_lifted(level, room):
    notes = notes_of(level, room, [0, 1, 2])
    ended = room._replace(phase=jnp.array(INSTRUCTION), lifted=jnp.array(2), clock=jnp.array(17), outcome=jnp.array(2))
    none = Reads(jnp.zeros((0, 0)), jnp.zeros((0, 0), jnp.int32))
    told = {k: float(v) for k, v in measure(level, ended, notes, jnp.array(True), jnp.zeros(8), none).items()}
    assert (told["episodes"], told["successes"], told["lifts"], told["length"]) == (1, 0, 1, 17)
    assert told["lifted_last_seen"] == 1
    assert told["steps_instruction"] == 0, "nothing is decided at an episode's end"
    line = summarise(told, level.chance)
    assert (line["success"], line["lift_rate"], line["length"]) == (0, 1, 17)
    assert "recall" not in line


def test_wilson():
    low, high = wilson(50, 100)
    assert (round(low, 3), round(high, 3)) == (0.404, 0.596)
    assert wilson(100, 100)[1] == pytest.approx(1)
    assert wilson(0, 100)[0] == pytest.approx(0)
