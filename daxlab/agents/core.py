"""What every core memory takes and gives.

A core is an Equinox module with three methods, written for one room (`vmap` outside):

    initial() -> state
    step(state, x: CoreInput) -> (state, CoreOutput)
    unroll(state, x: CoreInput with a leading time axis) -> (state, CoreOutput with a leading time axis)

`unroll` equals a loop of `step`. `first` resets the state *before* its step is processed.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float, Int


class CoreInput(NamedTuple):
    """One step's input to the core."""

    v: Float[Array, " v"]
    """Visual embedding, standardised if the agent standardises."""
    l: Float[Array, " l"]  # noqa: E741 (the paper's symbol)
    """Language embedding."""
    first: Bool[Array, ""]
    """The first step of an episode."""
    write: Bool[Array, ""]
    """Whether this step is written to the external memory, if there is one."""


class Reads(NamedTuple):
    """What was read at one step: for looking at, not for learning."""

    weights: Float[Array, "n k"]
    """Weight of each row that was read, for each head (dnc, dcem) or layer (gtrxl); 0 where there was no row."""
    times: Int[Array, "n k"]
    """The step of the episode (0 is its first) at which that row was written; -1 where there was no row."""


class CoreOutput(NamedTuple):
    """One step's output of the core."""

    e: Float[Array, " e"]
    """The latent: input of heads and decoders."""
    h: Float[Array, " h"]
    """The core's state after this step: input of the heads."""
    reads: Reads
    """What was read from memory."""
    rows: tuple[Array, ...]
    """What this step offers to each column of the memory, written or not: what novelty is measured on."""


class Core(Protocol):
    """The interface above, as a type."""

    def initial(self) -> Any:
        """The state before anything happened."""

    def step(self, state: Any, x: CoreInput) -> tuple[Any, CoreOutput]:
        """One step of one room."""

    def unroll(self, state: Any, x: CoreInput) -> tuple[Any, CoreOutput]:
        """T steps of one room."""


def no_reads() -> Reads:
    """The reads of a core that reads nothing."""
    return Reads(jnp.zeros((0, 0)), jnp.zeros((0, 0), jnp.int32))


def read_share(reads: Reads, relevant: Bool[Array, " steps"]) -> Float[Array, ""]:
    """Share of the read weight that lies on rows written at relevant steps of the episode; 0 if nothing was read."""
    steps = relevant.shape[0]
    hit = relevant[jnp.clip(reads.times, 0, steps - 1)] & (reads.times >= 0) & (reads.times < steps)
    return jnp.sum(jnp.where(hit, reads.weights, 0.0)) / jnp.maximum(jnp.sum(reads.weights), 1e-9)
