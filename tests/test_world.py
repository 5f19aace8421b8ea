"""Laws of the physical world, over long random play on every level: more than 10^6 room-steps."""

from __future__ import annotations

from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daxlab.assets.catalog import bank
from daxlab.assets.furniture import FURNITURE
from daxlab.levels.layout import furniture_names
from daxlab.levels.registry import levels
from daxlab.world import physics, rotation
from daxlab.world.control import ACTIONS, action_table
from daxlab.world.sight import aimed, eye
from daxlab.world.state import Physics, Props, World
from tests.worlds import BARE, DESK, FURNISHED, Every, Worst, begin

# Levels without furniture are stepped ten times as fast, so they are not played in one batch with the others.
CROWDED = [level for level in levels().values() if furniture_names(level) or level.num_objects > 3] + [FURNISHED]
BATCHES = Every([level for level in levels().values() if level not in CROWDED], 64), Every(CROWDED, 64)
STEPS = 350
by_level = pytest.mark.parametrize(
    ("every", "at"),
    [(every, at) for every in BATCHES for at in range(len(every.levels))],
    ids=[level.name for every in BATCHES for level in every.levels],
)


@cache
def played(every: Every) -> tuple[Props, World, Worst]:
    """Played at random: the last worlds, and the worst violations along the way."""
    return every.play(jax.random.key(5), STEPS)


def of(every: Every, at: int, values) -> np.ndarray:
    """The rooms of one level."""
    return np.asarray(values)[every.level_of == at]


@cache
def stepper(level):
    return jax.jit(lambda props, world, control: physics.step(level.physics, props, world, control))


def control(name: str) -> jax.Array:
    return jnp.asarray(action_table((name,))[0])


def test_the_suite_plays_a_million_room_steps_on_all_levels():
    assert sum(len(every.level_of) for every in BATCHES) * STEPS >= 10**6
    assert set(levels().values()) < {level for every in BATCHES for level in every.levels}


@by_level
def test_nothing_is_ever_nan(every, at):
    assert of(every, at, played(every)[2].not_finite).max() == 0


@by_level
def test_nothing_leaves_the_room_or_sinks_through_the_floor(every, at):
    assert of(every, at, played(every)[2].outside_room).max() < 1e-5


@by_level
def test_nothing_is_inside_furniture(every, at):
    """By more than a few centimetres: what is pressed into a gap narrower than itself is in its sides a little."""
    worst = played(every)[2]
    for inside in (of(every, at, worst.inside_furniture), of(every, at, worst.agent_inside_furniture)):
        assert inside.max() < 0.05
        assert np.mean(inside > 0.005) < 0.05


@by_level
def test_objects_hardly_ever_overlap(every, at):
    overlap = of(every, at, played(every)[2].bodies_overlap)
    assert np.mean(overlap > 0.03) < 0.05
    assert overlap.max() < 0.2


@by_level
def test_random_play_touches_what_the_laws_are_about(every, at):
    """The runs above mean little unless things were moved about."""
    level, (before, start) = every.levels[at], every.start
    props, world, worst = played(every)
    here, held = of(every, at, before.present), of(every, at, worst.held) > 0
    if level.setting == "corridor":
        assert 0.1 < of(every, at, props.present)[here].mean() < 0.9
        assert not held.any()
        return
    moved = np.linalg.norm(of(every, at, world.position - start.position), axis=-1) > 0.2
    assert moved[here].mean() > (0.02 if level.setting == "desk" else 0.1)
    assert held.mean() > 0.1


@cache
def rested(every: Every) -> tuple[World, World]:
    """After play, nobody does anything for a while, and for a while longer."""
    at_rest = every.wait(*played(every)[:2], 40)
    return at_rest[1], every.wait(*at_rest, 10)[1]


@by_level
def test_released_objects_come_to_rest_on_something(every, at):
    at_rest, later = rested(every)
    assert np.abs(of(every, at, at_rest.velocity)).max() < 1e-3
    assert np.abs(of(every, at, later.position) - of(every, at, at_rest.position)).max() < 1e-4
    assert (of(every, at, at_rest.held) == -1).all()
    assert of(every, at, rotation.matrix(later.attitude))[..., 2, 2].min() > 0.99


