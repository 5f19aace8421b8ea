"""Laws of a batch of rooms of several levels."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from daxlab.cli_train import Train
from daxlab.errors import DaxlabError
from daxlab.learning import loop
from daxlab.learning.config import change
from daxlab.learning.diagnostics import summarise_all
from daxlab.levels.catalogue import MIXTURES
from daxlab.levels.env import Rooms
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


def test_every_room_plays_its_own_level():
    """Episodes of five and of seven steps: each room ends and begins again by its level's clock and from its key."""
    rooms = Mixture({FAST: 3.0, SLOW: 1.0}, 8)
    np.testing.assert_array_equal(rooms.level_of, [0] * 6 + [1] * 2)
    key = jax.random.key(4)
    begin = [jax.jit(jax.vmap(env.start)) for env in rooms.envs]
    keys = [jax.random.split(k, share) for k, share in zip(jax.random.split(key, 2), rooms.shares, strict=True)]
    states = first = tuple(start(k) for start, k in zip(begin, keys, strict=True))
    advance = jax.jit(rooms.advance)
    turn = jnp.where(rooms.level_of == 1, DESK.actions.index("LOOK_RIGHT(1)"), DESK.actions.index("NOOP"))
    for t in range(1, 9):
        before, states = states, advance(states, turn)
        np.testing.assert_array_equal(states[0].clock, t % 6)
        np.testing.assert_array_equal(states[1].clock, t % 8)
        # Without discovery the instruction comes at once, and nothing is named or earned for being seen.
        assert (states[1].phase == INSTRUCTION).all()
        assert not states[1].visited.any()
        assert not states[1].reward.any()
        if t < 3:
            np.testing.assert_allclose(states[0].world.heading, before[0].world.heading, atol=1e-5)
            assert (np.abs(states[1].world.heading - before[1].world.heading) > 0.1).all()
    np.testing.assert_array_equal(states[1].names, begin[1](first[1].key).names)


def test_time_steps_of_all_rooms_come_as_one():
    rooms = Mixture({FAST: 3.0, SLOW: 1.0}, 8, width=4, height=3)
    states, told = jax.eval_shape(rooms.reset, jax.random.key(0))
    assert told.observation.rgb.shape == (8, 3, 4, 3)
    assert [state.clock.shape for state in states] == [(6,), (2,)]
    after, again = jax.eval_shape(rooms.step, states, jnp.zeros(8, jnp.int32))
    assert jax.tree.map(lambda x: x.shape, (after, again)) == jax.tree.map(lambda x: x.shape, (states, told))


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


def test_an_agent_plays_all_levels_and_each_is_counted_by_itself():
    config = small_preset(rooms=4, minibatch=2, unroll=16)
    rooms = Mixture({FAST: 3.0, SLOW: 1.0}, 4)
    state = loop.start(config, rooms)
    actor, trajectory, sums = jax.jit(lambda s: loop.act(config, rooms, s.agent, s.actor, jax.random.key(1)))(state)
    assert trajectory.logits.shape == (17, 4, 8)
    assert [room.clock.shape for room in actor.rooms] == [(3,), (1,)]
    # Nobody lifts anything so soon: in 16 steps, episodes of 5 steps and a last observation end twice, of 7 too.
    line = summarise_all({name: float(x) for name, x in sums.items()}, rooms.levels, 0.25)
    counts = [line[name] for name in ("episodes", "test/fast/episodes", "test/slow/episodes")]
    assert counts == [8, 6, 2]
    assert [line[f"test/{name}/length"] for name in ("fast", "slow")] == [5, 7]
    assert line["length"] == pytest.approx((6 * 5 + 2 * 7) / 8)
    assert (line["chance"], line["test/slow/chance"]) == (0.25, pytest.approx(1 / 3, abs=1e-5))
    assert "test/slow/discovered" in line
    assert "test/fast/entropy_discovery" in line
    assert "test/slow/entropy_discovery" not in line
