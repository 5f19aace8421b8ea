"""Episodes of many phases: naming rounds, each followed by distractor tasks, then the question.

All is drawn when the episode begins, as in the two-phase episode, so that nothing random happens in a step.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Int

from daxlab.levels.cast import made_up_names, meshes, own_names, sample
from daxlab.levels.layout import Layout, draw
from daxlab.levels.spec import DISCOVERY, DISTRACTOR, INSTRUCTION, Level


class Agenda(NamedTuple):
    """Every phase of an episode, one a row, and the present one."""

    layout: Layout
    """How each phase begins (leaves have a leading axis)."""
    names: Int[Array, "p n"]
    target: Int[Array, " p"]
    """Slot that is asked for in each phase; of no meaning in discovery."""
    at: Int[Array, ""]
    """The present phase's row."""
    began: Int[Array, ""]
    """The clock when it began."""


def phases(level: Level) -> tuple[int, ...]:
    """The kind of each phase."""
    return (DISCOVERY, *[DISTRACTOR] * level.distractors) * level.rounds + (INSTRUCTION,)


def plan(level: Level, key: Array) -> Agenda:
    """Objects, names, targets and layouts of all phases.

    Naming rounds share no object and no word; the question is about one of them, drawn at random. Distractor tasks
    ask, by its own name, for one of the objects that are never named in the episode.
    """
    k_object, k_word, k_round, k_other, k_target, k_layout = jax.random.split(key, 6)
    n, rounds, kinds = level.num_objects, level.rounds, phases(level)
    order = sample(k_object, len(level.objects), len(level.objects))
    named, others = order[: n * rounds].reshape(rounds, n), order[n * rounds :]
    words = made_up_names(level)[sample(k_word, len(level.words), n * rounds)].reshape(rounds, n)
    asked = jax.random.randint(k_round, (), 0, rounds)
    chosen, names, begun = [], [], 0
    for kind, k in zip(kinds, jax.random.split(k_other, len(kinds)), strict=True):
        if kind == DISTRACTOR:
            objects = others[sample(k, len(others), n)]
            chosen.append(objects)
            names.append(own_names(level)[objects])
        else:
            which = begun if kind == DISCOVERY else asked
            chosen.append(named[which])
            names.append(words[which])
            begun += kind == DISCOVERY
    mesh = meshes(level)[jnp.stack(chosen)]
    zero = jnp.array(0, jnp.int32)
    return Agenda(
        layout=jax.vmap(lambda k, m: draw(level, k, m))(jax.random.split(k_layout, len(kinds)), mesh),
        names=jnp.stack(names),
        target=jax.random.randint(k_target, (len(kinds),), 0, n, jnp.int32),
        at=zero,
        began=zero,
    )


def row(agenda: Agenda, at: Int[Array, ""]) -> tuple[Layout, Int[Array, " n"], Int[Array, ""]]:
    """Layout, names and target of one phase."""
    return jax.tree.map(lambda x: x[at], (agenda.layout, agenda.names, agenda.target))
