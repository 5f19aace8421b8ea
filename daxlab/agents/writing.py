"""Selective writing (A.1.1): write for w steps after the text changed, and for the first w of an episode."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Int


class WriteState(NamedTuple):
    """What the rule remembers between steps."""

    text: Int[Array, " n"]
    """The text of the last step."""
    since: Int[Array, ""]
    """t − I_t: steps since the text last changed."""


def initial_writing(text_length: int) -> WriteState:
    """Nothing heard yet."""
    return WriteState(jnp.zeros(text_length, jnp.int32), jnp.full((), -1, jnp.int32))


def selective_write(
    state: WriteState, text: Int[Array, "t n"], first: Bool[Array, " t"], window: int
) -> tuple[WriteState, Bool[Array, " t"]]:
    """Which of the steps are written.

        I_0 = 0;  I_t = t if l_t ≠ l_{t-1}, else I_{t-1};  written iff t − I_t < w

    The paper's formula has = where its prose ("when there is a change to the observation in the language channel")
    needs ≠. Texts are compared, not embeddings: those move while the agent learns.
    """
    step = jnp.arange(first.shape[0])
    before = jnp.concatenate([state.text[None], text[:-1]])
    changed = first | jnp.any(text != before, axis=-1)
    last = jax.lax.cummax(jnp.where(changed, step, -1))
    since = jnp.where(last < 0, state.since + 1 + step, step - last)
    return WriteState(text[-1], since[-1]), since < window
