"""Laws of every level beyond the three-object room: what each is, that it can be solved, and when a putting counts."""

from __future__ import annotations

import dataclasses
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from daxlab.assets.catalog import HELDOUT_OBJECTS, TRAIN_OBJECTS, bank
from daxlab.assets.categories import HELDOUT_CATEGORIES, TRAIN_CATEGORIES
from daxlab.errors import DaxlabError
from daxlab.levels import episode
from daxlab.levels.cast import dress, things
from daxlab.levels.env import Env
from daxlab.levels.episode import RIGHT, RUNNING, WRONG, text
from daxlab.levels.expert import expert
from daxlab.levels.layout import plans
from daxlab.levels.registry import get, levels
from daxlab.levels.route import free, waypoint
from daxlab.levels.spec import DISCOVERY, DISTRACTOR, INSTRUCTION, Level
from daxlab.levels.vocabulary import WORDS, decode
from daxlab.world.state import Physics

# Coarse physics, which compiles soon: it is not what is tested here.
COARSE = Physics(substeps=1, passes=2)
CLASSES = dataclasses.replace(
    get("category_extension/test_holdout_fast_map_three_objs_extension"),
    name="test/eight_classes",
    num_objects=8,
    exemplars=3,
    physics=COARSE,
)
EVERY = dataclasses.replace(
    get("bed_box/test_holdout_fast_map_three_objs_putting"),
    name="test/every_relation",
    goals=(("on", "bed"), ("in", "box"), ("near", "bed"), ("near", "box")),
    physics=COARSE,
)
ROUNDS = dataclasses.replace(
    get("with_distractors/eval_fast_map_two_episodes_three_objs_five_distractor"),
    name="test/two_rounds",
    distractors=1,
    discovery_steps=100,
    distractor_steps=40,
    physics=COARSE,
)
PLAYED = (CLASSES, EVERY, ROUNDS)
"""Every kind of level; the others differ from these in numbers, objects, names and rewards, or have one phase only."""
by_name = pytest.mark.parametrize("level", PLAYED, ids=lambda level: level.name)

RELEASED = """
    architecture_comparison/fast_map_three_objs
    num_generalization/fast_map_three_objs
    num_generalization/fast_map_five_objs
    num_generalization/fast_map_eight_objs
    new_obj_generalization/fast_map_three_objs_global_three
    new_obj_generalization/fast_map_three_objs_global_five
    new_obj_generalization/fast_map_three_objs_global_ten
    new_obj_generalization/fast_map_three_objs_global_twenty
    new_obj_generalization/fast_map_heldout_test_objs
    intrinsic_motivation/fast_map_three_objs_no_shaping_reward
    fast_slow/fast_map_three_objs
    fast_slow/fast_map_three_objs_bed_tray
    fast_slow/fast_map_three_objs_bed_tray_putting_near
    fast_slow/fast_map_three_objs_bed_tray_putting_on
    fast_slow/slow_learn_three_objs_bed_tray_lifting
    fast_slow/slow_learn_three_objs_bed_tray_putting_near
    fast_slow/slow_learn_three_objs_bed_tray_putting_on
    fast_slow/two_phase_slow_learn_three_objs_bed_tray_putting_near
    fast_slow/two_phase_slow_learn_three_objs_bed_tray_putting_on
    fast_slow/test_holdout_fast_map_three_objs_bed_tray_putting_on
    with_distractors/fast_map_three_objs_no_distractor
    with_distractors/fast_map_three_objs_one_distractor
    with_distractors/fast_map_three_objs_two_distractor
    with_distractors/eval_fast_map_three_objs_ten_distractor
    with_distractors/eval_fast_map_three_objs_twenty_distractor
    with_distractors/eval_fast_map_two_episodes_three_objs_five_distractor
    with_distractors/eval_fast_map_three_episodes_three_objs_five_distractor
    with_distractors/eval_fast_map_four_episodes_three_objs_no_distractor
    with_distractors/eval_fast_map_four_episodes_three_objs_one_distractor
""".split()