@cache
def energies(every: Every) -> np.ndarray:
    """Energy of every room, step after step: objects thrown about at random, the agent standing still."""
    (props, world), strengths = every.start, every.levels[0].physics
    k_up, k_throw = jax.random.split(jax.random.key(4))
    here = props.present[..., None]
    up = jax.random.uniform(k_up, here.shape) * jnp.array([0.0, 0.0, 1.0])
    throw = 2 * jax.random.normal(k_throw, world.velocity.shape)
    world = world._replace(position=world.position + here * up, velocity=here * throw)

    @jax.jit
    def energy(w):
        objects = 0.5 * (w.velocity**2).sum((-1, -2)) + strengths.gravity * (w.position * here)[..., 2].sum(-1)
        return objects + 0.5 * strengths.agent_mass * (w.stride**2).sum(-1)

    found = [energy(world)]
    for _ in range(60):
        _, world = every.wait(props, world, 1)
        found.append(energy(world))
    return np.stack([np.asarray(each) for each in found], -1)


@by_level
def test_energy_never_grows_by_itself(every, at):
    """Kinetic plus potential energy only falls."""
    found = of(every, at, energies(every))
    assert np.diff(found).max() < 1e-3
    assert (found[:, -1] - found[:, 0]).max() < -1.0


@pytest.mark.parametrize("every", BATCHES, ids=("bare", "crowded"))
def test_what_is_held_follows_the_hand_wherever_there_is_room_for_it(every):
    """After play, whoever holds something lifts it, keeps the hand closed and stands still."""
    world = every.wait(*every.wait(*played(every)[:2], 3, "GRAB + LOOK_DOWN(-1)"), 10, "GRAB")[1]
    rooms = np.flatnonzero(np.asarray(world.held) >= 0)
    slot, hand = np.asarray(world.held)[rooms], np.asarray(every.hand(world))[rooms]
    props = jax.tree.map(lambda x: np.asarray(x)[rooms], every.start[0])
    wide, tall = (x[np.arange(len(rooms)), slot] + 0.05 for x in (props.radius, props.half_height))
    beside = np.maximum(props.solids[:, :, 0] - hand[:, None], hand[:, None] - props.solids[:, :, 1])
    clear = (beside[..., :2].max(-1) > wide[:, None]) | (beside[..., 2] > tall[:, None])
    free = (np.abs(hand[:, :2]) + wide[:, None] < props.room[:, :2]).all(1) & (hand[:, 2] > tall) & clear.all(1)
    off = np.linalg.norm(np.asarray(world.position)[rooms, slot] - hand, axis=-1)
    assert free.sum() > 20
    assert off[free].max() < 0.25


@pytest.mark.parametrize("every", BATCHES, ids=("bare", "crowded"))
def test_same_key_and_actions_give_the_same_states_bit_for_bit(every):
    first, again = (every.play(jax.random.key(8), 30)[1] for _ in range(2))
    for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(again), strict=True):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


@pytest.mark.parametrize("level", [FURNISHED, DESK], ids=lambda level: level.name)
def test_a_room_does_not_depend_on_its_neighbours_nor_on_what_is_absent(level):
    """Rooms among those of other levels, filled up with absent bodies and far boxes, are as they are by themselves."""
    every = BATCHES[1]
    at, n = every.levels.index(level), level.num_objects
    (filled, world), (props, alone) = every.start, every.begun[at]
    assert n < world.position.shape[1]
    by_itself = jax.jit(jax.vmap(partial(physics.step, level.physics), in_axes=(0, 0, None)))
    start = alone.heading
    for action in np.repeat(np.random.default_rng(1).integers(0, len(level.actions), 10), 3):
        one = jnp.asarray(action_table(level.actions)[action])
        world, alone = every.step(filled, world, one)[1], by_itself(props, alone, one)
    for name in ("position", "velocity"):
        np.testing.assert_allclose(of(every, at, getattr(world, name))[:, :n], getattr(alone, name), atol=1e-3)
    np.testing.assert_allclose(of(every, at, world.agent), alone.agent, atol=1e-3)
    assert float(jnp.abs(alone.heading - start).min()) > 0.01


@cache
def in_front(level, distance: float = 1.0) -> tuple[Props, World]:
    """A world whose object 0 stands right before the agent, the others out of the way."""
    props, world = begin(level, jax.random.key(0))
    height = props.half_height
    place = jnp.stack([jnp.array([0.0, 2.0, -2.0]), jnp.array([distance, 2.0, 2.0]), height], -1)
    drop = jnp.arctan2(level.physics.eye_height - height[0], distance)
    return props, world._replace(agent=jnp.zeros(2), heading=jnp.zeros(()), pitch=-drop, position=place)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.sampled_from([a for a in ACTIONS if a.startswith("GRAB")]), min_size=1, max_size=25))
