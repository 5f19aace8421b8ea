"""The external memory: a ring of M rows, first in first out, read by cosine similarity.

It is held in two shapes that must agree. Acting keeps the `Ring` and writes one row in place at each step. Learning
makes a `Window` of it once for an unroll of T steps: the T new rows and the M old ones side by side, where each step
sees those that were written earlier in its own episode and are among that episode's last M writes. Nothing is then
written inside the scan, and `close` puts the rows that remain into the ring at the end.

Rows of equal similarity are common (a sentence repeats while its object is looked at): among them the newest wins.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float, Int

TIE = 4096
"""Similarities are compared in steps of 1/TIE, so that float rounding does not choose among rows of equal keys."""

SAME = 0.99
"""Keys of at least this cosine similarity are the same text: products on a GPU lose 1e-3 (TF32), and rows may be stored
in bfloat16."""


class Ring(NamedTuple):
    """M rows of one or more columns. Rows beyond `written` hold leftovers of earlier episodes and are never seen."""

    columns: tuple[Float[Array, "m _"], ...]
    time: Int[Array, " m"]
    """The step of the episode at which each row was written."""
    written: Int[Array, ""]
    """Rows written in this episode, evicted ones included; the next goes to slot `written` mod M."""
    clock: Int[Array, ""]
    """Steps of this episode so far."""


class Table(NamedTuple):
    """What can be read at one step."""

    columns: tuple[Float[Array, "r _"], ...]
    inverse: Float[Array, " r"]
    """One over the length of each row of the first column, the keys."""
    visible: Bool[Array, " r"]
    time: Int[Array, " r"]
    age: Int[Array, " r"]
    """0 for the newest row, then 1, 2, …: which of two rows of equal similarity is taken."""


class Window(NamedTuple):
    """The rows of a whole unroll, newest first: T new ones, then the ring's."""

    columns: tuple[Float[Array, "r _"], ...]
    inverse: Float[Array, " r"]
    time: Int[Array, " r"]
    number: Int[Array, " r"]
    """Which write of its episode each row was."""
    episode: Int[Array, " r"]
    """0 for the episode under way when the unroll began, then 1, 2, …; -1 for a row that was not written."""


class Moments(NamedTuple):
    """Where in its episode each step of an unroll stands, before it writes."""

    episode: Int[Array, " t"]
    written: Int[Array, " t"]
    clock: Int[Array, " t"]


class Chosen(NamedTuple):
    """The k most similar rows for each of n queries."""

    rows: Int[Array, "n k"]
    valid: Bool[Array, "n k"]
    time: Int[Array, "n k"]


def empty(size: int, widths: Sequence[int], dtype: str) -> Ring:
    """A ring in which nothing was written."""
    columns = tuple(jnp.zeros((size, width), dtype) for width in widths)
    zero = jnp.zeros((), jnp.int32)
    return Ring(columns, jnp.zeros(size, jnp.int32), zero, zero)


def begin(ring: Ring, first: Bool[Array, ""]) -> Ring:
    """Forget everything at an episode's first step. Only the counters move; the rows need no clearing."""
    return ring._replace(written=jnp.where(first, 0, ring.written), clock=jnp.where(first, 0, ring.clock))


def write(ring: Ring, rows: tuple[Array, ...], wanted: Bool[Array, ""], after: Float[Array, " r"]) -> Ring:
    """End the step: write its row, if wanted, over the oldest.

    `after` is whatever was made of this step's reads. XLA writes in place only if it can see that the reads come first;
    else it copies the whole ring, at every step. A condition that always holds makes the row depend on them.
    """
    has_read = jnp.sum(jax.lax.stop_gradient(after) ** 2) >= 0
    slot = ring.written % ring.time.shape[0]
    columns = tuple(
        column.at[slot].set(jnp.where(wanted & has_read, row.astype(column.dtype), column[slot]))
        for column, row in zip(ring.columns, rows, strict=True)
    )
    time = ring.time.at[slot].set(jnp.where(wanted, ring.clock, ring.time[slot]))
    return Ring(columns, time, ring.written + wanted, ring.clock + 1)


def newest_first(ring: Ring) -> Int[Array, " m"]:
    """The slots from the newest row to the oldest; those of age ≥ `written` hold nothing."""
    size = ring.time.shape[0]
    return (ring.written - 1 - jnp.arange(size)) % size


def table(ring: Ring) -> Table:
    """What the ring shows now."""
    slot = jnp.arange(ring.time.shape[0])
    age = (ring.written - 1 - slot) % slot.shape[0]
    return Table(ring.columns, inverse_length(ring.columns[0]), slot < ring.written, ring.time, age)


