"""What a trained agent does with what it never met, and what it does when its memory is tampered with. No training.

    daxlab probe pretrained:room --episodes 500

Every probe plays the same seeds. An agent that binds words to things through its memory keeps its success where only
the words or the objects change, follows a swap of names, and falls to chance once its memory is cleared.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Int

from daxlab.agents.agent import AgentState
from daxlab.assets.catalog import HELDOUT_OBJECTS
from daxlab.compilation import enable_cache
from daxlab.errors import DaxlabError
from daxlab.learning.evaluate import Episodes, Meddle, env_for, load_agent, play, report
from daxlab.levels.env import Env
from daxlab.levels.episode import Episode
from daxlab.levels.spec import DISCOVERY, INSTRUCTION, Level
from daxlab.levels.vocabulary import NONSENSE, WORDS, encode_words

COUNTS = (2, 3, 5, 8)
"""Objects in the room."""


class OtherWords(Meddle):
    """Each made-up word is another one, the same in both phases."""

    def hear(self, room: Episode, text: Int[Array, " length"]) -> Int[Array, " length"]:
        """Every word's neighbour in the list of words."""
        return _neighbours()[text]


class StrangeWord(Meddle):
    """The instruction uses a word that nothing in the room was given: there is no right answer to find."""

    def hear(self, room: Episode, text: Int[Array, " length"]) -> Int[Array, " length"]:
        """As many words further on in the list as it takes to meet none of the room's names."""
        table = _neighbours()
        further = [text]
        for _ in range(len(room.names)):
            further.append(table[further[-1]])
        strange = jnp.stack(further)
        meets = (strange[:, :, None] == room.names).any((1, 2))
        return jnp.where(room.phase == INSTRUCTION, strange[jnp.argmin(meets)], text)


class Forget(Meddle):
    """All that the agent remembers is cleared as the instruction is given."""

    def remember(self, before: Episode, after: Episode, memory: AgentState, blank: AgentState) -> AgentState:
        """Blank where the phase has just changed."""
        return _where(_instructed(before, after), blank, memory)


class Swap(Meddle):
    """The named object and its neighbour exchange their names before they are heard; the instruction stays."""

    def begin(self, room: Episode) -> Episode:
        """The word that is asked for now belongs to the neighbour."""
        slots = jnp.arange(len(room.names))
        other = (room.target + 1) % len(slots)
        from_slot = jnp.where(slots == room.target, other, jnp.where(slots == other, room.target, slots))
        return room._replace(names=room.names[from_slot], target=other)


def _instructed(before: Episode, after: Episode) -> Bool[Array, ""]:
    return (before.phase == DISCOVERY) & (after.phase == INSTRUCTION)


def _where(condition: Bool[Array, ""], yes: AgentState, no: AgentState) -> AgentState:
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), yes, no)


def _neighbours() -> Int[Array, " words"]:
    """For each word's id that of the next made-up word; all others stay."""
    made_up = encode_words(NONSENSE)
    table = np.arange(len(WORDS), dtype=np.int32)
    table[made_up] = np.roll(made_up, -1)
    return jnp.asarray(table)


class Probe(NamedTuple):
    """One experiment."""

    name: str
    level: Level
    meddle: Meddle
    expect: str


def probes(level: Level) -> list[Probe]:
    """Those that make sense on a level."""
    if level.regime != "fast" or not level.two_phase or level.has_agenda or level.exemplars:
        raise DaxlabError(
            f"probes are of levels with two phases, everyday objects and made-up names; {level.name!r} is not so"
        )
    # The list of words ends in real ones, of which there are more than made-up ones.
    real = tuple(word for word in WORDS if word not in level.words)[-len(level.words) :]
    changed = {
        "held-out objects": (replace(level, objects=HELDOUT_OBJECTS), "above chance"),
        **{
            f"{n} objects": (replace(level, num_objects=n), "above chance")
            for n in COUNTS
            if n != level.num_objects and n <= min(level.fits, len(level.objects))
        },
        "words never trained on": (replace(level, words=real), "above chance"),
    }
    return [
        Probe("as trained", level, Meddle(), ""),
        *(Probe(name, other, Meddle(), expect) for name, (other, expect) in changed.items()),
        Probe("words permuted", level, OtherWords(), "as trained"),
        # Where not all objects are in the room, the neighbour may be missing.
        *([] if level.choices else [Probe("names of two objects swapped", level, Swap(), "as trained")]),
        Probe("a word that was not heard", level, StrangeWord(), "chance"),
        Probe("memory cleared between the phases", level, Forget(), "chance"),
    ]


def probe(where: str | Path, episodes: int = 500, seed: int = 0) -> Iterator[dict[str, Any]]:
    """One row a probe: success with its interval, chance, and what is expected of an agent that binds."""
    if episodes < 1:
        raise DaxlabError(f"episodes is {episodes}; at least 1 is needed")
    trained = load_agent(where)
    home = env_for(trained)
    keys = jax.random.split(jax.random.key(seed), episodes)
    for name, level, meddle, expect in probes(home.level):
        env = Env(level, width=home.width, height=home.height)
        played = play(env, trained.agent, keys, meddle=meddle)
        row = {"probe": name, "expected": expect} | report(played, level.chance)
        if isinstance(meddle, Swap):
            row["lifted_former_bearer"] = former(played, level.num_objects)
        yield row


def former(played: Episodes, count: int) -> float:
    """Share of the episodes after a swap in which the object was lifted that bore the name before it."""
    return float(np.mean(played.lifted == (played.target - 1) % count))


def main() -> None:
    """The table, as JSON lines: WEIGHTS EPISODES SEED."""
    enable_cache()
    for row in probe(sys.argv[1], *(int(number) for number in sys.argv[2:])):
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
