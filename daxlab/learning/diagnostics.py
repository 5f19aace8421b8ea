"""What a run is told about itself from the world's privileged state: never fed to the agent.

When an agent does not bind, these say where it fails. Recall is low: it does not find the row it needs. Recall is high
but success is at chance: it does not compare what it recalls with what it sees. Lifts are rare: it cannot act.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Int, Int8

from daxlab.agents.core import Reads
from daxlab.levels.episode import RIGHT, Episode
from daxlab.levels.layout import Layout
from daxlab.levels.spec import DISCOVERY, INSTRUCTION, Level

Sums = dict[str, Float[Array, ""]]
"""Sums over steps and rooms, and the counts to divide them by."""


class Notes(NamedTuple):
    """What is remembered of an episode that the state does not hold. Add a leading axis for many rooms."""

    fixated: Int8[Array, " steps"]
    """At each step of the discovery phase, the slot of the object in the middle of the view; -1 if none."""
    last: Int[Array, ""]
    """The last object that was fixated in the discovery phase; -1 if none."""
    reward: Float[Array, ""]
    """Sum so far."""


def no_notes(*levels: Level) -> Notes:
    """Before the first step, with room for an episode of any of the levels."""
    none = jnp.array(-1, jnp.int32)
    longest = max(level.episode_steps for level in levels)
    return Notes(jnp.full(longest + 1, -1, jnp.int8), none, jnp.zeros(()))


def take_notes(level: Level, room: Episode, notes: Notes) -> Notes:
    """After each step of the world, before the agent's."""
    first = room.clock == 0
    fixated = jnp.where(room.phase == DISCOVERY, room.fixated, -1)
    # Steps after this one hold what an earlier episode left there, but no row was written at them yet.
    table = notes.fixated.at[room.clock].set(fixated.astype(jnp.int8))
    last = jnp.where(fixated >= 0, fixated, jnp.where(first, -1, notes.last))
    return Notes(table, last, jnp.where(first, 0.0, notes.reward) + room.reward)


def measure(
    level: Level, room: Episode, notes: Notes, last: Bool[Array, ""], logits: Float[Array, " a"], reads: Reads
) -> Sums:
    """One step of one room, as terms of `Sums`."""
    lifted = last & (room.lifted >= 0)
    log_p = jax.nn.log_softmax(logits)
    entropy = -jnp.sum(jnp.exp(log_p) * log_p)
    acting = ~last
    terms = {
        "episodes": last,
        "successes": last & (room.outcome == RIGHT),
        "lifts": lifted,
        "discovered": last & room.visited.all(),
        "length": last * room.clock,
        "return": last * notes.reward,
        "lifted_nearest": lifted & (room.lifted == nearest(level, room.layout)),
        "lifted_last_seen": lifted & (room.lifted == notes.last),
        "steps_discovery": acting & (room.phase == DISCOVERY),
        "steps_instruction": acting & (room.phase == INSTRUCTION),
    }
    for phase in ("discovery", "instruction"):
        terms[f"entropy_{phase}"] = terms[f"steps_{phase}"] * entropy
    if reads.weights.size:
        share, found = recall(notes, room, reads)
        # Where the name was never heard there is nothing to recall.
        counts = (room.phase == INSTRUCTION) & room.visited[room.target]
        terms |= {"reads": counts, "recall": counts * share, "recall_at_k": counts * found}
    return {name: value.astype(jnp.float32) for name, value in terms.items()}


def recall(notes: Notes, room: Episode, reads: Reads) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Share of the read weight on rows that were written while the target was fixated; and whether there was one."""
    hit = (reads.times >= 0) & (notes.fixated[jnp.maximum(reads.times, 0)] == room.target)
    share = jnp.sum(jnp.where(hit, reads.weights, 0.0)) / jnp.maximum(jnp.sum(reads.weights), 1e-9)
    return share, hit.any().astype(jnp.float32)


def nearest(level: Level, layout: Layout) -> Int[Array, ""]:
    """The object nearest to the agent as the phase began; at the desk, nearest to the middle of its view."""
    offset = layout.place[:, :2] - layout.agent
    if level.setting == "desk":
        return jnp.argmin(jnp.abs(jnp.arctan2(offset[:, 0], offset[:, 1]) - layout.heading))
    return jnp.argmin(jnp.sum(offset**2, axis=-1))


def add_up(levels: tuple[Level, ...], level_of: Int[np.ndarray, " rooms"], told: Sums) -> Sums:
    """Sums over rooms; where there are several levels also over those of each, as `group/level/term`."""
    sums = jax.tree.map(jnp.sum, told)
    if len(levels) > 1:
        for i, level in enumerate(levels):
            sums |= {f"{level.name}/{name}": jnp.sum(jnp.where(level_of == i, x, 0.0)) for name, x in told.items()}
    return sums


def summarise_all(sums: dict[str, float], levels: tuple[Level, ...], chance: float) -> dict[str, float]:
    """A line of the log: all rooms together and, where there are several levels, each by itself (`group/level/…`)."""
    line = summarise(sums, chance)
    if len(levels) > 1:
        for level in levels:
            prefix = f"{level.name}/"
            own = {name[len(prefix) :]: value for name, value in sums.items() if name.startswith(prefix)}
            line |= {prefix + name: value for name, value in summarise(own, level.chance).items()}
    return line


def summarise(sums: dict[str, float], chance: float) -> dict[str, float]:
    """A line of the log from sums since the last one. What did not happen is left out."""
    line: dict[str, float] = {"episodes": int(sums["episodes"])}
    for count, names in _MEANS.items():
        for name, total in names.items():
            if total in sums and sums.get(count, 0) > 0:
                line[name] = sums[total] / sums[count]
    line["chance"] = chance
    return {name: round(value, 6) for name, value in line.items()}


_MEANS: dict[str, dict[str, str]] = {
    "episodes": {
        "success": "successes",
        "lift_rate": "lifts",
        "length": "length",
        "return": "return",
        "discovered": "discovered",
    },
    "lifts": {"lifted_named": "successes", "lifted_nearest": "lifted_nearest", "lifted_last_seen": "lifted_last_seen"},
    "steps_discovery": {"entropy_discovery": "entropy_discovery"},
    "steps_instruction": {"entropy_instruction": "entropy_instruction"},
    "reads": {"recall": "recall", "recall_at_k": "recall_at_k"},
    "minibatches": {
        name: name
        for name in (
            "loss",
            "loss_policy",
            "loss_value",
            "loss_image",
            "loss_text",
            "entropy",
            "value_error",
            "rho",
            "gradient",
        )
    },
    "on_policy": {"apart": "apart"},
    "steps": {"intrinsic": "intrinsic"},
}
"""For each count: the means that are taken over it, and the sums they are made of."""
