"""Laws of a batch of rooms of several levels."""

from __future__ import annotations

import dataclasses
from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from daxlab.agents.core import Reads
from daxlab.cli_train import Train
from daxlab.errors import DaxlabError
from daxlab.learning import loop
from daxlab.learning.config import change
from daxlab.learning.diagnostics import add_up, measure, no_notes, summarise_all, take_notes
from daxlab.levels.catalogue import MIXTURES
from daxlab.levels.env import Rooms
from daxlab.levels.episode import RUNNING, TIMEOUT
from daxlab.levels.mixture import Mixture, make_rooms, shares
from daxlab.levels.registry import get, levels, mixture
from daxlab.levels.spec import INSTRUCTION
from tests.small import small_preset

DESK = get("desk/fast_map_three_objs")
# Coarse physics, which compiles soon: it is not what is tested here.
COARSE = dataclasses.replace(DESK.physics, substeps=1, passes=2)
FAST = dataclasses.replace(DESK, name="test/fast", discovery_steps=3, episode_steps=5, physics=COARSE)
SLOW = dataclasses.replace(FAST, name="test/slow", episode_steps=7, regime="slow", two_phase=False)


def test_shares_follow_the_weights_and_leave_no_level_out():
    assert shares({"a": 1, "b": 3}, 8) == (2, 6)
    assert shares({"a": 1, "b": 1, "c": 1}, 7) in {(3, 2, 2), (2, 3, 2), (2, 2, 3)}
    assert shares({"a": 0.001, "b": 1}, 10) == (1, 9)
    for count in range(3, 60):
        given = np.array([0.2, 1.0, 2.7])
        got = np.array(shares(dict(zip("abc", given, strict=True)), count))
        assert got.sum() == count
        assert got.min() >= 1
        assert np.abs(got - np.maximum(given / given.sum() * count, 1)).max() <= 1.5


@cache
def turn_all(rooms: Mixture):
    """One turn of all rooms, with what the log is told of it; compiled once."""
    nothing = jnp.zeros((8, len(DESK.actions))), Reads(jnp.zeros((8, 0, 0)), jnp.zeros((8, 0, 0), jnp.int32))

    @jax.jit
    def turn(states, notes, actions):
        states = rooms.advance(states, actions)
        notes = rooms.map(take_notes, states, notes)
        last = jnp.concatenate([state.outcome != RUNNING for state in states])
        return states, notes, add_up(rooms.levels, rooms.level_of, rooms.map(measure, states, notes, last, *nothing))

    return turn


def all_ended(rooms: Mixture, keys) -> tuple:
    """Rooms whose next turn begins an episode from these keys."""
    shapes = [jax.eval_shape(env.start, jax.random.key(0)) for env in rooms.envs]
    fresh = zip(shapes, rooms.shares, keys, strict=True)
    zeros = [(jax.tree.map(lambda x, n=n: jnp.zeros((n, *x.shape), x.dtype), shape), key) for shape, n, key in fresh]
    return tuple(state._replace(outcome=state.outcome + TIMEOUT, key=key) for state, key in zeros)


MIXED = Mixture({FAST: 3.0, SLOW: 1.0}, 8)


def test_every_room_plays_its_own_level_and_is_counted_there():
    """Episodes of five and of seven steps: each room ends and begins again by its level's clock and from its key."""
    rooms, turn = MIXED, turn_all(MIXED)
    np.testing.assert_array_equal(rooms.level_of, [0] * 6 + [1] * 2)
    keys = jax.random.key_data(jax.random.split(jax.random.key(4), 8))
    notes = jax.tree.map(lambda x: jnp.repeat(x[None], 8, axis=0), no_notes(*rooms.levels))
    look = jnp.where(rooms.level_of == 1, DESK.actions.index("LOOK_RIGHT(1)"), DESK.actions.index("NOOP"))
    first, notes, _ = turn(all_ended(rooms, (keys[:6], keys[6:])), notes, look)
    states, sums = first, {}
    for t in range(1, 9):
        before = states
        states, notes, told = turn(states, notes, look)
        sums = {name: sums.get(name, 0.0) + float(x) for name, x in told.items()}
        np.testing.assert_array_equal(states[0].clock, t % 6)
        np.testing.assert_array_equal(states[1].clock, t % 8)
        # Without discovery the instruction comes at once, and nothing is named or earned for being seen.
        assert (states[1].phase == INSTRUCTION).all()
        assert not states[1].visited.any()
        assert not states[1].reward.any()
        if t < 3:
            np.testing.assert_allclose(states[0].world.heading, before[0].world.heading, atol=1e-5)
            assert (np.abs(states[1].world.heading - before[1].world.heading) > 0.1).all()
    again = turn(all_ended(rooms, tuple(state.key for state in first)), notes, look)[0]
    np.testing.assert_array_equal(states[0].names, again[0].names)
    np.testing.assert_array_equal(states[1].names, again[1].names)
    assert len({tuple(names) for names in np.asarray(states[0].names).tolist()}) == 6
    line = summarise_all(sums, rooms.levels, 0.25)
    assert [line[name] for name in ("episodes", "test/fast/episodes", "test/slow/episodes")] == [8, 6, 2]
    assert [line[f"test/{name}/length"] for name in ("fast", "slow")] == [5, 7]
    assert line["length"] == (6 * 5 + 2 * 7) / 8
    assert (line["chance"], line["test/slow/chance"]) == (0.25, pytest.approx(1 / 3, abs=1e-5))
    assert "test/fast/entropy_discovery" in line
    assert "test/slow/entropy_discovery" not in line


