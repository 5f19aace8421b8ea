"""The agent: vision, language, a core memory, policy and value, and the decoders that rebuild what it observed.

Everything is written for one room; `vmap` outside. `step` acts, `unroll` learns: it encodes all of its T steps at
once and leaves only the core to its scan.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float, Int, PRNGKeyArray, UInt8

from daxlab.agents import memory
from daxlab.agents.config import AgentConfig, change
from daxlab.agents.core import Core, CoreInput, Reads
from daxlab.agents.dcem import DCEM
from daxlab.agents.dnc import DNC
from daxlab.agents.gtrxl import GTrXL
from daxlab.agents.heads import Heads
from daxlab.agents.language import PADDING, Language
from daxlab.agents.lstm import LSTMCore
from daxlab.agents.novelty import Average, Novelty, initial_average, novelty
from daxlab.agents.reconstruction import ImageDecoder, LanguageDecoder
from daxlab.agents.standardise import Statistics, initial_statistics, standardise
from daxlab.agents.vision import Vision
from daxlab.agents.writing import WriteState, initial_writing, selective_write

CORE_TYPES: dict[str, Any] = {"lstm": LSTMCore, "dnc": DNC, "dcem": DCEM, "dcem_match": DCEM, "gtrxl": GTrXL}

COLUMNS: dict[str, tuple[str, ...]] = {
    "dnc": ("latent",),
    "dcem": ("language", "vision"),
    "dcem_match": ("language", "vision"),
}
"""The memory's columns, by the names of their λ in `NoveltyConfig`."""


class Observation(NamedTuple):
    """What the agent perceives. Anything with these two fields will do."""

    rgb: UInt8[Array, "h w 3"]
    text: Int[Array, " n"]


class AgentState(NamedTuple):
    """What the agent carries from step to step."""

    core: Any
    writing: WriteState


class AgentOutput(NamedTuple):
    """What the agent makes of a step."""

    logits: Float[Array, " a"]
    value: Float[Array, ""]
    e: Float[Array, " e"]
    """The latent, from which `reconstruct` rebuilds the observation."""
    v: Float[Array, " v"]
    """The visual code before standardising: what `update_statistics` wants."""
    reads: Reads
    """What was read from memory: for diagnostics."""
    rows: tuple[Array, ...]
    """What the step offers to each column of the memory: what `Agent.novelty` wants."""


class Reconstruction(NamedTuple):
    """Logits of the picture and of each word."""

    image: Float[Array, "h w 3"]
    text: Float[Array, "n vocabulary"]


