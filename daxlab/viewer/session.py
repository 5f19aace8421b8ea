"""One person's view of one episode: it goes on, back, and on again with something changed.

Every state of the episode is kept, so going back is looking it up; so is what the agent remembered, at some of them
(`recollection`). The dice are part of the episode, so the same moment always gives the same thought.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np

from daxlab.agents.agent import AgentState
from daxlab.errors import DaxlabError
from daxlab.learning.evaluate import Trained
from daxlab.levels.env import Env
from daxlab.levels.episode import RUNNING, Episode
from daxlab.levels.vocabulary import decode
from daxlab.viewer import whatif
from daxlab.viewer.film import REWARD_STEPS
from daxlab.viewer.frame import Frame, first_keys, split
from daxlab.viewer.human import Scores
from daxlab.viewer.mind import Thought
from daxlab.viewer.offers import YOU, Offers, resized
from daxlab.viewer.page import Shot
from daxlab.viewer.panels import (
    VIEW,
    Panels,
    Row,
    jpeg,
    key_of,
    panels,
    picture,
    png,
    same_phase,
    thing_names,
)
from daxlab.viewer.programs import Programs, Wait
from daxlab.viewer.recollection import Recollection
from daxlab.viewer.thinking import thought_of
from daxlab.world.control import CONTROLS, action_table, spoken

MOST_SEED = 2**31 - 2


class Session:
    """An episode under way. One request at a time; the server sees to that."""

    def __init__(self, programs: Programs, offers: Offers, scores: Scores | None = None) -> None:
        self.programs, self.offers, self.scores = programs, offers, scores
        self.actor, self.level_name, self.seed = offers.actor, offers.level, offers.seed
        self.env: Env
        self.frames: list[Frame] = []
        self.cursor = 0
        self.changes: list[str] = []
        """What the person did to the episode, in words."""
        self.fair = True
        """Nothing was changed, and nothing tried twice."""
        self._path: Path | None = None
        self._trained: Trained | None = None
        self._table = np.zeros((0, len(CONTROLS)), np.float32)
        self.memories = Recollection(self._blank, self._look)
        self._told: set[str] = set()

    def choose(
        self, actor: str | None = None, level: str | None = None, seed: int | None = None, another: bool = False
    ) -> None:
        """Begin an episode; what is not given stays, or is where the page starts. Nothing changes if it cannot be."""
        actor = actor or self.actor
        path = self.offers.weights(actor)
        if self.scores is not None:
            self._may_begin()
            seed = self.scores.next_seed()
        seed = self.seed if seed is None else seed
        if not 0 <= seed <= MOST_SEED:
            raise DaxlabError(f"seed is {seed}; 0…{MOST_SEED} is allowed")
        env, level = self._env(level, path)
        target = None
        if another:
            env, target = resized(env, whatif.with_another(self.env.level)), self.frames[0].state.target
        room, dice = first_keys(seed)
        state = self.programs.stage(env.level).begin(room)
        if target is not None:
            state = state._replace(target=target)
        self._trained = self._trained if path == self._path else None
        self.actor, self.seed, self.env, self._path = actor, seed, env, path
        self.level_name = level
        self.changes, self.fair = ([f"object {env.level.num_objects} added"] if another else []), not another
        self.cursor, self.frames, self.memories = 0, [], Recollection(self._blank, self._look)
        self._table = action_table(env.level.actions)
        self._push(state, "", dice)

    def _env(self, level: str | None, path: Path | None) -> tuple[Env, str | None]:
        """Of the level that is asked for; else of the present one, or the agent's own if it cannot play that.

        Also what to ask for to get it again; nothing if it is the agent's own and nobody else's.
        """
        asked = level or self.level_name
        try:
            env = self.offers.env(asked, path)
        except DaxlabError:
            if level is not None or path is None:
                raise
            env, asked = self.offers.env(None, path), None
        return env, env.level.name if env.level.name in self.offers.levels() else asked

    def step(self) -> None:
        """One step on: along what is already known, then as the actor decides."""
        if self.cursor < len(self.frames) - 1:
            self.cursor += 1
        elif not self.frames[-1].shot.ended:
            action = self._decide()
            self._move(self._table[action], self.env.level.actions[action])

    def act(self, controls: Sequence[float]) -> None:
        """One step as the person at the page wants it. Whoever goes back first and tries again is not scored."""
        if self.actor != YOU:
            raise DaxlabError(f"the actor is {self.actor}; choose {YOU!r} to play")
        if len(controls) != len(CONTROLS) or not all(-1.0 <= x <= 1.0 for x in controls):
            raise DaxlabError(f"controls are {len(CONTROLS)} numbers in -1…1: {', '.join(CONTROLS)}")
        if self.scores is not None:
            self.cursor = len(self.frames) - 1
        elif self.cursor < len(self.frames) - 1:
            self._branch()
        if not self.frames[-1].shot.ended:
            self._move(np.asarray(controls, np.float32), spoken(controls))
            if self.scores is not None and self.frames[-1].shot.ended:
                shot = self.frames[-1].shot
                self.scores.add(self.seed, int(shot.state.outcome), int(shot.state.clock), shot.total)

    def seek(self, index: int) -> None:
        """Look at another moment."""
        if not 0 <= index < len(self.frames):
            raise DaxlabError(f"there is no moment {index}; this episode has 0…{len(self.frames) - 1} so far")
        self.cursor = index

    def rename(self, slot: int, word: str) -> None:
        """Another name for an object, from here on."""
        self._edit(lambda state: whatif.rename(state, slot, word), f"object {slot + 1} is now the {word}")

    def swap(self, slot: int, other: int) -> None:
        """Two objects exchange their names, from here on."""
        self._edit(lambda state: whatif.swap(state, slot, other), f"names of {slot + 1} and {other + 1} swapped")

    def forget(self, steps: Sequence[int] | None = None) -> None:
        """The agent forgets what it wrote at these steps, or all."""
        self._may_change()
        trained = self._agent()
        if trained is None:
            raise DaxlabError(f"the actor is {self.actor}, which has no memory to clear; choose a trained agent")
        memory = self.memories.at(self.cursor)
        if steps is None:
            memory = whatif.forget(trained.agent, memory)
        else:
            memory = whatif.forget_rows(trained.agent, memory, steps)
        self._branch()
        self.memories.pin(self.cursor, memory)
        what = "all memory" if steps is None else f"the row of step {', '.join(map(str, steps))}"
        self.changes.append(f"{what} cleared at step {self.cursor}")

    def _edit(self, change: Callable[[Episode], Episode], said: str) -> None:
        self._may_change()
        frame = self.frames[self.cursor]
        state = change(frame.state)
        memory = self.memories.at(self.cursor) if self._agent() is not None else None
        self._branch()
        shown = self.programs.stage(self.env.level).show(state)
        frame.shot = replace(frame.shot, state=state, text=decode(np.asarray(shown.text)))
        frame.shown = shown
        if memory is not None:
            self.memories.pin(self.cursor, memory)
        self.changes.append(f"{said} at step {self.cursor}")

    def _may_begin(self) -> None:
        if self.frames and not self.frames[-1].shot.ended:
            raise DaxlabError("play this episode to its end first: it counts")

    def _may_change(self) -> None:
        if self.scores is not None:
            raise DaxlabError("while a person is scored nothing can be changed; use: daxlab view")

    def _branch(self) -> None:
        """From here on all may differ: what came after is dropped."""
        del self.frames[self.cursor + 1 :]
        self.frames[self.cursor].thought = None
        self.memories.cut(self.cursor)
        self.fair = False

    def _decide(self) -> int:
        if self.actor == YOU:
            raise DaxlabError("it is your turn: use the keys, or choose another actor")
        if self._path is None:
            return self.programs.script(self.env.level, self.actor)(self.frames[-1].state)
        return self._think(len(self.frames) - 1).action

    def _move(self, controls: np.ndarray, name: str) -> None:
        last = self.frames[-1]
        state = self.programs.motion(self.env.level)(last.state, controls)
        self._push(state, name, np.asarray(jax.random.key_data(split(last.dice)[0])))
        self.cursor = len(self.frames) - 1

    def _push(self, state: Episode, led: str, dice: np.ndarray) -> None:
        shown = self.programs.stage(self.env.level).show(state)
        past = [frame.shot for frame in self.frames]
        total = past[-1].total + float(state.reward) if past else 0.0
        recent = [float(state.reward), *(float(shot.state.reward) for shot in past[:-REWARD_STEPS:-1])]
        earned = next((reward for reward in recent if reward), 0.0)
        shot = Shot(state, decode(np.asarray(shown.text)), led, earned, total, thing_names(self.env.level))
        self.frames.append(Frame(shot, shown, dice))

    def _agent(self) -> Trained | None:
        if self._trained is None and self._path is not None:
            self._trained = self.programs.weights(self._path)
        return self._trained

    def _think(self, index: int) -> Thought:
        """What the agent makes of a moment."""
        frame = self.frames[index]
        if frame.thought is None:
            frame.thought = self.memories.think(index)
            frame.seen = png(frame.thought.rgb)
        return frame.thought

    def _look(self, index: int, memory: AgentState) -> tuple[AgentState, Thought]:
        trained = self._agent()
        assert trained is not None
        mind = self.programs.mind(self.env, trained.agent)
        frame = self.frames[index]
        key = np.asarray(jax.random.key_data(split(frame.dice)[1]))
        memory, seen = mind(trained.agent, frame.state, memory, key)
        return memory, thought_of(seen, int(frame.state.outcome) == RUNNING)

    def _blank(self) -> AgentState:
        trained = self._agent()
        assert trained is not None
        return trained.agent.initial_state()

    def warm(self) -> None:
        """Have everything made that steps will need; `Wait` until it is."""
        waits = []
        for need in (lambda: self.programs.motion(self.env.level), self._ready):
            try:
                need()
            except Wait as wait:
                waits.append(wait)
        if waits:
            raise waits[0]

    def _ready(self) -> None:
        trained = self._agent()
        if trained is not None:
            self.programs.mind(self.env, trained.agent)
        elif self.actor != YOU:
            self.programs.script(self.env.level, self.actor)

    def tell(self, fresh: bool = False) -> Panels:
        """What the page shows now. Pictures that it has already been given go by their names, unless it is new."""
        if fresh:
            self._told.clear()
        frame, level = self.frames[self.cursor], self.env.level
        pending = ""
        if self._path is not None:
            try:
                self._think(self.cursor)
            except Wait as wait:
                pending = str(wait)
        held = sorted((frame.thought.held or ()) if frame.thought is not None else ())
        rows = [Row(i, self.frames[i].shot.text, key_of(self.frames[i].seen)) for i in held if i <= self.cursor]
        if not frame.seen:
            frame.seen = png(picture(level, frame.shown, self.env.width, self.env.height))
        trail = same_phase([frame.state for frame in self.frames[: self.cursor + 1]])
        told = panels(level, frame.shot, frame.shown, trail, frame.thought, rows)
        pictures = {key_of(frame.seen): frame.seen} | {row.picture: self.frames[row.step].seen for row in rows}
        new = {key: address for key, address in pictures.items() if key not in self._told}
        self._told |= set(new)
        if self.scores is not None:
            # A person who is scored is told what an agent is told.
            told |= {"map": None, "verdict": ""}
        return told | {
            "index": self.cursor,
            "length": len(self.frames),
            "actor": self.actor,
            "level": self.level_name or self.env.level.name,
            "seed": self.seed,
            "view": jpeg(picture(level, frame.shown, *VIEW)),
            "seen": key_of(frame.seen),
            "size": [self.env.width, self.env.height],
            "pictures": new,
            "pending": pending,
            "minded": self._path is not None,
            "changes": self.changes,
            "fair": self.fair,
            "score": None if self.scores is None else self.scores.line(),
        }