def test_a_held_object_follows_the_view(names):
    """Whatever the agent does with the grip closed, when it stands still again the object is in the middle."""
    level = BARE
    props, world = in_front(level)
    for name in ["GRAB", *names, *["GRAB"] * 10]:
        world = stepper(level)(props, world, control(name))
    if int(world.held) < 0:  # it was dragged against a wall and slipped
        return
    ray = rotation.view(world.heading, world.pitch)[2]
    wanted = eye(level.physics, world) + world.distance * ray
    free = np.abs(np.asarray(wanted)[:2]).max() < 2.5 - float(props.radius[0]) - 0.05
    free &= float(wanted[2]) > float(props.half_height[0])
    if free:
        assert float(jnp.linalg.norm(world.position[0] - wanted)) < 0.25


def test_grip_lifts_and_release_drops():
    props, world = in_front(BARE)
    world = stepper(BARE)(props, world, control("GRAB"))
    assert int(world.held) == 0
    for _ in range(4):
        world = stepper(BARE)(props, world, control("GRAB + LOOK_DOWN(-1)"))
    lifted = float(world.position[0, 2] - props.half_height[0])
    assert lifted > 0.3
    world = stepper(BARE)(props, world, control("NOOP"))
    assert int(world.held) == -1
    for _ in range(20):
        world = stepper(BARE)(props, world, control("NOOP"))
    assert float(world.position[0, 2] - props.half_height[0]) < 1e-3


def test_grip_takes_only_what_is_in_reach():
    props, world = in_front(BARE, distance=2.4)
    assert int(stepper(BARE)(props, world, control("GRAB")).held) == -1


def test_pull_brings_nearer_and_push_away():
    props, world = in_front(BARE)
    world = stepper(BARE)(props, world, control("GRAB"))
    near, far = world, world
    for _ in range(3):
        near = stepper(BARE)(props, near, control("GRAB + PULL(1)"))
        far = stepper(BARE)(props, far, control("GRAB + PULL(-1)"))
    assert float(near.distance) < float(world.distance) < float(far.distance)


@pytest.mark.parametrize(("name", "axis"), [("SPIN_RIGHT", 0), ("SPIN_UP", 1), ("SPIN_FORWARD", 2)])
def test_spin_turns_the_held_object_about_a_view_axis(name, axis):
    props, world = in_front(BARE)
    world = stepper(BARE)(props, world, control("GRAB"))
    after = stepper(BARE)(props, world, control(f"GRAB + {name}(1)"))
    back = rotation.multiply(after.attitude[0], world.attitude[0] * jnp.array([1.0, -1.0, -1.0, -1.0]))
    turned = 2 * np.asarray(back[1:])
    wanted = BARE.physics.spin_gain * np.asarray(rotation.view(world.heading, world.pitch)[axis])
    np.testing.assert_allclose(turned, wanted, atol=5e-3)


@pytest.mark.parametrize(
    ("name", "moves"),
    [
        ("MOVE_FORWARD(1)", lambda a, b: b.agent[1] > a.agent[1]),
        ("MOVE_FORWARD(-1)", lambda a, b: b.agent[1] < a.agent[1]),
        ("MOVE_RIGHT(1)", lambda a, b: b.agent[0] > a.agent[0]),
        ("MOVE_RIGHT(-1)", lambda a, b: b.agent[0] < a.agent[0]),
        ("LOOK_RIGHT(1)", lambda a, b: rotation.view(b.heading, b.pitch)[2, 0] > 0),
        ("LOOK_RIGHT(-1)", lambda a, b: rotation.view(b.heading, b.pitch)[2, 0] < 0),
        ("LOOK_DOWN(1)", lambda a, b: b.pitch < a.pitch),
        ("LOOK_DOWN(-1)", lambda a, b: b.pitch > a.pitch),
    ],
)
def test_signs_of_the_controls(name, moves):
    props, world = in_front(BARE, distance=2.0)
    assert bool(moves(world, stepper(BARE)(props, world, control(name))))


