"""The loop: what is acted is what is learned from, for every core, across the ends of episodes and of unrolls."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from daxlab.agents.agent import partition
from daxlab.learning import loop
from daxlab.learning.config import change, with_agent
from daxlab.levels import registry
from daxlab.levels.env import Env, Rooms
from tests.small import small_preset

BASE = small_preset(rooms=6, unroll=8, minibatch=3)


@pytest.fixture(scope="module")
def rooms():
    """Episodes of at most nine steps, so that many end inside an unroll."""
    level = dataclasses.replace(registry.get(BASE.level), discovery_steps=4, episode_steps=9)
    return Rooms(Env(level), BASE.rooms)


def play(config, rooms, unrolls=3):
    state = loop.start(config, rooms)
    act = jax.jit(lambda agent, actor, key: loop.act(config, rooms, agent, actor, key))
    actors, trajectories = [state.actor], []
    for key in jax.random.split(jax.random.key(1), unrolls):
        actor, trajectory, _ = act(state.agent, actors[-1], key)
        actors.append(actor)
        trajectories.append(trajectory)
    return state, actors, trajectories


@pytest.fixture(scope="module")
def played(rooms):
    return play(BASE, rooms)


def test_an_unroll_ends_where_the_next_begins(played):
    _, _, (first, second, _) = played
    for name in ("observation", "first", "reward", "discount"):
        a, b = getattr(first, name), getattr(second, name)
        jax.tree.map(lambda x, y: np.testing.assert_array_equal(x[-1], y[0]), a, b)


def test_episodes_begin_after_they_end(played):
    _, _, trajectories = played
    first = np.concatenate([np.asarray(t.first[:-1]) for t in trajectories])
    assert first[0].all()
    # Nobody lifts anything in nine random steps here, so an episode is 9 steps and its last observation.
    np.testing.assert_array_equal(np.flatnonzero(first[:, 0]), [0, 10, 20])


def test_a_timeout_is_not_a_termination(played):
    _, _, trajectories = played
    discount = np.concatenate([np.asarray(t.discount[:-1]) for t in trajectories])
    np.testing.assert_allclose(discount, BASE.loss.discount)


@pytest.mark.parametrize("core", ["dcem_match", "gtrxl"])
def test_the_learner_sees_the_policy_that_acted(core, rooms):
    """On policy every ratio is 1: memory, resets and order of steps agree between acting and learning."""
    config = with_agent(BASE, core)
    state, actors, trajectories = play(config, rooms, 2)
    weights, rest = partition(state.agent)
    loss = jax.jit(lambda *given: loop.loss(weights, rest, config, *given)[1][1])
    sums = loss(actors[1].memory, trajectories[1], jax.random.key(0))
    assert float(sums["rho"]) == pytest.approx(1, abs=1e-4)
    unroll = jax.jit(jax.vmap(state.agent.unroll, in_axes=(0, 1, 1), out_axes=(0, 1)))
    _, output = unroll(actors[1].memory, trajectories[1].observation, trajectories[1].first)
    np.testing.assert_allclose(output.logits[:-1], trajectories[1].logits[:-1], atol=2e-5)


def test_an_update_is_deterministic_and_moves_the_weights_and_statistics(rooms):
    learns = {"agent__reconstruction": True, "agent__memory__query_gain": 1.0, "agent__language__fixed": False}
    # One minibatch: each more is compiled once more.
    config = change(BASE, **learns, decode_fraction=0.5, minibatch=BASE.rooms, optimiser__decay_steps=1000)
    update = loop.make_update(config, rooms)
    ends = [update(loop.start(config, rooms)) for _ in range(2)]
    jax.tree.map(np.testing.assert_array_equal, *ends)
    state, sums = ends[0]
    before = loop.start(config, rooms)
    assert int(state.agent.statistics.updates) == float(sums["minibatches"]) == 1
    assert float(sums["loss_image"]) > 0
    assert float(sums["loss_text"]) > 0
    moved = jax.tree.map(lambda a, b: jnp.any(a != b), partition(state.agent)[0], partition(before.agent)[0])
    still = [jax.tree_util.keystr(path) for path, x in jax.tree_util.tree_leaves_with_path(moved) if not x]
    assert not still, "weights that no gradient reaches"

    # A late step of the optimiser is a hundredth of an early one.
    late, _ = update(loop.start(config, rooms)._replace(updates=jnp.array(10**6, jnp.int32)))
    weights = (partition(agent)[0] for agent in (before.agent, state.agent, late.agent))
    for old, early, late in zip(*map(jax.tree.leaves, weights), strict=True):
        np.testing.assert_allclose(late - old, (early - old) / 100, atol=2e-6)


def test_the_learning_rate_falls_in_a_straight_line_to_a_hundredth():
    config = change(BASE, optimiser__decay_steps=10 * BASE.steps_per_update)
    left = [float(loop.step_size(config, jnp.array(updates))) for updates in (0, 1, 5, 10, 11, 1000)]
    np.testing.assert_allclose(left, [1, 0.9, 0.5, 0.01, 0.01, 0.01], atol=1e-6)
    assert float(loop.step_size(BASE, jnp.array(1000))) == 1


def test_novelty_pays(rooms):
    curious = {"agent__novelty__enabled": True, "agent__novelty__language": 1.0, "agent__memory__worded_only": False}
    config = change(BASE, **curious)
    state, _, trajectories = play(config, rooms, 1)
    plain = play(BASE, rooms, 1)[2][0]
    assert float(jnp.sum(trajectories[0].reward)) > float(jnp.sum(plain.reward))
    assert len(state.actor.averages) == 2
