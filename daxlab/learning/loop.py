"""IMPALA on one page: all rooms act for an unroll, then the learner takes minibatches of those unrolls.

World, pictures, agent and optimiser are one compiled program. Later minibatches are off-policy by as many optimiser
steps as came before them, which V-trace corrects. Several devices run the same program, each in its part of the rooms:
what it takes from the others stands where `axis`, the name of theirs, is used (None on one device).
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax  # type: ignore[import-untyped]
from jax import Array
from jaxtyping import Bool, Float, Int, UInt32

from daxlab.agents.agent import Agent, AgentState, Observation, make_agent, partition, with_statistics
from daxlab.agents.novelty import Average, update_average
from daxlab.agents.standardise import update_statistics
from daxlab.learning.config import TrainConfig
from daxlab.learning.devices import DEALT, EVERYWHERE, ONE, Devices, mean_over, own_part, place_on, sum_over
from daxlab.learning.diagnostics import Notes, Sums, add_up, measure, no_notes, take_notes
from daxlab.learning.losses import actor_critic, image_loss, optimiser, text_loss, total_loss
from daxlab.levels.env import Env, Rooms, TimeStep
from daxlab.levels.mixture import Mixture

LEAST_STEP_SIZE = 0.01
"""Share of the learning rate that is left after `decay_steps`."""


class Actor(NamedTuple):
    """Where acting stands: the rooms, what they show now, and what the agent remembers of each."""

    rooms: Any
    """An `Episode` with a leading axis; of a mixture one for each level."""
    now: TimeStep
    memory: AgentState
    notes: Notes
    averages: tuple[Average, ...]


class TrainState(NamedTuple):
    """All that a run is at one moment."""

    agent: Agent
    optimiser: optax.OptState
    actor: Actor
    key: UInt32[Array, " 2"]
    updates: Int[Array, ""]


ACTOR = Actor(DEALT, DEALT, DEALT, DEALT, EVERYWHERE)  # type: ignore[arg-type]
STATE = TrainState(EVERYWHERE, EVERYWHERE, ACTOR, EVERYWHERE, EVERYWHERE)  # type: ignore[arg-type]
"""How a run lies on several devices."""


class Trajectory(NamedTuple):
    """T+1 steps of B rooms, time first; the last step is the first of the next trajectory."""

    observation: Observation
    first: Bool[Array, "t1 b"]
    reward: Float[Array, "t1 b"]
    discount: Float[Array, "t1 b"]
    action: Int[Array, "t1 b"]
    logits: Float[Array, "t1 b a"]


def new_agent(config: TrainConfig, env: Env, key: Array) -> Agent:
    """The agent of a run before it has learned."""
    return make_agent(
        config.agent.core,
        key,
        num_actions=env.num_actions,
        vocabulary_size=env.vocabulary_size,
        text_length=env.text_length,
        height=env.height,
        width=env.width,
        config=config.agent,
    )


def adam(config: TrainConfig) -> optax.GradientTransformation:
    """The optimiser of a run."""
    steps = optimiser(config.optimiser)
    return optax.chain(optax.clip_by_global_norm(config.clip), steps) if config.clip else steps


def step_size(config: TrainConfig, updates: Int[Array, ""]) -> Float[Array, ""]:
    """The share of the learning rate that is left after so many updates."""
    steps = config.optimiser.decay_steps
    if not steps:
        return jnp.ones(())
    return jnp.maximum(1 - updates * (config.steps_per_update / steps), LEAST_STEP_SIZE)


def start(config: TrainConfig, rooms: Rooms | Mixture, devices: Devices = ONE) -> TrainState:
    """The state of a run at its first step; `rooms` are those of one device."""
    k_agent, k_rooms, k_run = jax.random.split(jax.random.key(config.seed), 3)
    agent = new_agent(config, rooms.env, k_agent)
    learner = agent, adam(config).init(partition(agent)[0]), jax.random.key_data(k_run), jnp.zeros((), jnp.int32)
    agent, adam_state, key, updates = devices.everywhere(learner)
    return TrainState(agent, adam_state, start_actor(rooms, agent, k_rooms, devices), key, updates)


def start_actor(rooms: Rooms | Mixture, agent: Agent, key: Array, devices: Devices = ONE) -> Actor:
    """Fresh rooms, and an agent that remembers nothing."""

    def begin(agent: Agent, key: Array) -> Actor:
        device, count = place_on(devices.axis)
        states, now = jax.jit(rooms.reset, static_argnames="parts")(key, device, parts=count)
        memory, notes = jax.tree.map(
            lambda x: jnp.repeat(x[None], rooms.count, axis=0), (agent.initial_state(), no_notes(*rooms.levels))
        )
        return Actor(states, now, memory, rooms.map(take_notes, states, notes), agent.initial_averages())

    return devices.spread(begin, (EVERYWHERE, EVERYWHERE), ACTOR)(agent, devices.everywhere(jax.random.key_data(key)))


def act(
    config: TrainConfig, rooms: Rooms | Mixture, agent: Agent, actor: Actor, key: Array, axis: str | None = None
) -> tuple[Actor, Trajectory, Sums]:
    """Play one unroll in every room."""

    def step(actor: Actor, key: Array) -> tuple[Actor, Trajectory, Sums]:
        now = actor.now
        observation = Observation(*now.observation)
        memory, output = jax.vmap(agent.step)(actor.memory, observation, now.first)
        action = choose(rooms, output.logits, key, axis)
        intrinsic, averages = _intrinsic(agent, actor, output.rows, axis)
        seen = Trajectory(
            observation,
            now.first,
            now.reward + intrinsic,
            now.discount * config.loss.discount,
            action,
            output.logits,
        )
        told = rooms.map(measure, actor.rooms, actor.notes, now.last, output.logits, output.reads)
        told |= {"steps": jnp.ones(rooms.count), "intrinsic": intrinsic}
        states, after = rooms.step(actor.rooms, action)
        notes = rooms.map(take_notes, states, actor.notes)
        return Actor(states, after, memory, notes, averages), seen, add_up(rooms.levels, rooms.level_of, told)

    def play(carry: tuple[Actor, Trajectory], now: tuple[Array, Array]) -> tuple[tuple[Actor, Trajectory], Sums]:
        actor, seen, told = step(carry[0], now[1])
        return (actor, _put(carry[1], now[0], seen)), told

    # Written into place step by step: what a scan gives would have to be copied to put the unroll's end behind it.
    shapes = jax.eval_shape(step, actor, key)[1]
    record = jax.tree.map(lambda x: jnp.zeros((config.unroll + 1, *x.shape), x.dtype), shapes)
    times = jnp.arange(config.unroll), jax.random.split(key, config.unroll)
    (actor, record), told = jax.lax.scan(play, (actor, record), times)
    # The unroll's end bootstraps the value; nothing is done there yet.
    end = actor.now
    observation = Observation(*end.observation)
    intrinsic = jnp.zeros(rooms.count)
    if config.agent.novelty.enabled:
        output = jax.vmap(agent.step)(actor.memory, observation, end.first)[1]
        intrinsic = _intrinsic(agent, actor, output.rows, axis)[0]
    nothing = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), (shapes.action, shapes.logits))
    final = Trajectory(observation, end.first, end.reward + intrinsic, end.discount * config.loss.discount, *nothing)
    return actor, _put(record, config.unroll, final), sum_over(jax.tree.map(jnp.sum, told), axis)


def _put(record: Trajectory, time: int | Array, seen: Trajectory) -> Trajectory:
    return jax.tree.map(lambda all_steps, now: all_steps.at[time].set(now), record, seen)


def choose(
    rooms: Rooms | Mixture, logits: Float[Array, "b a"], key: Array, axis: str | None = None
) -> Int[Array, " b"]:
    """An action for each room, drawn from its policy; what is drawn for a room does not depend on who plays it."""
    rank = np.argsort(rooms.dealt(rooms.most_parts))
    noise = jax.random.gumbel(key, (rooms.count * place_on(axis)[1], logits.shape[1]), logits.dtype)
    return jnp.argmax(logits + own_part(noise, axis)[rank], axis=-1)


def _intrinsic(
    agent: Agent, actor: Actor, rows: tuple[Array, ...], axis: str | None
) -> tuple[Array, tuple[Average, ...]]:
    """NGU reward of each room, and the lifetime averages after it."""
    if not agent.config.novelty.enabled:
        return jnp.zeros(actor.now.reward.shape), actor.averages
    reward, parts = jax.vmap(agent.novelty, in_axes=(0, 0, 0, None))(
        actor.memory, actor.now.first, rows, actor.averages
    )
    pairs = zip(actor.averages, parts, strict=True)
    return reward, tuple(update_average(average, part.total, part.terms, axis) for average, part in pairs)


def loss(
    weights: Agent, rest: Agent, config: TrainConfig, memory: AgentState, batch: Trajectory, key: Array
) -> tuple[Float[Array, ""], tuple[Array, Sums]]:
    """The loss of a minibatch, the visual codes of its steps, and what to log."""
    agent = eqx.combine(weights, rest)
    _, output = jax.vmap(agent.unroll, in_axes=(0, 1, 1), out_axes=(0, 1))(memory, batch.observation, batch.first)
    each = jax.vmap(actor_critic, in_axes=1)(
        output.logits, output.value, batch.logits, batch.action, batch.reward, batch.discount, batch.first
    )
    terms = jax.tree.map(jnp.mean, each)
    image = text = jnp.zeros(())
    if config.agent.reconstruction:
        rebuilt = max(1, round(config.decode_fraction * config.unroll))
        chosen = jax.random.permutation(key, config.unroll)[:rebuilt]
        e, observation = jax.tree.map(lambda x: x[chosen], (output.e, batch.observation))
        drawn = jax.vmap(jax.vmap(agent.reconstruct))(e)
        image = jnp.mean(jax.vmap(jax.vmap(image_loss))(drawn.image, observation.rgb))
        text = jnp.mean(jax.vmap(jax.vmap(text_loss))(drawn.text, observation.text))
    total = total_loss(config.loss, terms, image, text)
    sums = {
        "minibatches": jnp.ones(()),
        "loss": total,
        "loss_policy": terms.policy,
        "loss_value": terms.value,
        "loss_image": image,
        "loss_text": text,
        "entropy": terms.entropy,
        "value_error": terms.error,
        "rho": terms.rho,
        "apart": terms.apart,
    }
    return total, (output.v, sums)


def minibatches(
    config: TrainConfig, rooms: Rooms | Mixture, key: Array, axis: str | None = None
) -> Int[Array, "batches part"]:
    """This device's rooms in each minibatch: of every so many neighbours each minibatch has one, by chance.

    So all devices have equal parts of a minibatch, and how many they are does not change which rooms are in it.
    """
    batches = config.rooms // config.minibatch
    neighbours = jnp.broadcast_to(jnp.arange(batches)[:, None], (batches, config.minibatch))
    drawn = own_part(jax.random.permutation(key, neighbours, axis=0, independent=True), axis, 1)
    return jnp.asarray(rooms.dealt(rooms.most_parts))[drawn + batches * jnp.arange(drawn.shape[1])]


def learn(
    config: TrainConfig,
    rooms: Rooms | Mixture,
    begin: TrainState,
    trajectory: Trajectory,
    key: Array,
    axis: str | None = None,
) -> tuple[Agent, optax.OptState, Sums]:
    """One pass in minibatches over the unrolls that were played from `begin` on."""
    k_order, k_rest = jax.random.split(key)
    order = minibatches(config, rooms, k_order, axis)
    size = step_size(config, begin.updates)

    def step(carry: tuple[Agent, optax.OptState], job: tuple[Array, Array, Array]) -> tuple[Any, Sums]:
        agent, state = carry
        index, key, on_policy = job
        weights, rest = partition(agent)
        sequences = jax.tree.map(lambda x: jnp.take(x, index, axis=1), trajectory)
        memories = jax.tree.map(lambda x: jnp.take(x, index, axis=0), begin.actor.memory)
        gradient, (codes, sums) = jax.grad(loss, has_aux=True)(weights, rest, config, memories, sequences, key)
        gradient, sums = mean_over((gradient, sums), axis)
        sums |= {"gradient": optax.global_norm(gradient), "on_policy": on_policy, "apart": on_policy * sums["apart"]}
        change, state = adam(config).update(gradient, state, weights)
        change = jax.tree.map(lambda x: x * size, change)
        agent = eqx.combine(optax.apply_updates(weights, change), rest)
        agent = with_statistics(agent, update_statistics(agent.statistics, codes, axis_name=axis))
        return (agent, state), sums

    # The first minibatch's weights are those that acted.
    jobs = (order, jax.random.split(k_rest, len(order)), jnp.eye(len(order))[0])
    (agent, state), sums = _repeat(step, (begin.agent, begin.optimiser), jobs, len(order))
    return agent, state, sums


def make_update(config: TrainConfig, rooms: Rooms | Mixture, repeats: int = 1, devices: Devices = ONE) -> Any:
    """The compiled program: act, then learn, so many times; what it is given is used up. `rooms` are one device's."""
    axis = devices.axis

    def once(state: TrainState, _: None) -> tuple[TrainState, Sums]:
        next_key, k_act, k_learn = jax.random.split(jax.random.wrap_key_data(state.key), 3)
        actor, trajectory, told = act(config, rooms, state.agent, state.actor, k_act, axis)
        agent, adam_state, learned = learn(config, rooms, state, trajectory, k_learn, axis)
        return TrainState(agent, adam_state, actor, jax.random.key_data(next_key), state.updates + 1), told | learned

    def repeat(state: TrainState) -> tuple[TrainState, Sums]:
        return _repeat(once, state, None, repeats)

    return jax.jit(devices.spread(repeat, (STATE,), (STATE, EVERYWHERE)), donate_argnums=0)


def _repeat(step: Callable[[Any, Any], tuple[Any, Sums]], carry: Any, jobs: Any, length: int) -> tuple[Any, Sums]:
    """`lax.scan` that adds up what it is told; on a CPU without a loop.

    XLA's CPU backend is ten times or more slower at a convolution's gradient inside of one (jax-ml/jax#12868).
    """
    if jax.default_backend() != "cpu":
        return _scan(step, carry, jobs, length)
    total: Sums = {}
    for i in range(length):
        carry, sums = step(carry, jax.tree.map(operator.itemgetter(i), jobs))
        total = {name: total.get(name, 0.0) + value for name, value in sums.items()}
    return carry, total


def _scan(step: Callable[[Any, Any], tuple[Any, Sums]], carry: Any, jobs: Any, length: int) -> tuple[Any, Sums]:
    carry, sums = jax.lax.scan(step, carry, jobs, length=length)
    return carry, jax.tree.map(jnp.sum, sums)
