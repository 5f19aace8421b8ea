"""Laws of the physical world, over long random play. Together the runs here are more than 10^6 room-steps."""

from __future__ import annotations

import dataclasses
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daxlab.assets.catalog import bank
from daxlab.levels.layout import build, draw
from daxlab.world import physics, rotation
from daxlab.world.control import ACTIONS, action_table
from daxlab.world.sight import aimed, eye
from daxlab.world.state import Physics, Props, World
from tests.worlds import BARE, DESK, FURNISHED, begin, random_play, sticky_actions

LEVELS = {"bare": BARE, "furnished": FURNISHED, "desk": DESK}
ROOMS, STEPS = 1000, 400  # three levels of 400,000 room-steps each

seeds = st.integers(0, 2**31 - 1)


@cache
def played(name: str) -> tuple[Props, World, tuple]:
    return random_play(LEVELS[name], seed=11, rooms=ROOMS, steps=STEPS)


@cache
def stepper(level):
    return jax.jit(lambda props, world, control: physics.step(level.physics, props, world, control))


def control(name: str) -> jax.Array:
    return jnp.asarray(action_table((name,))[0])


def test_the_suite_plays_a_million_room_steps():
    assert len(LEVELS) * ROOMS * STEPS >= 10**6


@pytest.mark.parametrize("name", LEVELS)
def test_nothing_is_ever_nan(name):
    assert np.max(played(name)[2].not_finite) == 0


@pytest.mark.parametrize("name", LEVELS)
def test_nothing_leaves_the_room_or_sinks_through_the_floor(name):
    assert np.max(played(name)[2].outside_room) < 1e-5


@pytest.mark.parametrize("name", LEVELS)
def test_nothing_is_inside_furniture(name):
    """By more than a few centimetres: what is pressed into a gap narrower than itself is in its sides a little."""
    worst = played(name)[2]
    for inside in (worst.inside_furniture, worst.agent_inside_furniture):
        assert np.max(inside) < 0.05
        assert np.mean(np.asarray(inside) > 0.005) < 0.02


@pytest.mark.parametrize("name", LEVELS)
def test_objects_hardly_ever_overlap(name):
    overlap = np.asarray(played(name)[2].bodies_overlap)
    assert np.mean(overlap > 0.03) < 0.05
    assert np.max(overlap) < 0.2


@pytest.mark.parametrize("name", LEVELS)
def test_random_play_touches_what_the_laws_are_about(name):
    """The runs above mean little unless things were moved about."""
    level = LEVELS[name]
    _, world, _ = played(name)
    _, start = jax.vmap(lambda key: begin(level, key))(jax.random.split(jax.random.split(jax.random.key(11))[0], ROOMS))
    moved = np.linalg.norm(np.asarray(world.position - start.position), axis=-1)
    assert np.mean(moved > 0.2) > (0.1 if name != "desk" else 0.02)
    assert np.mean(np.asarray(world.held) >= 0) > 0.005


@pytest.mark.parametrize("name", LEVELS)
def test_released_objects_come_to_rest_on_something(name):
    level = LEVELS[name]
    props, world, _ = played(name)

    @jax.jit
    def wait(world):
        noop = jnp.zeros(9)
        move = jax.vmap(lambda p, w: physics.step(level.physics, p, w, noop))
        return jax.lax.scan(lambda w, _: (move(props, w), None), world, None, length=40)[0]

    at_rest = wait(world)
    later = wait(at_rest)
    assert np.max(np.abs(at_rest.velocity)) < 1e-3
    assert np.max(np.abs(later.position - at_rest.position)) < 1e-4
    assert np.all(np.asarray(at_rest.held) == -1)
    upright = np.asarray(rotation.matrix(later.attitude))[..., 2, 2]
    assert np.min(upright) > 0.99


