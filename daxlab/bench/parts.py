"""The pieces of acting and learning, each timed alone, at the sizes that training calls them with.

Alone a piece keeps nothing for the next one and shares no memory traffic with it, so the pieces add up only roughly:
`minibatch` is all of the learner's forward and backward pass together.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax  # type: ignore[import-untyped]
from jax import Array

from daxlab.agents.agent import Agent, partition
from daxlab.agents.core import CoreInput, CoreOutput
from daxlab.bench import arithmetic, timing
from daxlab.bench.device import Rates
from daxlab.bench.layers import agent_layers, latent_and_state
from daxlab.errors import unknown
from daxlab.learning import loop
from daxlab.learning.config import TrainConfig
from daxlab.learning.losses import image_loss, text_loss
from daxlab.levels.env import Env, Rooms


class Piece(NamedTuple):
    """Something to time."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    steps: int
    """Steps of the world that one call stands for."""
    work: tuple[str, ...]
    """Its rows in `arithmetic.table`."""


def bench_parts(
    config: TrainConfig,
    *,
    names: Sequence[str] | None = None,
    seconds: float = 1.0,
    repeats: int = 3,
    rates: Rates | None = None,
) -> Iterator[tuple[str, dict[str, float]]]:
    """Milliseconds of each piece (a call, a step of all rooms), its operations and bytes, and its bound, as they come.

    `names` are the pieces that are wanted, all unless given; `rates` is what the device can do.
    """
    timing.check(seconds, repeats)
    rooms = Rooms(Env(config.level), config.rooms)
    agent = loop.new_agent(config, rooms.env, jax.random.key(config.seed))
    table = arithmetic.table(config)
    every = Pieces(config, rooms, agent).every()
    for name in every if names is None else names:
        if name not in every:
            raise unknown("part", name, every)
        piece = every[name]()
        call = statistics.median(
            timing.seconds_a_call(jax.jit(piece.function), piece.arguments, seconds / repeats, repeats)
        )
        yield name, row(call, piece.steps, config.rooms, [table[work] for work in piece.work], rates)
        del piece


def row(call: float, steps: int, rooms: int, works: list[arithmetic.Part], rates: Rates | None) -> dict[str, float]:
    """One piece's figures, from the seconds of a call of it; operations and bytes are those of a step of one room."""
    a_step = call / steps
    operations = sum(part.row()["operations"] for part in works)
    moved = sum(part.row()["bytes"] for part in works)
    figures = {
        "call_milliseconds": 1e3 * call,
        "milliseconds": 1e3 * a_step * rooms,
        "operations": operations,
        "bytes": moved,
        "operations_per_second": operations / a_step,
        "bytes_per_second": moved / a_step,
    }
    if rates is not None:
        bound = sum(part.seconds(rates) for part in works)
        figures |= {"bound_milliseconds": 1e3 * bound * rooms, "share_of_bound": bound / a_step}
    return figures


