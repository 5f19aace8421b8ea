"""Laws of the corridor: in which order objects are met, when they are named, what is in the room, what it is worth."""

from __future__ import annotations

import dataclasses
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from daxlab.assets.catalog import HELDOUT_OBJECTS, TRAIN_OBJECTS, bank
from daxlab.errors import DaxlabError
from daxlab.levels.env import Env
from daxlab.levels.episode import RIGHT, RUNNING, WRONG, text
from daxlab.levels.expert import act, any_slot
from daxlab.levels.registry import choose, get
from daxlab.levels.spec import DISCOVERY, INSTRUCTION, Level
from daxlab.levels.vocabulary import WORDS, decode
from daxlab.world.state import Physics

# Coarse physics, which compiles soon: it is not what is tested here.
COARSE = Physics(substeps=1, passes=1, eye_height=0.5, reach=0.0)
PAPER = dataclasses.replace(get("corridor/fast_map_train"), name="test/paper", named_before=False, physics=COARSE)
RELEASE = dataclasses.replace(
    get("corridor/slow_map_test"), name="test/release", stakes=10.0, shaping=1.0, physics=COARSE
)
both = pytest.mark.parametrize("level", [PAPER, RELEASE], ids=lambda level: level.name)

EXPERT, RANDOM, ASTRAY = range(3)
"""Who plays in a room: the expert; it with a random object; somebody who does anything at all every fourth time."""
ROOMS, STEPS = 3 * 60, 90
TOUCH = 0.05


@cache
def played(level: Level):
    """All states of many episodes, the texts, and which meshes are drawn; room i is of kind i % 3."""
    env = Env(level)

    def do(kind, state):
        goal = jnp.where(kind == RANDOM, any_slot(level, state), state.target)
        key = jax.random.fold_in(jax.random.wrap_key_data(state.key), state.clock)
        anything = jax.random.randint(key, (), 0, 4 * len(level.actions))
        astray = (kind == ASTRAY) & (anything < len(level.actions))
        return env.advance(state, jnp.where(astray, anything, act(level, state, goal)))

    @jax.jit
    def run(keys):
        kinds = jnp.arange(ROOMS) % 3
        first = jax.vmap(env.start)(keys)

        def one(states, _):
            after = jax.vmap(do)(kinds, states)
            return after, after

        rest = jax.lax.scan(one, first, None, length=STEPS)[1]
        states = jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), first, rest)
        return states, jax.vmap(jax.vmap(lambda s: (text(level, s), env.scene(s).mesh)))(states)

    states, (texts, drawn) = run(jax.random.split(jax.random.key(5), ROOMS))
    return jax.tree.map(np.asarray, states), np.asarray(texts), np.asarray(drawn)


def gaps(level: Level, states) -> np.ndarray:
    """Space between the agent and each object, absent or not: steps × rooms × slots."""
    apart = np.linalg.norm(states.world.position[..., :2] - states.world.agent[:, :, None], axis=-1)
    return apart - states.props.radius - level.physics.agent_radius


def began(states, room: int) -> int:
    """The step at which a room's instruction begins; none began later than STEPS."""
    asked = states.phase[:, room] == INSTRUCTION
    return int(asked.argmax()) if asked.any() else STEPS + 1


# --- what the levels are -----------------------------------------------------------------------------------------


