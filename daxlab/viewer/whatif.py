"""What if: the same episode from this moment on, with one thing changed. Pure functions of a state or a memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from daxlab.agents.agent import Agent, AgentState
from daxlab.agents.memory import newest_first
from daxlab.errors import DaxlabError, unknown
from daxlab.levels.episode import Episode
from daxlab.levels.spec import Level
from daxlab.levels.vocabulary import WORDS


def rename(state: Episode, slot: int, word: str) -> Episode:
    """An object gets another name; where it is asked for, it is asked for by that name."""
    _check_names(state, slot)
    if word not in WORDS[1:]:
        raise unknown("word", word, WORDS[1:])
    token = WORDS.index(word)
    if token in np.delete(state.names, slot):
        raise DaxlabError(f"another object here is the {word}; swap the two names, or choose another word")
    names: Any = np.array(state.names)
    names[slot] = token
    return state._replace(names=names)


def swap(state: Episode, slot: int, other: int) -> Episode:
    """Two objects exchange their names. The instruction keeps its word, so it asks for the word's new bearer."""
    _check_names(state, slot, other)
    if slot == other:
        raise DaxlabError("a swap needs two different objects")
    turned = {slot: other, other: slot}
    order = [turned.get(i, i) for i in range(len(state.names))]
    target: Any = np.asarray(turned.get(int(state.target), int(state.target)), state.target.dtype)
    names: Any = np.array(state.names)[order]
    return state._replace(names=names, target=target)


def _check_names(state: Episode, *slots: int) -> None:
    if state.agenda is not None:
        raise DaxlabError("a level with several rounds deals its names for each round; they cannot be changed")
    for slot in slots:
        if not 0 <= slot < len(state.names):
            raise DaxlabError(f"there is no object {slot}; this room has 0…{len(state.names) - 1}")


def with_another(level: Level) -> Level:
    """The level with one object more; the others of a seed stay, and stay where they are."""
    if level.has_agenda or level.setting == "corridor" or level.exemplars:
        raise DaxlabError(f"an object can be added to rooms and desks of everyday objects; {level.name!r} is not one")
    return replace(level, num_objects=level.num_objects + 1)


def forget(agent: Agent, memory: AgentState) -> AgentState:
    """All that the agent remembers is gone, as in `daxlab.experiments.probes.Forget`; the clock of its rows goes on."""
    blank = agent.initial_state()
    if not hasattr(memory.core, "ring"):
        return blank
    return blank._replace(core=blank.core._replace(ring=blank.core.ring._replace(clock=memory.core.ring.clock)))


def forget_rows(agent: Agent, memory: AgentState, steps: Iterable[int]) -> AgentState:
    """The rows that were written at these steps are gone, the others stay in their order."""
    if agent.config.core == "gtrxl" or not hasattr(memory.core, "ring"):
        raise DaxlabError(f"the memory of {agent.config.core} has no rows that can be cleared one by one; clear it all")
    ring = memory.core.ring
    order = np.asarray(newest_first(ring))[: int(ring.written)][::-1]
    times, gone = np.asarray(ring.time), set(steps)
    kept = [slot for slot in order.tolist() if int(times[slot]) not in gone]
    if len(kept) == len(order):
        raise DaxlabError("the memory holds no row of that step; one written at this very step comes after it is read")
    rest = np.setdiff1d(np.arange(len(times)), kept)
    index = jnp.asarray(np.concatenate([kept, rest]).astype(np.int32))
    columns, time = jax.tree.map(lambda x: x[index], (ring.columns, ring.time))
    written: Any = jnp.asarray(len(kept), ring.written.dtype)
    return memory._replace(core=memory.core._replace(ring=ring._replace(columns=columns, time=time, written=written)))
