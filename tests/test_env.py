"""The functional interface and its auto-reset."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from daxlab.errors import DaxlabError
from daxlab.levels.env import Env, Rooms
from daxlab.levels.episode import RUNNING
from daxlab.levels.expert import expert
from daxlab.levels.registry import get
from daxlab.levels.vocabulary import decode

ROOM = "architecture_comparison/fast_map_three_objs"
DESK = "desk/fast_map_three_objs"
SHORT = dataclasses.replace(get(DESK), name="test/short", discovery_steps=3, episode_steps=7)


def test_reset_and_step_give_pixels_and_words():
    env = Env(ROOM)
    state, first = env.reset(jax.random.key(0))
    assert first.observation.rgb.shape == (72, 96, 3)
    assert first.observation.rgb.dtype == jnp.uint8
    assert first.observation.text.shape == (env.text_length,)
    assert bool(first.first)
    assert not bool(first.last)
    _, later = env.step(state, 5)
    assert not bool(later.first)
    assert not np.array_equal(first.observation.rgb, later.observation.rgb)


def test_step_works_under_jit_and_vmap():
    env = Env(DESK)
    states, _ = jax.jit(jax.vmap(env.reset))(jax.random.split(jax.random.key(0), 4))
    states, steps = jax.jit(jax.vmap(env.step))(states, jnp.arange(4))
    assert steps.observation.rgb.shape == (4, 24, 24, 3)
    third, _ = jax.jit(env.reset)(jax.random.split(jax.random.key(0), 4)[2])
    _, one = jax.jit(env.step)(third, 2)
    np.testing.assert_array_equal(np.asarray(one.observation.text), np.asarray(steps.observation.text[2]))
    assert np.mean(np.asarray(one.observation.rgb) == np.asarray(steps.observation.rgb[2])) > 0.99


def test_discrete_actions_are_their_controls():
    env = Env(ROOM)
    state = env.start(jax.random.key(1))
    named, _ = env.step(state, env.level.actions.index("LOOK_RIGHT(0.2)"))
    free, _ = env.step_controls(state, jnp.zeros(9).at[2].set(0.2))
    np.testing.assert_array_equal(np.asarray(named.world.heading), np.asarray(free.world.heading))


def test_any_size_and_readable_text():
    env = Env(ROOM, width=13, height=7)
    state, first = env.reset(jax.random.key(0))
    assert first.observation.rgb.shape == (7, 13, 3)
    assert env.picture(state, 64, 48).shape == (48, 64, 3)
    assert env.text(state) == decode(np.asarray(first.observation.text))


def play(rooms: Rooms, seed: int | None, steps: int):
    """All states of some steps, with random actions or (no seed) none at all."""
    actions = jnp.zeros((steps, rooms.count), jnp.int32)
    if seed is not None:
        actions = jax.random.randint(jax.random.key(seed), actions.shape, 0, rooms.env.num_actions)

    @jax.jit
    def run(key, actions):
        states = jax.vmap(rooms.env.start)(jax.random.split(key, rooms.count))
        return jax.lax.scan(lambda s, a: (lambda n: (n, n))(rooms.advance(s, a)), states, actions)[1]

    return jax.tree.map(np.asarray, run(jax.random.key(0), actions)), np.asarray(actions)


@pytest.mark.parametrize("count", [1, 5, 64])
def test_auto_reset_equals_one_room_at_a_time(count):
    """The sliced restart is the same as: if it had ended, start again from its own key, else advance."""
    rooms = Rooms(Env(SHORT), count)
    states, actions = play(rooms, 1, 20)
    keys = jax.random.split(jax.random.key(0), count)
    begin, advance = jax.jit(rooms.env.start), jax.jit(rooms.env.advance)
    for room in range(min(count, 3)):
        state = begin(keys[room])
        for t in range(20):
            state = advance(state, actions[t, room]) if int(state.outcome) == RUNNING else begin(state.key)
            for name in ("clock", "names", "target", "outcome", "phase", "visited"):
                np.testing.assert_array_equal(getattr(states, name)[t, room], np.asarray(getattr(state, name)))
            np.testing.assert_allclose(states.world.position[t, room], np.asarray(state.world.position), atol=1e-4)


def test_rooms_that_all_end_at_once_all_restart():
    rooms = Rooms(Env(SHORT), 100)
    states, _ = play(rooms, None, 9)
    assert (states.outcome[6] != RUNNING).all()
    assert (states.clock[7] == 0).all()
    assert (states.clock[8] == 1).all()
    assert len({tuple(row) for row in states.key[7].tolist()}) == 100


def test_time_step_marks_first_last_and_discount():
    rooms = Rooms(Env(SHORT), 3)
    states, first = jax.jit(rooms.reset)(jax.random.key(0))
    assert bool(first.first.all())
    forward = jax.jit(rooms.step)
    for t in range(1, 9):
        states, step = forward(states, jnp.zeros(3, jnp.int32))
        assert bool((step.last == (t == 7)).all())
        assert bool((step.first == (t == 8)).all())
        assert bool((step.discount == 1.0).all())  # a time-out is no ending of the task
    env = Env(DESK)
    state = env.start(jax.random.key(0))
    advance = jax.jit(lambda s: env.advance(s, expert(env.level, s)))
    while int(state.outcome) == RUNNING:
        state = advance(state)
    end = env.timestep(state)
    assert bool(end.last)
    assert float(end.discount) == 0.0
    assert bool(end.success)
    assert float(end.reward) == 1.0


@pytest.mark.parametrize("action", [-1, 46, 1000])
def test_an_action_out_of_range_is_refused(action):
    env = Env(ROOM)
    with pytest.raises(DaxlabError, match="actions 0…45"):
        env.advance(env.start(jax.random.key(0)), action)


def test_an_action_of_the_wrong_type_is_refused():
    env = Env(ROOM)
    with pytest.raises(DaxlabError, match="whole number"):
        env.advance(env.start(jax.random.key(0)), 1.5)


@pytest.mark.parametrize("key", [0, None, "seed", np.zeros(3), jnp.zeros(2), np.zeros(3, np.uint32)])
def test_a_key_of_the_wrong_type_is_refused(key):
    with pytest.raises(DaxlabError, match=r"jax.random.key\(seed\)"):
        Env(ROOM).start(key)


def test_old_style_keys_work_too():
    env = Env(DESK)
    new, old = env.start(jax.random.key(3)), env.start(jax.random.PRNGKey(3))
    np.testing.assert_array_equal(np.asarray(new.names), np.asarray(old.names))


@pytest.mark.parametrize(("width", "height"), [(0, 72), (96, 0), (-5, 10)])
def test_a_picture_without_pixels_is_refused(width, height):
    with pytest.raises(DaxlabError, match="at least 1 pixel"):
        Env(ROOM, width=width, height=height)


def test_no_rooms_are_refused():
    with pytest.raises(DaxlabError, match="at least 1"):
        Rooms(Env(ROOM), 0)


def test_controls_of_the_wrong_shape_are_refused():
    env = Env(ROOM)
    with pytest.raises(DaxlabError, match="9 numbers"):
        env.step_controls(env.start(jax.random.key(0)), jnp.zeros(8))
