"""One state of an episode that is looked at, and the dice that it is played with."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Int, UInt32

from daxlab.compilation import BRIEFEST
from daxlab.levels.episode import Episode
from daxlab.viewer.mind import Thought
from daxlab.viewer.page import Shot
from daxlab.viewer.panels import Showing


@dataclass
class Frame:
    """One state of the episode, and what is known about it by now."""

    shot: Shot
    shown: Showing
    dice: np.ndarray
    """Key that the actions from here on are drawn with."""
    thought: Thought | None = None
    seen: str = ""
    """The agent's own view, as the address of itself, once it was needed."""

    @property
    def state(self) -> Episode:
        """The room."""
        return self.shot.state


def first_keys(seed: int) -> tuple[Any, np.ndarray]:
    """Of the room and of the first action, as `daxlab evaluate` and `daxlab film` have them for a trained agent."""
    room, dice = np.asarray(_first_keys(np.int32(seed)))
    return room, dice


@functools.partial(jax.jit, compiler_options=BRIEFEST)
def _first_keys(seed: Int[Array, ""]) -> UInt32[Array, "2 2"]:
    return jax.random.key_data(jax.random.split(jax.random.split(jax.random.key(seed), 1)[0]))


def split(dice: np.ndarray) -> Any:
    """The dice of the next moment, and those of this one's action."""
    return jax.random.split(jax.random.wrap_key_data(jnp.asarray(dice)))
