"""Laws of the two-phase episode, checked from outside: states in, states out."""

from __future__ import annotations

import dataclasses
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daxlab.assets.catalog import HELDOUT_OBJECTS, TRAIN_OBJECTS, bank
from daxlab.errors import DaxlabError
from daxlab.levels.env import Env, Rooms
from daxlab.levels.episode import DISCOVERY, INSTRUCTION, RIGHT, RUNNING, TIMEOUT, WRONG, text
from daxlab.levels.expert import ACTORS
from daxlab.levels.play import play_both
from daxlab.levels.registry import get, levels
from daxlab.levels.spec import Level
from daxlab.levels.vocabulary import NONSENSE, TEXT_LENGTH, WORDS, decode, encode, encode_words

ROOM = "architecture_comparison/fast_map_three_objs"
SLOW = "architecture_comparison/slow_learn_three_objs"
DESK = "desk/fast_map_three_objs"


@cache
def env_of(name: str) -> Env:
    return Env(name)


@cache
def advance_of(name: str):
    return jax.jit(env_of(name).advance)


@cache
def trajectory(name: str, actor_name: str = "expert", rooms: int = 64, steps: int = 150, seed: int = 0):
    """All states of many episodes, without auto-reset: leaves of shape [steps + 1, rooms, …], and the texts."""
    env, actor = env_of(name), ACTORS[actor_name]

    @jax.jit
    def run(keys):
        first = jax.vmap(env.start)(keys)

        def one(states, _):
            after = jax.vmap(lambda s: env.advance(s, actor(env.level, s)))(states)
            return after, after

        rest = jax.lax.scan(one, first, None, length=steps)[1]
        states = jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), first, rest)
        return states, jax.vmap(jax.vmap(lambda s: text(env.level, s)))(states)

    states, texts = run(jax.random.split(jax.random.key(seed), rooms))
    return jax.tree.map(np.asarray, states), np.asarray(texts)


# --- names and words ---------------------------------------------------------------------------------------------


def test_vocabulary_is_sixty_made_up_words_and_ids_are_stable():
    assert len(set(NONSENSE)) == 60
    assert not set(NONSENSE) & {*TRAIN_OBJECTS, *HELDOUT_OBJECTS}
    assert WORDS[0] == ""
    assert len(set(WORDS)) == len(WORDS)
    assert decode(encode("this is a dax")) == "This is a dax"
    assert len(encode("pick up a dax")) == TEXT_LENGTH
    with pytest.raises(DaxlabError, match="unknown word"):
        encode("this is a flurbz")


def test_fast_names_are_uniform_over_objects_and_differ_in_every_episode():
    """Word–object pairs: every pair equally likely, over many auto-resets of few rooms, and never the first again."""
    level = dataclasses.replace(
        get(DESK), name="test/pairs", objects=TRAIN_OBJECTS[:5], words=NONSENSE[:6], discovery_steps=1, episode_steps=2
    )
    rooms = Rooms(Env(level), 400)

    @jax.jit
    def run(key):
        states = jax.vmap(rooms.env.start)(jax.random.split(key, 400))

        def one(states, _):
            after = rooms.advance(states, jnp.zeros(400, jnp.int32))
            return after, (after.layout.mesh, after.names, after.clock)

        return states, jax.lax.scan(one, states, None, length=60)[1]

    first, (mesh, names, clock) = run(jax.random.key(0))
    fresh = np.asarray(clock) == 0
    assert fresh.sum() == 400 * 20  # two steps and a reset: a new episode every third step
    counts = np.zeros((5, 6))
    mesh_ids = [bank().index(name) for name in level.objects]
    word_ids = encode_words(level.words).tolist()
    for m, w in zip(np.asarray(mesh)[fresh].ravel(), np.asarray(names)[fresh].ravel(), strict=True):
        counts[mesh_ids.index(m), word_ids.index(w)] += 1
    expected = counts.sum() / 30
    chi2 = ((counts - expected) ** 2 / expected).sum()
    assert chi2 < 29 + 5 * np.sqrt(2 * 29), chi2  # five standard deviations
    again = np.asarray(mesh)[fresh].reshape(20, 400, 3) == np.asarray(first.layout.mesh)
    same_names = np.asarray(names)[fresh].reshape(20, 400, 3) == np.asarray(first.names)
    repeats = (again & same_names).all(-1).mean()
    assert repeats < 3 / (5 * 4 * 3 * 6 * 5 * 4) + 5 * np.sqrt(1 / (60 * 120 * 8000))


def test_slow_names_are_the_objects_own():
    states, _ = trajectory(SLOW)
    for mesh, name in zip(states.layout.mesh[0].ravel(), states.names[0].ravel(), strict=True):
        assert WORDS[name] == bank().names[mesh]


