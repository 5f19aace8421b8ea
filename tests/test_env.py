"""The functional interface and its auto-reset."""

from __future__ import annotations

import dataclasses
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from daxlab.errors import DaxlabError
from daxlab.levels.env import Env, Rooms
from daxlab.levels.episode import RIGHT, RUNNING, WRONG
from daxlab.levels.registry import get
from daxlab.levels.vocabulary import decode

ROOM = "architecture_comparison/fast_map_three_objs"
DESK = "desk/fast_map_three_objs"
SHORT = dataclasses.replace(get(DESK), name="test/short", discovery_steps=3, episode_steps=7)
ENV = Env(SHORT)
# Compiled once for all tests.
RESET, STEP, START, ADVANCE = (jax.jit(function) for function in (ENV.reset, ENV.step, ENV.start, ENV.advance))


def test_reset_and_step_give_pixels_and_words():
    state, first = RESET(jax.random.key(0))
    assert first.observation.rgb.shape == (24, 24, 3)
    assert first.observation.rgb.dtype == jnp.uint8
    assert first.observation.text.shape == (ENV.text_length,)
    assert bool(first.first)
    assert not bool(first.last)
    _, later = STEP(state, 1)
    assert not bool(later.first)
    assert not np.array_equal(first.observation.rgb, later.observation.rgb)
    assert jax.eval_shape(Env(ROOM).reset, jax.random.key(0))[1].observation.rgb.shape == (72, 96, 3)


def test_vmap_is_each_room_alone():
    keys = jax.random.split(jax.random.key(0), 4)
    states, _ = jax.jit(jax.vmap(ENV.reset))(keys)
    states, steps = jax.jit(jax.vmap(ENV.step))(states, jnp.arange(4))
    assert steps.observation.rgb.shape == (4, 24, 24, 3)
    _, one = STEP(RESET(keys[2])[0], 2)
    np.testing.assert_array_equal(np.asarray(one.observation.text), np.asarray(steps.observation.text[2]))
    assert np.mean(np.asarray(one.observation.rgb) == np.asarray(steps.observation.rgb[2])) > 0.99


def test_discrete_actions_are_their_controls():
    state = START(jax.random.key(1))
    named = ADVANCE(state, SHORT.actions.index("LOOK_RIGHT(1)"))
    free, _ = jax.jit(ENV.step_controls)(state, jnp.zeros(9).at[2].set(1.0))
    np.testing.assert_array_equal(np.asarray(named.world.heading), np.asarray(free.world.heading))
    assert float(named.world.heading) != float(state.world.heading)


def test_any_size_and_readable_text():
    env = Env(SHORT, width=13, height=7)
    state = START(jax.random.key(0))
    first = jax.jit(env.timestep)(state)
    assert first.observation.rgb.shape == (7, 13, 3)
    assert env.picture(state, 64, 48).shape == (48, 64, 3)
    assert env.text(state) == decode(np.asarray(first.observation.text))


@cache
def play(count: int, steps: int = 20):
    """All states of some steps, and the actions: random in the first three rooms, none in the others."""
    rooms = Rooms(ENV, count)
    actions = jax.random.randint(jax.random.key(1), (steps, count), 0, ENV.num_actions).at[:, 3:].set(0)

    @jax.jit
    def run(key, actions):
        return jax.lax.scan(lambda s, a: (lambda n: (n, n))(rooms.advance(s, a)), rooms.start(key), actions)[1]

    return jax.tree.map(np.asarray, run(jax.random.key(0), actions)), np.asarray(actions)


@pytest.mark.parametrize("count", [1, 100])
def test_auto_reset_equals_one_room_at_a_time(count):
    """The sliced restart is the same as: if it had ended, start again from its own key, else advance."""
    states, actions = play(count)
    keys = jax.random.split(jax.random.key(0), count)
    for room in range(min(count, 3)):
        state = START(keys[room])
        for t in range(20):
            state = ADVANCE(state, actions[t, room]) if int(state.outcome) == RUNNING else START(state.key)
            for name in ("clock", "names", "target", "outcome", "phase", "visited"):
                np.testing.assert_array_equal(getattr(states, name)[t, room], np.asarray(getattr(state, name)))
            np.testing.assert_allclose(states.world.position[t, room], np.asarray(state.world.position), atol=1e-4)


def test_rooms_that_all_end_at_once_all_restart():
    """Three begin anew at a time, until all have."""
    states = jax.tree.map(lambda x: x[:, 3:], play(100)[0])
    assert (states.outcome[6] != RUNNING).all()
    assert (states.clock[7] == 0).all()
    assert (states.clock[8] == 1).all()
    assert len({tuple(row) for row in states.key[7].tolist()}) == 97


def test_time_step_marks_first_last_and_discount():
    rooms = Rooms(ENV, 3)
    states, first = jax.jit(rooms.reset)(jax.random.key(0))
    assert bool(first.first.all())
    forward = jax.jit(rooms.step)
    for t in range(1, 9):
        states, step = forward(states, jnp.zeros(3, jnp.int32))
        assert bool((step.last == (t == 7)).all())
        assert bool((step.first == (t == 8)).all())
        assert bool((step.discount == 1.0).all())  # a time-out is no ending of the task
    told = jax.jit(ENV.timestep)
    for outcome, success in ((RIGHT, True), (WRONG, False)):
        end = told(START(jax.random.key(0))._replace(outcome=jnp.array(outcome), reward=jnp.array(0.5)))
        assert bool(end.last)
        assert (float(end.discount), bool(end.success), float(end.reward)) == (0.0, success, 0.5)


@pytest.mark.parametrize("action", [-1, 8, 1000])
def test_an_action_out_of_range_is_refused(action):
    with pytest.raises(DaxlabError, match="actions 0…7"):
        ENV.advance(START(jax.random.key(0)), action)


def test_an_action_of_the_wrong_type_is_refused():
    with pytest.raises(DaxlabError, match="whole number"):
        ENV.advance(START(jax.random.key(0)), 1.5)


@pytest.mark.parametrize("key", [0, None, "seed", np.zeros(3), jnp.zeros(2), np.zeros(3, np.uint32)])
def test_a_key_of_the_wrong_type_is_refused(key):
    with pytest.raises(DaxlabError, match=r"jax.random.key\(seed\)"):
        Env(ROOM).start(key)


def test_old_style_keys_work_too():
    new, old = START(jax.random.key(3)), START(jax.random.PRNGKey(3))
    np.testing.assert_array_equal(np.asarray(new.names), np.asarray(old.names))


@pytest.mark.parametrize(("width", "height"), [(0, 72), (96, 0), (-5, 10)])
def test_a_picture_without_pixels_is_refused(width, height):
    with pytest.raises(DaxlabError, match="at least 1 pixel"):
        Env(ROOM, width=width, height=height)


def test_no_rooms_are_refused():
    with pytest.raises(DaxlabError, match="at least 1"):
        Rooms(Env(ROOM), 0)


def test_controls_of_the_wrong_shape_are_refused():
    with pytest.raises(DaxlabError, match="9 numbers"):
        ENV.step_controls(START(jax.random.key(0)), jnp.zeros(8))