class Agent(eqx.Module):
    """One agent. Its `statistics` are saved with the weights but are no parameters: see `partition`."""

    vision: Vision
    language: Language
    core: Core
    heads: Heads
    image_decoder: ImageDecoder | None
    language_decoder: LanguageDecoder | None
    statistics: Statistics
    config: AgentConfig = eqx.field(static=True)
    text_length: int = eqx.field(static=True)

    def __init__(
        self,
        key: PRNGKeyArray,
        config: AgentConfig,
        num_actions: int,
        vocabulary_size: int,
        text_length: int,
        height: int,
        width: int,
    ) -> None:
        keys = jax.random.split(key, 6)
        transformer = config.core == "gtrxl"
        e, h = (config.transformer.width,) * 2 if transformer else (config.latent, config.lstm)
        self.vision = Vision(keys[0], config.vision, height, width)
        self.language = Language(keys[1], config.language, vocabulary_size)
        self.core = CORE_TYPES[config.core](keys[2], config)
        self.heads = Heads(keys[3], config, e + h, num_actions)
        self.image_decoder = self.language_decoder = None
        if config.reconstruction:
            self.image_decoder = ImageDecoder(keys[4], config.vision, e, height, width)
            self.language_decoder = LanguageDecoder(keys[5], config.language, e, vocabulary_size, text_length)
        self.statistics = initial_statistics(config.vision.embedding)
        self.config = config
        self.text_length = text_length

    def initial_state(self) -> AgentState:
        """The state of one room before its first episode."""
        return AgentState(self.core.initial(), initial_writing(self.text_length))

    def step(
        self, state: AgentState, observation: Observation, first: Bool[Array, ""]
    ) -> tuple[AgentState, AgentOutput]:
        """One step of one room. `first` forgets the last episode before this step is processed."""
        v = self.vision(observation.rgb)
        writing, write = self._write(state.writing, observation.text[None], first[None])
        x = CoreInput(self._seen(v), self._heard(observation.text), first, write[0])
        core, output = self.core.step(state.core, x)
        logits, value = self.heads(output.e, output.h)
        return AgentState(core, writing), AgentOutput(logits, value, output.e, v, output.reads, output.rows)

    def unroll(
        self, state: AgentState, observation: Observation, first: Bool[Array, " t"]
    ) -> tuple[AgentState, AgentOutput]:
        """T steps of one room: the same as T times `step`."""
        v = jax.vmap(self.vision)(observation.rgb)
        writing, write = self._write(state.writing, observation.text, first)
        x = CoreInput(self._seen(v), jax.vmap(self._heard)(observation.text), first, write)
        core, output = self.core.unroll(state.core, x)
        logits, value = self.heads(output.e, output.h)
        return AgentState(core, writing), AgentOutput(logits, value, output.e, v, output.reads, output.rows)

    def reconstruct(self, e: Float[Array, " e"]) -> Reconstruction:
        """The observation as e tells it. One step; choose the steps outside, this is the dearest part of learning."""
        if self.image_decoder is None or self.language_decoder is None:
            raise ValueError("this agent was made with reconstruction=False and has no decoders")
        return Reconstruction(self.image_decoder(e), self.language_decoder(e))

    def novelty(
        self, state: AgentState, first: Bool[Array, ""], rows: tuple[Array, ...], averages: tuple[Average, ...]
    ) -> tuple[Float[Array, ""], tuple[Novelty, ...]]:
        """The intrinsic reward of a step, Σ λ r over the memory's columns, and the parts of it.

        `state` is the one before the step, `rows` the step's output; `averages` is shared by all rooms, and is brought
        up to date with `update_average` from the parts.
        """
        names = COLUMNS[self.config.core]
        ring = memory.begin(state.core.ring, first)
        visible = jnp.arange(ring.time.shape[0]) < ring.written
        parts = tuple(
            novelty(average.mean, row, column, visible, self.config.novelty)
            for average, row, column in zip(averages, rows, ring.columns, strict=True)
        )
        weights = (getattr(self.config.novelty, name) for name in names)
        return sum((w * part.reward for w, part in zip(weights, parts, strict=True)), jnp.zeros(())), parts

    def initial_averages(self) -> tuple[Average, ...]:
        """The lifetime averages that `novelty` needs, one for each column of the memory."""
        return tuple(initial_average() for _ in COLUMNS.get(self.config.core, ()))

    def _seen(self, v: Float[Array, "*t v"]) -> Float[Array, "*t v"]:
        return standardise(self.statistics, v) if self.config.standardised else v

    def _heard(self, text: Int[Array, " n"]) -> Float[Array, " l"]:
        l = self.language(text)  # noqa: E741
        return jax.lax.stop_gradient(l) if self.config.language.fixed else l

    def _write(
        self, state: WriteState, text: Int[Array, "t n"], first: Bool[Array, " t"]
    ) -> tuple[WriteState, Bool[Array, " t"]]:
        state, write = selective_write(state, text, first, self.config.memory.window)
        write = write if self.config.memory.selective_write else jnp.ones_like(write)
        return state, write & jnp.any(text != PADDING, axis=-1) if self.config.memory.worded_only else write


def make_agent(
    name: str,
    key: PRNGKeyArray,
    *,
    num_actions: int,
    vocabulary_size: int,
    text_length: int,
    height: int = 72,
    width: int = 96,
    config: AgentConfig | None = None,
    **options: object,
) -> Agent:
    """An agent by name, with options as in `change`: `make_agent("dcem", key, …, memory__size=100)`."""
    config = change(config or AgentConfig(), core=name, **options)
    return Agent(key, config, num_actions, vocabulary_size, text_length, height, width)


def partition(agent: Agent) -> tuple[Agent, Agent]:
    """The agent's parameters, and the rest of it; `eqx.combine` puts them together again."""
    wanted = jax.tree.map(eqx.is_inexact_array, agent)
    wanted = eqx.tree_at(lambda a: a.statistics, wanted, Statistics(False, False, False))  # type: ignore[arg-type]
    return eqx.partition(agent, wanted)


def with_statistics(agent: Agent, statistics: Statistics) -> Agent:
    """The agent with other running statistics."""
    return eqx.tree_at(lambda a: a.statistics, agent, statistics)


def count_parameters(agent: Agent) -> int:
    """How many numbers are learned."""
    return sum(leaf.size for leaf in jax.tree.leaves(partition(agent)[0]))