class Pieces:
    """The pieces of one config, each made when it is wanted: their arguments would not fit side by side."""

    def __init__(self, config: TrainConfig, rooms: Rooms, agent: Agent) -> None:
        self.config, self.rooms, self.agent = config, rooms, agent
        self.key = jax.random.key(1)
        self.steps = config.unroll * config.minibatch
        self.state, self.trajectory = shapes(config, rooms, agent)

    def every(self) -> dict[str, Callable[[], Piece]]:
        """The pieces by name."""
        return {
            "render": self.render,
            "encoder, acting": self.encoder_acting,
            "core, acting": self.core_acting,
            "gather": self.gather,
            "encoder forward": self.encoder_forward,
            "encoder forward + backward": self.encoder_backward,
            "core forward": self.core_forward,
            "core forward + backward": self.core_backward,
            **({"decoder forward + backward": self.decoder_backward} if self.config.agent.reconstruction else {}),
            "minibatch": self.minibatch,
            "optimiser": self.optimiser,
        }

    def render(self) -> Piece:
        """The pictures of all rooms."""
        keys = jax.random.split(self.key, self.config.rooms)
        states = jax.jit(jax.vmap(self.rooms.env.start))(keys)
        return Piece(jax.vmap(self.rooms.env.picture), (states,), self.config.rooms, ("render",))

    def encoder_acting(self) -> Piece:
        """One picture of every room."""
        rgb = self.trajectory.observation.rgb
        pictures = filled(jax.ShapeDtypeStruct(rgb.shape[1:], rgb.dtype))
        return Piece(look, (self.agent.vision, pictures), self.config.rooms, ("encoder, acting",))

    def core_acting(self) -> Piece:
        """One step of every room, against a full memory."""
        x = self.core_input(self.config.rooms)
        memory = self.memory(self.state).core
        return Piece(advance, (self.agent.core, memory, x), self.config.rooms, ("core, acting",))

    def gather(self) -> Piece:
        """The unrolls of one minibatch out of all, and what was remembered as they began."""
        index = jax.random.permutation(self.key, self.config.rooms)[: self.config.minibatch]
        arguments = (filled(self.trajectory), self.memory(self.state), index)
        return Piece(take, arguments, self.steps, ("gather",))

    def encoder_forward(self) -> Piece:
        """The pictures of a minibatch."""
        rgb = filled(self.sequences().observation.rgb)
        return Piece(encode, (self.agent.vision, rgb), self.steps, ("encoder forward",))

    def encoder_backward(self) -> Piece:
        """The same with the gradient of the weights."""
        work = ("encoder forward", "encoder backward")
        return self.encoder_forward()._replace(function=jax.grad(encoding_loss), work=work)

    def core_forward(self) -> Piece:
        """The core over a minibatch."""
        x = self.core_input(self.config.unroll + 1, self.config.minibatch)
        memory = self.memory(of_rooms(self.state, self.config.minibatch, 0)).core
        return Piece(unroll, (self.agent.core, memory, x), self.steps, ("core forward",))

    def core_backward(self) -> Piece:
        """The same with the gradients of its weights and inputs."""
        core, memory, x = self.core_forward().arguments
        arguments = (core, (x.v, x.l), memory, x)
        return Piece(jax.grad(unroll_loss, (0, 1)), arguments, self.steps, ("core forward", "core backward"))

    def decoder_backward(self) -> Piece:
        """The steps of a minibatch that are rebuilt, with the gradients of weights and latent."""
        steps, (latent, _) = arithmetic.rebuilt_steps(self.config), latent_and_state(self.config.agent)
        e = filled(jax.ShapeDtypeStruct((steps, self.config.minibatch, latent), jnp.float32))
        rgb, text = (x[:steps] for x in filled(self.sequences().observation))
        decoders = (self.agent.image_decoder, self.agent.language_decoder)
        work = ("decoder forward", "decoder backward")
        return Piece(jax.grad(rebuild_loss, (0, 1)), (decoders, e, rgb, text), self.steps, work)

    def minibatch(self) -> Piece:
        """All of one minibatch's gradient."""

        def gradient(weights: Agent, rest: Agent, *given: Any) -> Any:
            return jax.grad(loop.loss, has_aux=True)(weights, rest, self.config, *given)

        memory = self.memory(of_rooms(self.state, self.config.minibatch, 0))
        arguments = (*partition(self.agent), memory, filled(self.sequences()), self.key)
        parts = agent_layers(self.config.agent, self.rooms.env, 1)
        work = tuple(f"{name} {direction}" for name in parts for direction in ("forward", "backward"))
        return Piece(gradient, arguments, self.steps, work)

    def optimiser(self) -> Piece:
        """One step of Adam."""

        def step(gradient: Agent, state: Any, weights: Agent) -> Any:
            change, state = loop.adam(self.config).update(gradient, state, weights)
            return optax.apply_updates(weights, change), state

        weights = partition(self.agent)[0]
        return Piece(step, (weights, loop.adam(self.config).init(weights), weights), self.steps, ("optimiser",))

    def sequences(self) -> Any:
        """Shapes of one minibatch's unrolls."""
        return of_rooms(self.trajectory, self.config.minibatch, 1)

    def memory(self, shapes: Any) -> Any:
        """Memories that are full."""
        return filled(shapes, self.config.agent.memory.size)

    def core_input(self, *batch: int) -> CoreInput:
        """Steps in the middle of an episode."""
        agent = self.config.agent
        v, l = (  # noqa: E741
            filled(jax.ShapeDtypeStruct((*batch, size), jnp.float32))
            for size in (agent.vision.embedding, agent.language.embedding)
        )
        return CoreInput(v, l, jnp.zeros(batch, bool), jnp.ones(batch, bool))