@pytest.mark.parametrize("name", [ROOM, SLOW, DESK])
def test_objects_names_and_targets_within_an_episode(name):
    states, _ = trajectory(name)
    mesh, names = states.layout.mesh, states.names
    assert all(len(set(row)) == 3 for row in mesh[0])
    assert all(len(set(row)) == 3 for row in names[0])
    np.testing.assert_array_equal(mesh, np.broadcast_to(mesh[:1], mesh.shape))
    np.testing.assert_array_equal(names, np.broadcast_to(names[:1], names.shape))
    assert set(states.target[0]) == {0, 1, 2}


# --- phases ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [ROOM, SLOW, DESK])
def test_phases_follow_each_other_once_and_positions_are_drawn_anew(name):
    states, _ = trajectory(name)
    phase = states.phase
    assert (phase[0] == DISCOVERY).all()
    assert (np.diff(phase, axis=0) >= 0).all()
    assert (phase[-1] == INSTRUCTION).all()
    switch = (phase == INSTRUCTION).argmax(0)
    for room, t in enumerate(switch):
        before, after = states.world.position[t - 1, room], states.world.position[t, room]
        assert np.abs(before - after).max() > 0.05
        assert states.world.held[t, room] == -1
        assert states.visited[t - 1, room].all() or t == env_of(name).level.discovery_steps


@pytest.mark.parametrize("name", [ROOM, SLOW, DESK])
def test_the_text_channel_says_the_fixated_name_or_the_instruction(name):
    states, texts = trajectory(name)
    steps, rooms = states.phase.shape
    heard = 0
    for t in range(0, steps, 3):
        for room in range(0, rooms, 5):
            said = decode(texts[t, room])
            names = [WORDS[i] for i in states.names[t, room]]
            if states.phase[t, room] == INSTRUCTION:
                assert said == f"Pick up a {names[states.target[t, room]]}"
            elif states.fixated[t, room] >= 0:
                heard += 1
                assert said == f"This is a {names[states.fixated[t, room]]}"
            else:
                assert said == ""
    assert heard > 10


@pytest.mark.parametrize("name", [ROOM, DESK])
def test_every_visited_object_was_named_before_the_instruction(name):
    """The last name, too, stays to be heard for `linger` steps or as long as it is looked at."""
    states, _ = trajectory(name)
    level = env_of(name).level
    for room in range(states.phase.shape[1]):
        discovery = states.phase[:, room] == DISCOVERY
        shown = set(states.fixated[discovery, room].tolist()) - {-1}
        assert shown == set(np.flatnonzero(states.visited[-1, room]).tolist())
        complete = states.visited[:, room].all(-1) & discovery
        if complete.any():
            assert complete.sum() >= min(level.linger, level.discovery_steps)


def test_rewards_are_a_tenth_for_each_first_visit_and_one_for_the_right_lift():
    states, _ = trajectory(ROOM)
    reward, visited = states.reward, states.visited.sum(-1)
    shaping = np.diff(visited, axis=0, prepend=visited[:1]) * 0.1
    success = (states.outcome == RIGHT) & (np.roll(states.outcome, 1, axis=0) == RUNNING)
    np.testing.assert_allclose(reward, shaping + success, atol=1e-6)
    np.testing.assert_allclose(reward.sum(0), 1.3, atol=1e-5)


def test_a_wrong_lift_ends_the_episode_without_reward():
    states, _ = trajectory(ROOM, "random-object")
    wrong = states.outcome[-1] == WRONG
    assert 0 < wrong.sum() < len(wrong)
    assert np.round(states.reward.sum(0)[wrong], 5).max() <= 0.3
    assert (states.lifted[-1][wrong] != states.target[-1][wrong]).all()


def test_a_lift_is_three_consecutive_steps_held_above_a_quarter_metre():
    states, _ = trajectory(ROOM)
    for room in range(8):
        end = int((states.outcome[:, room] != RUNNING).argmax())
        slot = states.lifted[end, room]
        bottom = states.world.position[:, room, slot, 2] - states.props.half_height[:, room, slot]
        assert (bottom[end - 2 : end + 1] > 0.25).all()
        high = (bottom[: end + 1] > 0.25) & (states.phase[: end + 1, room] == INSTRUCTION)
        assert high.sum() == 3


def test_lifting_in_the_discovery_phase_has_no_consequence():
    """The same hands, in the wrong phase: no reward beyond the visit, no end."""
    level = dataclasses.replace(get(DESK), name="test/lift", discovery_steps=70)
    env = Env(level)
    advance = jax.jit(env.advance)
    lift = [level.actions.index(a) for a in ["GRAB"] + ["GRAB + LOOK_DOWN(-1)"] * 2 + ["GRAB"] * 6]
    lifted = 0
    for seed in range(20):
        state = env.start(jax.random.key(seed))
        if int(state.fixated) < 0:
            continue
        for action in lift:
            state = advance(state, action)
            height = np.asarray(state.world.position[:, 2] - state.props.half_height).max() - 0.6
            lifted += int(state.world.held) >= 0 and height > level.lift_height
            assert int(state.outcome) == RUNNING
            assert float(state.reward) in (0.0, np.float32(0.1))
    assert lifted > 5