EXPERT, RANDOM, ASTRAY, SPIRIT, LEFT = range(5)
"""What happens in a room: the expert does as told; it does so with a random object; it puts the right object in
another place; the object lies on the bed as the instruction comes, at once, and nobody moves; the same, but a hand held
it before. The last three are of levels with goals; where there are several rounds, nobody moves in the last two."""
ROOMS, STEPS = 5 * 36, 240


@cache
def played(level: Level):
    """All states of many episodes, and the texts; room i is of kind i % 5. One compilation a level."""
    env = Env(level)

    def begin(kind, key):
        state = env.start(key)
        if state.putting is None:
            return state
        lies = kind >= SPIRIT
        bed = jnp.append(state.layout.furniture[0], 0.4 + state.props.half_height[state.target])
        place = jnp.where(lies, bed, state.world.position[state.target])
        asked = state.putting._replace(
            goal=jnp.where(lies, 0, state.putting.goal), handled=jnp.where(kind == LEFT, state.target, -1)
        )
        world = state.world._replace(position=state.world.position.at[state.target].set(place))
        return state._replace(world=world, putting=asked, phase=jnp.where(lies, INSTRUCTION, state.phase))

    def act(kind, state):
        random = (state.key[0] % level.num_objects).astype(jnp.int32)
        wanted = state._replace(target=jnp.where(kind == RANDOM, random, state.target))
        if state.putting is None:
            return jnp.where((kind >= SPIRIT) & level.has_agenda, 0, expert(level, wanted))
        goal = (state.putting.goal + (kind == ASTRAY)) % len(level.goals)
        action = expert(level, wanted._replace(putting=state.putting._replace(goal=goal)))
        return jnp.where(kind >= SPIRIT, 0, action)

    @jax.jit
    def run(keys):
        kinds = jnp.arange(ROOMS) % 5
        first = jax.vmap(begin)(kinds, keys)

        def one(states, _):
            after = jax.vmap(lambda kind, s: env.advance(s, act(kind, s)))(kinds, states)
            return after, after

        rest = jax.lax.scan(one, first, None, length=STEPS)[1]
        states = jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), first, rest)
        return states, jax.vmap(jax.vmap(lambda s: text(level, s)))(states)

    states, texts = run(jax.random.split(jax.random.key(11), ROOMS))
    return jax.tree.map(np.asarray, states), np.asarray(texts)


def of(kind: int, values: np.ndarray) -> np.ndarray:
    """The rooms of one kind."""
    return values[..., kind::5]


# --- what each level is ------------------------------------------------------------------------------------------


def test_the_release_s_levels_are_all_here_by_name():
    assert len(RELEASED) == 29
    assert set(RELEASED) <= set(levels())