def test_thirty_objects_to_train_ten_to_test_eight_actions_even_chance():
    levels = {level.name: level for level in choose(("corridor",))}
    assert set(levels) == {f"corridor/{r}_map_{s}" for r in ("fast", "slow") for s in ("train", "test")}
    for name, level in levels.items():
        assert level.objects == (TRAIN_OBJECTS if name.endswith("train") else HELDOUT_OBJECTS)
        assert len(level.objects) == (30 if name.endswith("train") else 10)
        assert level.regime in name
        assert (level.num_objects, level.num_choices, level.chance) == (3, 2, 0.5)
        assert (len(set(level.actions)), level.shaping, level.stakes) == (8, 0.1, 0.0)
        assert not any("GRAB" in action for action in level.actions)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"setting": "room"}, "choices and named_before are of corridors"),
        ({"choices": 4}, "choices is 4; 'test/bad' allows 1…3"),
        ({"choices": -1}, "choices is -1"),
        ({"room": (2.0, 4.0, 2.6)}, "allows 1…1"),
        ({"two_phase": False}, "a corridor has two phases"),
        ({"furniture": ("bed",)}, "no furniture"),
        ({"rounds": 2}, "more rounds"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(change, says):
    with pytest.raises(DaxlabError) as error:
        dataclasses.replace(PAPER, name="test/bad", **change)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


@both
def test_nothing_leaves_the_room_or_sinks(level):
    states, _, _ = played(level)
    assert all(np.isfinite(x).all() for x in jax.tree.leaves(states) if x.dtype.kind == "f")
    position, props = states.world.position, states.props
    assert (np.abs(position[..., :2]) + props.radius[..., None] - props.room[..., None, :2]).max() < 0.05
    assert (position[..., 2] - props.half_height).min() > -0.02
    assert (np.abs(states.world.agent) + level.physics.agent_radius - props.room[..., :2]).max() < 0.01


# --- the corridor ------------------------------------------------------------------------------------------------


@both
def test_objects_are_met_one_after_another_and_none_is_passed(level):
    states, _, _ = played(level)
    assert (np.diff(states.layout.place[0, :, :, 1]) > 1.0).all()
    seen = states.visited.astype(int)
    assert (np.diff(seen, axis=0) >= 0).all()
    assert (np.diff(seen, axis=0).sum(-1) <= 1).all()
    assert (np.diff(seen, axis=-1) <= 0).all()
    # The room begins at the end of the corridor, with all names heard.
    rooms = [room for room in range(ROOMS) if began(states, room) <= STEPS]
    assert {room % 3 for room in rooms} == {EXPERT, RANDOM, ASTRAY}
    for room in rooms:
        before = began(states, room) - 1
        assert states.visited[before, room].all()
        ahead = states.props.room[before, room, 1] - states.world.agent[before, room, 1]
        assert ahead - level.physics.agent_radius < TOUCH
    # The wider side of each is too narrow for the agent.
    beside = states.props.room[0, :, :1] + np.abs(states.layout.place[0, :, :, 0]) - states.props.radius[0]
    assert beside.max() < 2 * level.physics.agent_radius


@both
def test_an_object_is_collected_when_touched_and_not_before(level):
    states, _, drawn = played(level)
    gap, present = gaps(level, states), states.props.present
    corridor = states.phase == DISCOVERY
    assert gap[present].min() >= TOUCH
    assert present[0].all()
    np.testing.assert_array_equal(present[corridor], ~states.visited[corridor])
    for t, room, slot in np.argwhere(np.diff(states.visited.astype(int), axis=0)):
        assert gap[t + 1, room, slot] < TOUCH
        assert states.reward[t + 1, room] == np.float32(level.shaping)
    np.testing.assert_array_equal(drawn, np.where(present, states.layout.mesh, -1))


def test_a_name_is_given_for_half_a_second_from_when_its_object_is_collected():
    states, texts, _ = played(PAPER)
    for room in range(ROOMS):
        wanted = np.zeros((STEPS + 1, 8), int)
        for slot in range(3):
            heard = states.visited[:, room, slot]
            if heard.any():
                at = int(heard.argmax())
                wanted[at : at + 5, :4] = [*map(WORDS.index, ("this", "is", "a")), states.names[0, room, slot]]
        end = began(states, room)
        np.testing.assert_array_equal(texts[:end, room], wanted[:end])


def test_in_the_released_variant_the_name_of_the_next_object_is_given():
    states, texts, _ = played(RELEASE)
    for room in range(0, ROOMS, 2):
        for t in range(0, min(began(states, room), STEPS + 1), 2):
            count = states.visited[t, room].sum()
            said = f"This is a {WORDS[states.names[0, room, count]]}" if count < 3 else ""
            assert decode(texts[t, room]) == said


def test_names_are_dealt_anew_or_the_objects_own():
    fast, slow = played(PAPER)[0], played(RELEASE)[0]
    assert len({*fast.names[0].ravel().tolist()}) > 50
    for names, mesh in zip(slow.names[0], slow.layout.mesh[0], strict=True):
        assert [WORDS[name] for name in names] == [bank().names[m] for m in mesh]


# --- the room ----------------------------------------------------------------------------------------------------


@both
def test_the_room_has_two_of_the_three_and_the_target_is_one_of_them(level):
    states, _, _ = played(level)
    room = jax.tree.map(lambda x: x[0], states.next_layout)
    target = states.target[0]
    assert (room.present.sum(-1) == 2).all()
    assert room.present[np.arange(ROOMS), target].all()
    np.testing.assert_array_equal(room.mesh, states.layout.mesh[0])
    # Each object is asked for, with either of the others; left and right as often.
    asked = {(int(t), int(np.argmin(p))) for t, p in zip(target, room.present, strict=True)}
    assert len(asked) == 6
    left = (room.place[np.arange(ROOMS), target, 0] < 0).mean()
    assert abs(left - 0.5) < 3 * 0.5 / np.sqrt(ROOMS)
    here = room.place[room.present].reshape(ROOMS, 2, 3)
    assert (here[:, 0, 0] * here[:, 1, 0] < 0).all()
    for i in range(ROOMS):
        if (t := began(states, i)) <= STEPS:
            np.testing.assert_array_equal(states.props.present[t, i], room.present[i])


@both
def test_the_instruction_asks_for_the_target_by_its_name(level):
    states, texts, _ = played(level)
    for t, room in np.argwhere(states.phase == INSTRUCTION)[::11]:
        asked = WORDS[states.names[0, room, states.target[0, room]]]
        assert decode(texts[t, room]) == f"Go to a {asked}"


@both
def test_the_first_object_that_is_touched_ends_the_episode(level):
    states, _, _ = played(level)
    ended, gap = states.outcome[-1] != RUNNING, gaps(level, states)
    assert ended.mean() > 0.6
    for room in np.flatnonzero(ended):
        end = int((states.outcome[:, room] != RUNNING).argmax())
        slot = states.lifted[end, room]
        assert gap[end, room, slot] < TOUCH
        assert states.next_layout.present[0, room, slot]
        right = slot == states.target[0, room]
        assert states.outcome[end, room] == (RIGHT if right else WRONG)
        won, lost = (10, -10) if level.stakes else (1, 0)
        assert states.reward[end, room] == (won if right else lost)
        assert states.reward[:, room].sum() == pytest.approx(3 * level.shaping + (won if right else lost), abs=1e-5)


@both
def test_the_expert_solves_it_and_a_random_object_is_at_chance(level):
    states, _, _ = played(level)
    right = states.outcome[-1] == RIGHT
    assert right[EXPERT::3].all()
    hits = right[RANDOM::3]
    assert set(states.lifted[-1, RANDOM::3]) == {0, 1, 2}
    assert abs(hits.mean() - 0.5) < 3 * 0.5 / np.sqrt(len(hits))