def test_time_limits_end_discovery_and_the_episode():
    level = dataclasses.replace(get(ROOM), name="test/short", discovery_steps=7, episode_steps=12)
    env = Env(level)
    state = env.start(jax.random.key(0))
    advance = jax.jit(env.advance)
    phases = []
    for _ in range(14):
        state = advance(state, 0)
        phases.append(int(state.phase))
    assert phases[:6] == [DISCOVERY] * 6
    assert phases[6:] == [INSTRUCTION] * 8
    assert int(state.outcome) == TIMEOUT
    assert int(state.clock) == 12


def test_an_ended_episode_stays_ended_and_earns_nothing():
    states, _ = trajectory(ROOM)
    ended = states.outcome[:-1] != RUNNING
    np.testing.assert_array_equal(states.outcome[1:][ended], states.outcome[:-1][ended])
    assert (states.reward[1:][ended] == 0).all()
    np.testing.assert_array_equal(states.clock[1:][ended], states.clock[:-1][ended])


@settings(max_examples=6, deadline=None)
@given(st.integers(0, 2**31 - 1))
def test_layouts_leave_things_apart_and_inside(seed):
    """Objects stand clear of each other and of the agent, in both phases."""
    env = env_of(ROOM)
    state = jax.tree.map(np.asarray, _starts(env)(jax.random.key(seed)))
    for layout in (state.layout, state.next_layout):
        radius = np.asarray(bank().radius)[layout.mesh]
        discs = np.concatenate([layout.place[..., :2], layout.agent[:, None]], 1)
        sizes = np.concatenate([radius, np.full((len(radius), 1), env.level.physics.agent_radius)], 1)
        gaps = np.linalg.norm(discs[:, :, None] - discs[:, None], axis=-1) - sizes[:, :, None] - sizes[:, None]
        assert gaps[:, ~np.eye(4, dtype=bool)].min() > 0.3
        assert (np.abs(discs) + sizes[..., None]).max() <= 2.5


@cache
def _starts(env: Env):
    return jax.jit(lambda key: jax.vmap(env.start)(jax.random.split(key, 50)))


# --- expert and chance -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [ROOM, SLOW, DESK])
def test_the_expert_solves_the_level_and_the_random_object_actor_is_at_chance(name):
    env = env_of(name)
    both = play_both(env, 600, seed=1)
    best = both["expert"]
    assert (best.outcome == RIGHT).mean() >= 0.99
    if name != DESK:
        assert 60 <= np.median(best.steps) <= 150
    chance = both["random-object"].outcome == RIGHT
    assert abs(chance.mean() - env.level.chance) < 3 * np.sqrt(env.level.chance * (1 - env.level.chance) / 600)


# --- bad input ---------------------------------------------------------------------------------------------------


def test_an_unknown_level_lists_near_names():
    with pytest.raises(DaxlabError, match="did you mean desk/fast_map_three_objs"):
        get("desk/fast_map_three_objects")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"num_objects": 0}, "num_objects is 0"),
        ({"num_objects": 26}, "num_objects is 26"),
        ({"num_objects": 9, "setting": "desk"}, "the desk holds 8"),
        ({"num_objects": 3, "objects": ("boat", "book")}, "G has 2"),
        ({"num_objects": 3, "words": ("dax", "wug")}, "words 2"),
        ({"objects": ("boat", "book", "unicorn")}, "unknown object 'unicorn'"),
        ({"furniture": ("throne",)}, "unknown furniture 'throne'"),
        ({"regime": "medium"}, "unknown regime 'medium'"),
        ({"setting": "garden"}, "unknown setting 'garden'"),
        ({"picture": (0, 72)}, "at least 1 pixel"),
        ({"discovery_steps": 0}, "discovery_steps=0"),
        ({"episode_steps": 300}, "episode_steps more than discovery_steps"),
        ({"actions": ("NOOP", "JUMP")}, "unknown action 'JUMP'"),
    ],
)
def test_a_level_that_cannot_be_is_refused_in_one_sentence(change, says):
    with pytest.raises(DaxlabError) as error:
        dataclasses.replace(Level(name="test/bad"), **change)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_registered_levels_are_the_three_of_this_stage():
    assert set(levels()) >= {ROOM, SLOW, DESK}
    assert all(level.name == name for name, level in levels().items())