def moments(ring: Ring, first: Bool[Array, " t"], wanted: Bool[Array, " t"]) -> Moments:
    """Episode, writes so far and clock at each step of an unroll that starts from the ring."""
    step = jnp.arange(first.shape[0])
    start = jax.lax.cummax(jnp.where(first, step, -1))
    before = jnp.cumsum(wanted) - wanted
    written = jnp.where(start < 0, ring.written + before, before - before[start])
    clock = jnp.where(start < 0, ring.clock + step, step - start)
    return Moments(jnp.cumsum(first), written, clock)


def window(ring: Ring, rows: tuple[Array, ...], at: Moments, wanted: Bool[Array, " t"]) -> Window:
    """The ring's rows and the unroll's, each with the place it was written at."""
    slots = newest_first(ring)
    columns = tuple(
        jnp.concatenate([new[::-1].astype(old.dtype), old[slots]]) for old, new in zip(ring.columns, rows, strict=True)
    )
    old_number = ring.written - 1 - jnp.arange(slots.shape[0])
    episode = jnp.concatenate([jnp.where(wanted, at.episode, -1)[::-1], jnp.where(old_number >= 0, 0, -1)])
    number = jnp.concatenate([at.written[::-1], old_number])
    time = jnp.concatenate([at.clock[::-1], ring.time[slots]])
    return Window(columns, inverse_length(columns[0]), time, number, episode)


def table_at(window: Window, at: Moments, size: int) -> Table:
    """What the window shows at one step: its episode's last M writes before it."""
    visible = (window.episode == at.episode) & (window.number < at.written) & (window.number >= at.written - size)
    return Table(window.columns, window.inverse, visible, window.time, jnp.arange(visible.shape[0]))


def close(ring: Ring, rows: tuple[Array, ...], at: Moments, wanted: Bool[Array, " t"]) -> Ring:
    """The ring after the unroll."""
    size = ring.time.shape[0]
    written, clock = at.written[-1] + wanted[-1], at.clock[-1] + 1
    stays = wanted & (at.episode == at.episode[-1]) & (at.written >= written - size)
    slot = jnp.where(stays, at.written % size, size)
    columns = tuple(
        column.at[slot].set(row.astype(column.dtype), mode="drop")
        for column, row in zip(ring.columns, rows, strict=True)
    )
    return Ring(columns, ring.time.at[slot].set(at.clock, mode="drop"), written, clock)


def without(table: Table, key: Float[Array, " d"]) -> Table:
    """The table less the rows whose key is this one."""
    similarity = table.columns[0].astype(jnp.float32) @ unit(key) * table.inverse
    return table._replace(visible=table.visible & (jax.lax.stop_gradient(similarity) < SAME))


def inverse_length(x: Float[Array, "... d"]) -> Float[Array, ...]:
    """1 / |x|, finite for zeros and with a finite gradient."""
    x = x.astype(jnp.float32)
    return jax.lax.rsqrt(jnp.sum(x * x, axis=-1) + 1e-6)


def unit(x: Float[Array, "... d"]) -> Float[Array, "... d"]:
    """x at length 1; zeros stay zeros."""
    return x * inverse_length(x)[..., None]


def top_k(similarity: Float[Array, "n r"], table: Table, k: int) -> tuple[Int[Array, "n k"], Bool[Array, "n k"]]:
    """The k visible rows of highest similarity, best first, the newest among equals; and whether there were so many."""
    # Similarity and age in one float32: whole numbers below 2²⁴ are exact in it, and no two rows have the same.
    rows = table.age.shape[0]
    score = jnp.round(similarity * min(TIE, 2**23 // rows)) * rows - table.age
    index = jax.lax.top_k(jnp.where(table.visible, score, -jnp.inf), k)[1]
    return index, table.visible[index]


def choose(table: Table, query: Float[Array, "n d"], k: int) -> Chosen:
    """For each query the k rows with the most similar keys, by cosine. This has no gradient."""
    query, keys, inverse = jax.lax.stop_gradient((unit(query), table.columns[0], table.inverse))
    index, valid = top_k(query @ keys.astype(jnp.float32).T * inverse, table, k)
    return Chosen(index, valid, jnp.where(valid, table.time[index], -1))


def similarity(query: Float[Array, "n d"], keys: Float[Array, "n k d"]) -> Float[Array, "n k"]:
    """The cosine of each query with the keys that were chosen for it.

    It has a gradient and is taken from the gathered rows, so that the backward pass never touches the other M − k.
    """
    return jnp.einsum("nd,nkd->nk", unit(query), unit(keys))


def gather(column: Float[Array, "r d"], index: Int[Array, "n k"]) -> Float[Array, "n k d"]:
    """Rows of a column, as float32."""
    return column[index].astype(jnp.float32)