@pytest.mark.parametrize("name", LEVELS)
def test_energy_never_grows_by_itself(name):
    """Objects thrown about at random, the agent standing still: kinetic plus potential energy only falls."""
    level = LEVELS[name]
    rooms = 300
    props, world = jax.vmap(lambda key: begin(level, key))(jax.random.split(jax.random.key(3), rooms))
    k_up, k_throw = jax.random.split(jax.random.key(4))
    up = jax.random.uniform(k_up, world.position.shape[:2], maxval=1.0)
    world = world._replace(
        position=world.position.at[..., 2].add(up), velocity=2 * jax.random.normal(k_throw, world.velocity.shape)
    )

    def energy(w):
        objects = 0.5 * (w.velocity**2).sum((-1, -2)) + level.physics.gravity * w.position[..., 2].sum(-1)
        return objects + 0.5 * level.physics.agent_mass * (w.stride**2).sum(-1)

    @jax.jit
    def run(world):
        def one(w, _):
            after = jax.vmap(lambda p, x: physics.step(level.physics, p, x, jnp.zeros(9)))(props, w)
            return after, energy(after) - energy(w)

        return jax.lax.scan(one, world, None, length=60)[1]

    gain = np.asarray(run(world))
    assert gain.max() < 1e-3
    assert gain.sum(0).max() < -1.0


@settings(max_examples=5, deadline=None)
@given(seeds)
def test_same_key_and_actions_give_the_same_states_bit_for_bit(seed):
    first = random_play(FURNISHED, seed, rooms=4, steps=60)[1]
    again = random_play(FURNISHED, seed, rooms=4, steps=60)[1]
    for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(again), strict=True):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


def test_a_room_does_not_depend_on_its_neighbours():
    """`vmap` of one room is that room alone."""
    level = FURNISHED
    props, worlds = jax.vmap(lambda key: begin(level, key))(jax.random.split(jax.random.key(0), 3))
    actions = sticky_actions(jax.random.key(1), 3, 50)
    table = jnp.asarray(action_table())
    many, alone = worlds, jax.tree.map(lambda x: x[1], worlds)
    my_props = jax.tree.map(lambda x: x[1], props)
    batched = jax.jit(jax.vmap(lambda p, w, a: physics.step(level.physics, p, w, table[a])))
    for a in actions:
        many = batched(props, many, a)
        alone = stepper(level)(my_props, alone, table[a[1]])
    np.testing.assert_allclose(np.asarray(many.position[1]), np.asarray(alone.position), atol=1e-4)


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
    props, world = begin(DESK, jax.random.key(0))
    world = world._replace(heading=jnp.zeros(()))
    for _ in range(20):
        world = stepper(DESK)(props, world, control("MOVE_FORWARD(1)"))
    front = float(props.solids[:, 0, 1].min())
    assert float(world.agent[1]) <= front - DESK.physics.agent_radius + 1e-3


@pytest.mark.parametrize(("piece", "inside"), [("bed", False), ("box", True), ("tray", True)])
def test_things_can_be_put_on_and_into_furniture(piece, inside):
    """An object dropped over a piece of furniture stays on it, at the height of its surface."""
    level = dataclasses.replace(BARE, furniture=(piece,), num_objects=1)
    bottle = jnp.array([bank().index("bottle")])
    props, world = build(level, draw(level, jax.random.key(7), bottle))
    low, high = np.asarray(props.solids[:, 0]), np.asarray(props.solids[:, 1])
    middle = (low.min(0) + high.max(0))[:2] / 2
    world = world._replace(position=jnp.array([[middle[0], middle[1], 1.2]]), agent=jnp.array([2.2, 2.2]))
    for _ in range(30):
        world = stepper(level)(props, world, control("NOOP"))
    bottom = float(world.position[0, 2] - props.half_height[0])
    under = (low[:, :2] < middle).all(1) & (high[:, :2] > middle).all(1)
    assert bottom == pytest.approx(high[under, 2].max(), abs=0.01)
    assert (bottom < high[:, 2].max() - 0.02) == inside or piece == "bed"


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