def test_split_is_by_level():
    rooms = Mixture({FAST: 3.0, SLOW: 1.0}, 8)
    np.testing.assert_array_equal(rooms.split(jnp.arange(8))[1], [6, 7])
    assert [r.count for r in rooms.rooms] == [6, 2]
    assert all(isinstance(r, Rooms) for r in rooms.rooms)


@pytest.mark.parametrize("name", MIXTURES)
def test_named_mixtures_are_of_known_levels_that_go_together(name):
    rooms = Mixture(mixture(name), 24)
    assert [env.level for env in rooms.envs] == [levels()[level] for level in MIXTURES[name]]
    fast_putting = [env.level for env in rooms.envs if env.level.goals and env.level.regime == "fast"]
    assert bool(fast_putting) == ("with_fast_putting" in name)


@pytest.mark.parametrize(
    ("weights", "count", "says"),
    [
        ({}, 4, "weights above 0"),
        ({FAST: 0.0}, 4, "weights above 0"),
        ({FAST: float("nan")}, 4, "weights above 0"),
        ({FAST: 1.0, SLOW: 1.0}, 1, "rooms is 1; a mixture of 2 levels"),
        ({FAST: 1.0, "fast_slow/fast_map_three_objs": 1.0}, 4, "different actions"),
        ({FAST: 1.0, dataclasses.replace(SLOW, picture=(8, 8)): 1.0}, 4, "8×8 pixels"),
        ({"fast_slow/no_such": 1.0}, 4, "unknown level"),
    ],
)
def test_a_mixture_that_cannot_be_is_refused(weights, count, says):
    with pytest.raises(DaxlabError, match=says):
        Mixture(weights, count)


def test_an_unknown_mixture_lists_near_names():
    with pytest.raises(DaxlabError, match="did you mean fast_slow/zero_shot"):
        mixture("fast_slow/zeroshot")


# --- training on one ---------------------------------------------------------------------------------------------


def test_training_takes_a_mixture_by_name():
    config = Train("fast_slow/zero_shot").config()
    assert config.specs == tuple(levels()[name] for name in MIXTURES["fast_slow/zero_shot"])
    assert config.title == "fast_slow/zero_shot"
    assert config.chance == pytest.approx(1 / 3)
    rooms = make_rooms(config.weights, 24)
    assert isinstance(rooms, Mixture)
    assert rooms.levels == config.specs
    assert isinstance(make_rooms({FAST: 1.0}, 24), Rooms)
    assert config.fingerprint != Train("fast_slow/with_fast_putting").config().fingerprint
    with pytest.raises(DaxlabError, match="rooms is 2; a mixture of 5 levels"):
        change(config, rooms=2, minibatch=1)
    with pytest.raises(DaxlabError, match=r"unknown level or mixture.*did you mean bed_box/zero_shot"):
        change(config, level="bed_box/zeroshot")


def test_a_mixture_is_no_level_to_play():
    with pytest.raises(DaxlabError, match="is a mixture; choose one of its levels: bed_box/slow"):
        get("bed_box/zero_shot")


def test_an_agent_acts_in_all_rooms_at_once():
    """By shapes alone: time steps of all rooms come as one, and sums for each level."""
    config = small_preset(rooms=8, minibatch=2, unroll=3)
    key = jax.random.key(0)
    agent = loop.new_agent(config, MIXED.env, key)
    begin = eqx.filter_eval_shape(loop.start_actor, MIXED, agent, key)
    assert begin.now.observation.rgb.shape == (8, 24, 24, 3)
    actor, trajectory, sums = eqx.filter_eval_shape(loop.act, config, MIXED, agent, begin, key)
    assert trajectory.observation.rgb.shape == (4, 8, 24, 24, 3)
    assert trajectory.logits.shape == (4, 8, len(DESK.actions))
    shapes = [jax.tree.map(lambda x: x.shape, each) for each in (actor, begin)]
    assert shapes[0] == shapes[1]
    assert [room.clock.shape for room in actor.rooms] == [(6,), (2,)]
    assert {name.removeprefix("test/fast/") for name in sums if name.startswith("test/fast/")} == {
        name for name in sums if "/" not in name
    }