def test_bodies_keep_momentum():
    props, world = in_front(BARE, distance=2.0)
    once = stepper(BARE)(props, world, control("MOVE_FORWARD(1)"))
    after = stepper(BARE)(props, once, control("NOOP"))
    assert float(after.agent[1]) > float(once.agent[1]) + 0.01


def test_the_agent_pushes_objects_and_is_stopped_by_furniture():
    props, world = in_front(BARE, distance=0.9)
    start = float(world.position[0, 1])
    for _ in range(6):
        world = stepper(BARE)(props, world, control("MOVE_FORWARD(1)"))
    assert float(world.position[0, 1]) > start + 0.1
    props, world = jax.tree.map(lambda x: x[0], BATCHES[1].begun[BATCHES[1].levels.index(DESK)])
    world = world._replace(heading=jnp.zeros(()))
    for _ in range(20):
        world = stepper(DESK)(props, world, control("MOVE_FORWARD(1)"))
    front = float(props.solids[:, 0, 1].min())
    assert float(world.agent[1]) <= front - DESK.physics.agent_radius + 1e-3


def test_things_can_be_put_on_and_into_furniture():
    """A bottle dropped over a piece of furniture stays on it, at the height of its surface."""
    level, bottle = FURNISHED, bank().index("bottle")
    props, world = jax.tree.map(lambda x: x[0], BATCHES[1].begun[BATCHES[1].levels.index(level)])
    here = jnp.arange(level.num_objects) < len(level.furniture)
    props = props._replace(
        radius=jnp.full_like(props.radius, bank().radius[bottle]),
        half_height=jnp.full_like(props.half_height, bank().half_height[bottle]),
        present=here,
    )
    low, high = np.asarray(props.solids[:, 0]), np.asarray(props.solids[:, 1])
    pieces, first = {}, 0
    for piece in level.furniture:
        last = first + len(FURNITURE[piece]().solids)
        pieces[piece], first = slice(first, last), last
    assert first == len(low)
    middle = {piece: (low[part].min(0) + high[part].max(0))[:2] / 2 for piece, part in pieces.items()}
    over = [*middle.values(), *[np.zeros(2)] * 2]
    world = world._replace(position=jnp.array([[*place, 1.2] for place in over], jnp.float32))
    for _ in range(30):
        world = stepper(level)(props, world, control("NOOP"))
    for slot, (piece, part) in enumerate(pieces.items()):
        bottom = float(world.position[slot, 2] - props.half_height[slot])
        under = (low[part, :2] < middle[piece]).all(1) & (high[part, :2] > middle[piece]).all(1)
        assert bottom == pytest.approx(high[part][under, 2].max(), abs=0.01)
        assert bottom > 0.01
        assert piece == "bed" or bottom < high[part, 2].max() - 0.02


def test_the_centre_ray_picks_the_nearest_and_furniture_hides():
    props, world = in_front(BARE)
    assert int(aimed(BARE.physics, props, world, 3.0)) == 0
    behind = world._replace(position=world.position.at[1].set(world.position[0] + jnp.array([0.0, 0.6, 0.0])))
    assert int(aimed(BARE.physics, props, behind, 3.0)) == 0
    wall = jnp.array([[[-1.0, 0.4, 0.0], [1.0, 0.5, 2.0]]])
    assert int(aimed(BARE.physics, props._replace(solids=wall), world, 3.0)) == -1
    assert int(aimed(BARE.physics, props._replace(present=jnp.array([False, True, True])), world, 3.0)) == -1


def test_absent_bodies_neither_move_nor_touch():
    props, world = in_front(BARE, distance=0.6)
    props = props._replace(present=jnp.array([False, True, True]))
    after = world
    for _ in range(6):
        after = stepper(BARE)(props, after, control("MOVE_FORWARD(1)"))
    np.testing.assert_array_equal(np.asarray(after.position[0]), np.asarray(world.position[0]))
    assert float(after.agent[1]) > 0.6


def test_controls_beyond_their_range_are_clipped():
    props, world = in_front(BARE)
    wild = stepper(BARE)(props, world, 100 * control("MOVE_FORWARD(1)"))
    tame = stepper(BARE)(props, world, control("MOVE_FORWARD(1)"))
    np.testing.assert_array_equal(np.asarray(wild.agent), np.asarray(tame.agent))


def test_defaults_are_the_documented_ones():
    assert Physics().step_seconds == 0.1
    assert Physics().reach == 1.8