def test_names_say_what_the_levels_are():
    sizes = {"no": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "eight": 8, "ten": 10, "twenty": 20}
    for name, level in levels().items():
        words = name.split("/")[1].split("_")
        counted = words[words.index("objs") - 1] if "objs" in words else "three"
        assert level.num_objects == sizes.get(counted, 3), name
        assert level.regime == ("slow" if "slow" in words else "fast"), name
        assert level.shaping == (0.0 if "no_shaping" in name else 0.1), name
        classes, held_out = name.startswith("category_extension/"), "test" in words
        assert bool(level.exemplars) == classes, name
        assert level.extension == (words[-1] == "extension"), name
        if classes:
            assert level.objects == (HELDOUT_CATEGORIES if held_out else TRAIN_CATEGORIES), name
        else:
            assert set(level.objects) <= set(HELDOUT_OBJECTS if held_out else TRAIN_OBJECTS), name
        if "global" in words:
            assert level.objects == TRAIN_OBJECTS[: sizes[words[-1]]], name
        if "bed_tray" in name:
            assert level.furniture == ("bed", "tray"), name
        if "putting" in words and "fast_slow" in name:
            assert level.goals == ((words[-1], "bed"), (words[-1], "tray")), name
        if "putting" not in words:
            assert not level.goals, name
        assert level.distractors == (sizes[words[-2]] if words[-1] == "distractor" else 0), name
        assert level.rounds == (sizes[words[words.index("episodes") - 1]] if "episodes" in words else 1), name
        assert level.episode_steps == (4500 if "distractor" in words else level.episode_steps), name
        if name.startswith("fast_slow/"):
            assert level.two_phase == ("slow" not in words or "two" in words), name


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"goals": (("under", "bed"),), "furniture": ("bed",)}, "unknown relation 'under'"),
        ({"goals": (("on", "bed"),)}, "goals has 'bed', which is not in the room"),
        ({"rounds": 0}, "rounds=0"),
        ({"distractors": -1}, "distractors=-1"),
        ({"distractors": 1, "regime": "slow"}, "need a two-phase fast level"),
        ({"rounds": 10, "distractors": 1}, "needs 33 objects and 30 words"),
        ({"exemplars": 2}, "unknown class 'boat'"),
        ({"exemplars": -1, "objects": TRAIN_CATEGORIES}, "exemplars=-1"),
        ({"exemplars": 1, "extension": True, "objects": TRAIN_CATEGORIES}, "extension needs two of them"),
        ({"extension": True}, "exemplars=0"),
        ({"exemplars": 2, "extension": True, "two_phase": False, "objects": TRAIN_CATEGORIES}, "two_phase=False"),
        ({"exemplars": 2, "distractors": 1, "objects": TRAIN_CATEGORIES}, "need everyday objects"),
        ({"words": ("dax", "wug", "xyzzy")}, "unknown word 'xyzzy'"),
        ({"physics": Physics(substeps=0)}, "substeps=0"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(change, says):
    with pytest.raises(DaxlabError) as error:
        dataclasses.replace(Level(name="test/bad"), **change)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


# --- expert and chance -------------------------------------------------------------------------------------------


@by_name
def test_the_expert_solves_it_and_a_random_object_is_at_chance(level):
    states, _ = played(level)
    right = states.outcome[-1] == RIGHT
    assert of(EXPERT, right).mean() >= 0.96
    hits = of(RANDOM, right)
    assert abs(hits.mean() - level.chance) < 3 * np.sqrt(level.chance * (1 - level.chance) / len(hits))


@by_name
def test_nothing_leaves_the_room_or_sinks(level):
    states, _ = played(level)
    assert all(np.isfinite(x).all() for x in jax.tree.leaves(states) if x.dtype.kind == "f")
    position, props = states.world.position, states.props
    outside = np.abs(position[..., :2]) + props.radius[..., None] - props.room[..., None, :2]
    # What the hand carries may be pushed a little into a wall for a step.
    assert outside.max() < 0.05
    assert (position[..., 2] - props.half_height).min() > -0.02
    assert (np.abs(states.world.agent) + level.physics.agent_radius - props.room[..., :2]).max() < 0.01


# --- classes -----------------------------------------------------------------------------------------------------


def test_the_instruction_phase_has_other_exemplars_of_the_same_classes():
    states, _ = played(CLASSES)
    first, last = states.layout.mesh[0], states.next_layout.mesh[0]
    np.testing.assert_array_equal(first // 3, last // 3)
    assert (first != last).all()
    # Each class once, and every pair of two of the three exemplars.
    np.testing.assert_array_equal(np.sort(first // 3, -1), np.tile(np.arange(8), (ROOMS, 1)))
    assert len({*zip((first % 3).ravel().tolist(), (last % 3).ravel().tolist(), strict=True)}) == 6
    asked = states.phase[-1] == INSTRUCTION
    np.testing.assert_array_equal(states.layout.mesh[-1][asked], last[asked])
    bank_ = things(CLASSES)
    assert [name.rsplit(" ", 1)[0] for name in bank_.names[:24:3]] == list(HELDOUT_CATEGORIES)
    np.testing.assert_array_equal(states.props.radius[0], bank_.radius[first])
    np.testing.assert_array_equal(states.props.radius[-1][asked], bank_.radius[last][asked])


def test_without_extension_both_phases_have_the_same_exemplar():
    level = dataclasses.replace(CLASSES, extension=False)
    first, last = dress(level, jax.random.key(0), jnp.arange(8))
    np.testing.assert_array_equal(first, last)
    np.testing.assert_array_equal(first // 3, np.arange(8))
    assert len({*np.asarray(first % 3).tolist()}) > 1


# --- putting -----------------------------------------------------------------------------------------------------


def test_the_instruction_names_object_relation_and_furniture():
    level = EVERY
    states, texts = played(level)
    assert set(states.putting.goal[0]) == set(range(len(level.goals)))
    for t in range(0, STEPS, 40):
        for room in range(0, ROOMS, 7):
            if states.phase[t, room] == INSTRUCTION:
                relation, item = level.goals[states.putting.goal[t, room]]
                asked = WORDS[states.names[t, room, states.target[t, room]]]
                assert decode(texts[t, room]) == f"Put a {asked} {relation} a {item}"


def met(level: Level, states, t: int, room: int, slot: int) -> list[bool]:
    """Which of a level's goals an object meets, told from positions alone."""
    x, y, z = states.world.position[t, room, slot]
    radius, bottom = states.props.radius[t, room, slot], z - states.props.half_height[t, room, slot]
    told = []
    for relation, item in level.goals:
        piece = level.furniture.index(item)
        cx, cy = states.layout.furniture[t, room, piece]
        half = {"bed": (0.8, 0.45), "tray": (0.45, 0.35), "box": (0.35, 0.35)}[item]
        half = half[::-1] if states.layout.quarter[t, room, piece] % 2 else half
        gap = np.hypot(max(abs(x - cx) - half[0], 0), max(abs(y - cy) - half[1], 0))
        on, inside, near = gap == 0 and bottom > 0.01, gap == 0 and bottom < 0.35, 0 < gap <= radius + 0.4
        told.append(bool({"on": on, "in": inside, "near": near}[relation]))
    return told


def test_a_putting_is_three_steps_at_rest_in_place_and_let_go():
    level = EVERY
    states, _ = played(level)
    ended = 0
    for room in range(ROOMS):
        end = int((states.outcome[:, room] != RUNNING).argmax())
        if not end:
            continue
        ended += 1
        slot, last = states.lifted[end, room], slice(end - 2, end + 1)
        assert slot == states.putting.handled[end, room]
        assert (states.world.held[last, room] == -1).all()
        assert np.linalg.norm(states.world.velocity[last, room, slot], axis=-1).max() < 0.1
        assert all(any(met(level, states, t, room, slot)) for t in range(end - 2, end + 1))
        asked = met(level, states, end, room, slot)[states.putting.goal[end, room]]
        right = asked and slot == states.target[end, room]
        assert (states.outcome[end, room] == RIGHT) == right
        assert states.reward[end, room] == (1.0 if right else 0.0)
    assert ended > 0.55 * ROOMS


def test_the_wrong_object_and_the_wrong_place_end_the_episode_without_reward():
    states, _ = played(EVERY)
    random, astray = of(RANDOM, states.outcome[-1]), of(ASTRAY, states.outcome[-1])
    assert (random == WRONG).sum() > 10
    # What is near the bed can be near the box, too.
    assert (astray == WRONG).mean() > 0.9
    assert of(ASTRAY, states.reward.max(0))[astray == WRONG].max() < 0.2
    assert (states.reward.max(0) <= 1).all()


def test_an_object_counts_only_if_a_hand_put_it_there():
    states, _ = played(EVERY)
    assert (of(SPIRIT, states.outcome[-1]) == RUNNING).all()
    assert (of(LEFT, states.outcome[5]) == RIGHT).all()


def test_what_the_hand_still_holds_was_not_put():
    states, _ = played(EVERY)
    lying = jax.tree.map(lambda x: jnp.asarray(x[2, LEFT]), states)
    instruct = jax.jit(lambda state: episode._instruct_to_put(EVERY, state, state.putting))
    assert int(lying.outcome) == RUNNING
    assert int(instruct(lying).raised) == int(lying.raised) + 1 >= 2
    held = lying._replace(world=lying.world._replace(held=lying.target))
    assert int(instruct(held).raised) == 0


# --- many phases -------------------------------------------------------------------------------------------------

ORDER = [DISCOVERY, DISTRACTOR, DISCOVERY, DISTRACTOR, INSTRUCTION]


def begun(states, room: int) -> list[int]:
    """The steps at which a room's phases begin."""
    return [0, *(np.flatnonzero(np.diff(states.agenda.at[:, room])) + 1).tolist()]


def test_naming_rounds_and_distractors_alternate_and_the_question_comes_last():
    states, _ = played(ROUNDS)
    for room in np.flatnonzero(np.arange(ROOMS) % 5 <= ASTRAY):
        assert [states.phase[t, room] for t in begun(states, room)] == ORDER
        for t in begun(states, room)[1:]:
            assert states.world.held[t, room] == -1
            assert np.abs(states.world.position[t, room] - states.world.position[t - 1, room]).max() > 0.05
    # Nobody moves: each phase takes the time it may.
    idle = of(SPIRIT, states.phase)
    assert (idle[:100] == DISCOVERY).all()
    assert (idle[100:140] == DISTRACTOR).all()
    assert (idle[140:240] == DISCOVERY).all()
    assert (idle[240] == DISTRACTOR).all()


def test_rounds_share_nothing_and_the_question_is_about_any_of_them():
    states, texts = played(ROUNDS)
    asked = set()
    for room in range(0, ROOMS, 5):
        first, other, second, another, question = begun(states, room)
        mesh, names = states.layout.mesh[:, room], states.names[:, room]
        assert len({*mesh[first], *mesh[second]}) == len({*names[first], *names[second]}) == 6
        for t in (other, another):
            assert not {*mesh[t]} & {*mesh[first], *mesh[second]}
            assert [WORDS[name] for name in names[t]] == [bank().names[m] for m in mesh[t]]
        about = [t for t in (first, second) if (mesh[t] == mesh[question]).all()]
        assert len(about) == 1
        np.testing.assert_array_equal(names[question], names[about[0]])
        asked.add(about[0] == first)
        for t in (other, another, question):
            assert decode(texts[t, room]) == f"Pick up a {WORDS[names[t, states.target[t, room]]]}"
    assert asked == {False, True}


def test_a_distractor_s_lift_ends_its_phase_only_and_earns_a_tenth_if_right():
    states, _ = played(ROUNDS)
    for kind in (EXPERT, RANDOM):
        for room in range(kind, ROOMS, 5):
            _, other, second, another, question = begun(states, room)
            for start, end in ((other, second), (another, question)):
                right = states.lifted[end - 1, room] == states.target[end - 1, room]
                assert states.lifted[end - 1, room] >= 0
                assert states.outcome[end, room] == RUNNING
                assert states.reward[start + 1 : end, room].sum() == (np.float32(0.1) if right else 0)
    np.testing.assert_allclose(of(EXPERT, states.reward.sum(0)), 6 * 0.1 + 2 * 0.1 + 1, atol=1e-5)


# --- ways round furniture ----------------------------------------------------------------------------------------


def test_a_way_is_free_exactly_if_no_point_of_it_is_near_furniture():
    rng = np.random.default_rng(0)
    plans_ = jnp.array([[[-0.5, -1.0], [0.5, 1.0]], [[1.2, 1.2], [1.9, 1.6]]])
    start, end = (jnp.asarray(rng.uniform(-2.4, 2.4, (200, 2)), jnp.float32) for _ in range(2))
    points = start[:, None] + np.linspace(0, 1, 400)[:, None] * (end - start)[:, None]
    away = np.maximum(plans_[:, 0] - points[:, :, None], points[:, :, None] - plans_[:, 1]).max(-1)
    told = np.asarray(free(start, end, plans_))
    clear = np.asarray(away).min(1)
    sure = np.abs(clear - 0.17) > 0.02
    np.testing.assert_array_equal(told[sure], (clear > 0.17)[sure])


def test_every_object_is_reached_by_free_ways():
    """From the agent's place, waypoint by waypoint, without crossing furniture."""
    states, _ = played(EVERY)
    nowhere = jnp.zeros(len(EVERY.furniture), bool)

    @jax.jit
    @jax.vmap
    def walk(layout, room):
        plan, goal = plans(EVERY, layout), layout.place[0, :2]

        def leg(here, _):
            there = waypoint(here, goal, plan, room, nowhere)
            return there, ~free(here, there, plan).all()

        here, blocked = jax.lax.scan(leg, layout.agent, None, length=6)
        return blocked.any(), (here == goal).all()

    blocked, arrived = walk(*jax.tree.map(lambda x: x[0], (states.layout, states.props.room)))
    assert np.asarray(arrived).mean() > 0.99
    assert np.asarray(blocked).mean() < 0.01