def look(vision: Any, rgb: Array) -> Array:
    """One picture of each room."""
    return jax.vmap(vision)(rgb)


def encode(vision: Any, rgb: Array) -> Array:
    """Pictures with two leading axes."""
    return jax.vmap(jax.vmap(vision))(rgb)


def encoding_loss(vision: Any, rgb: Array) -> Array:
    """Anything that every code matters to."""
    return jnp.sum(encode(vision, rgb) ** 2)


def advance(core: Any, memory: Any, x: CoreInput) -> Any:
    """One step of many rooms."""
    return jax.vmap(core.step)(memory, x)


def unroll(core: Any, memory: Any, x: CoreInput) -> CoreOutput:
    """Unrolls of many rooms, time first."""
    return jax.vmap(core.unroll, in_axes=(0, 1), out_axes=(0, 1))(memory, x)[1]


def unroll_loss(core: Any, seen: tuple[Array, Array], memory: Any, x: CoreInput) -> Array:
    """Anything that every latent and state matters to."""
    output = unroll(core, memory, x._replace(v=seen[0], l=seen[1]))
    return jnp.sum(output.e**2) + jnp.sum(output.h**2)


def rebuild_loss(decoders: tuple[Any, Any], e: Array, rgb: Array, text: Array) -> Array:
    """The reconstruction's terms of the loss."""
    image, words = (jax.vmap(jax.vmap(decoder))(e) for decoder in decoders)
    return jnp.mean(jax.vmap(jax.vmap(image_loss))(image, rgb)) + jnp.mean(jax.vmap(jax.vmap(text_loss))(words, text))


def take(trajectory: Any, memory: Any, index: Array) -> Any:
    """Some of the rooms."""
    sequences = jax.tree.map(lambda x: jnp.take(x, index, axis=1), trajectory)
    return sequences, jax.tree.map(lambda x: jnp.take(x, index, axis=0), memory)


def shapes(config: TrainConfig, rooms: Rooms, agent: Agent) -> tuple[Any, Any]:
    """Shapes of what all rooms remember, and of an unroll of all of them."""

    def play(agent: Agent) -> Any:
        actor = loop.start_actor(rooms, agent, jax.random.key(0))
        return actor.memory, loop.act(config, rooms, agent, actor, jax.random.key(0))[1]

    return jax.eval_shape(play, agent)


def of_rooms(tree: Any, count: int, axis: int) -> Any:
    """The same for so many rooms."""
    return jax.tree.map(lambda x: jax.ShapeDtypeStruct((*x.shape[:axis], count, *x.shape[axis + 1 :]), x.dtype), tree)


def filled(tree: Any, whole: int = 1) -> Any:
    """Arrays of these shapes: floats and bytes scrambled (zeros flatter a device), truths false, the rest `whole`.

    With its size as `whole` a memory is full.
    """

    def fill(x: jax.ShapeDtypeStruct) -> Array:
        bits = jnp.zeros(x.shape, jnp.uint32)
        for axis in range(len(x.shape)):
            # An odd multiple of Knuth's multiplier for each axis: the high bits are well mixed.
            multiplier = jnp.uint32(2654435769 * (2 * axis + 1) % 2**32)
            bits += jax.lax.broadcasted_iota(jnp.uint32, x.shape, axis) * multiplier
        if jnp.issubdtype(x.dtype, jnp.floating):
            return ((bits >> 8).astype(jnp.float32) / 2**23 - 1).astype(x.dtype)
        if x.dtype == jnp.uint8:
            return (bits >> 24).astype(jnp.uint8)
        return jnp.full(x.shape, 0 if x.dtype == jnp.bool_ else whole, x.dtype)

    return jax.jit(lambda: jax.tree.map(fill, tree))()
