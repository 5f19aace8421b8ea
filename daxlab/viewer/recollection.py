"""What an agent remembers as it comes to each moment of an episode: kept at few, worked out again for the others."""

from __future__ import annotations

from collections.abc import Callable

from daxlab.agents.agent import AgentState
from daxlab.viewer.mind import Thought

KEPT = 16
"""Steps between two moments whose memory is kept: it is large, and the way from there is short."""

Look = Callable[[int, AgentState], tuple[AgentState, Thought]]
"""The agent comes to a moment, remembering so much: what it remembers then, and what it makes of the moment."""


class Recollection:
    """The memories of one episode."""

    def __init__(self, blank: Callable[[], AgentState], look: Look) -> None:
        self._blank, self._look = blank, look
        self._memories: dict[int, AgentState] = {}
        self._pinned: set[int] = set()

    def at(self, index: int) -> AgentState:
        """The memory with which the agent comes to a moment."""
        if not self._memories:
            self._memories[0] = self._blank()
        near = max(i for i in self._memories if i <= index)
        memory = self._memories[near]
        for i in range(near, index):
            memory = self._look(i, memory)[0]
        return memory

    def think(self, index: int) -> Thought:
        """What the agent makes of a moment; the memory that it leaves with is kept for the next."""
        memory, thought = self._look(index, self.at(index))
        self._memories[index + 1] = memory
        if index % KEPT and index not in self._pinned:
            self._memories.pop(index, None)
        return thought

    def cut(self, index: int) -> None:
        """What comes after a moment will be otherwise."""
        self._memories = {i: memory for i, memory in self._memories.items() if i <= index}
        self._pinned = {i for i in self._pinned if i <= index}

    def pin(self, index: int, memory: AgentState) -> None:
        """The agent comes to a moment with this memory, to which nothing before leads."""
        self._memories[index] = memory
        self._pinned.add(index)
