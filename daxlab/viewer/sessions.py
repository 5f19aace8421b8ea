"""The sessions of a server: one a tab, so many and no more, freed when their tabs are gone; and what tabs may ask."""

from __future__ import annotations

import math
import secrets
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from daxlab.errors import DaxlabError, unknown
from daxlab.levels.vocabulary import NONSENSE
from daxlab.viewer.human import Scores
from daxlab.viewer.offers import Offers
from daxlab.viewer.programs import Programs, Wait
from daxlab.viewer.session import Session

MOST = 32
"""Sessions at once."""
IDLE_SECONDS = 180.0
"""A tab says every half minute that it is there; after so long without a word its session is freed."""

Message = dict[str, Any]


class Full(DaxlabError):
    """No place for another session."""


class Gone(DaxlabError):
    """No such session, or no more."""


class _Place:
    def __init__(self, session: Session, now: float) -> None:
        self.session, self.used, self.lock = session, now, threading.Lock()


class Sessions:
    """Who is looking. Safe to use from many threads: requests of one session wait for one another."""

    def __init__(
        self,
        offers: Offers,
        scores: Scores | None = None,
        most: int = MOST,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.offers, self.scores, self.most = offers, scores, most
        self.programs = Programs()
        self._clock = clock
        self._places: dict[str, _Place] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._places)

    def get(self, token: str) -> Session:
        """A session by its token."""
        return self._place(token).session

    def open(self) -> Message:
        """A place for a tab, and what it may choose from."""
        now = self._clock()
        with self._lock:
            for token in [t for t, place in self._places.items() if now - place.used > IDLE_SECONDS]:
                del self._places[token]
            if len(self._places) >= self.most:
                raise Full(f"{self.most} pages are open at this server, the most it allows; close one and reload")
            token = secrets.token_urlsafe(16)
            self._places[token] = _Place(Session(self.programs, self.offers, self.scores), now)
        return {
            "session": token,
            "human": self.scores is not None,
            "levels": self.offers.levels(),
            "actors": self.offers.actors(),
            "words": list(NONSENSE),
        }

    def prepare(self) -> None:
        """Make what the first page will need, in the order it will need it; for a thread of its own."""
        session = Session(self.programs, self.offers, self.scores)
        try:
            for need in (session.choose, session.tell, session.warm):
                self._until_ready(need)
        except DaxlabError as error:
            # Whoever opens the page is told.
            print(f"daxlab: {error}", file=sys.stderr)

    def _until_ready(self, need: Callable[[], Any]) -> None:
        while True:
            try:
                need()
                return
            except Wait:
                time.sleep(0.05)

    def close(self, token: str) -> None:
        """The tab is gone."""
        with self._lock:
            self._places.pop(token, None)

    def ask(self, token: str, command: str, message: Message) -> Message:
        """Do what a tab asks and tell what it shows then."""
        if command not in COMMANDS:
            raise unknown("command", command, COMMANDS)
        place = self._place(token)
        with place.lock:
            session = place.session
            if not session.frames and command != "choose":
                session.choose()
            COMMANDS[command](session, _Fields(message))
            place.used = self._clock()
            return session.tell(fresh=message.get("fresh") is True)

    def _place(self, token: str) -> _Place:
        with self._lock:
            place = self._places.get(token)
            if place is None:
                raise Gone("this session has ended; reload the page to begin another")
            place.used = self._clock()
            return place


class _Fields:
    """A message's fields, each of the kind it must have."""

    def __init__(self, message: Message) -> None:
        self.message = message

    def whole(self, name: str) -> int:
        value = self.message.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or abs(value) > 2**31:
            raise DaxlabError(f"{name} must be a whole number")
        return value

    def text(self, name: str) -> str:
        value = self.message.get(name)
        if not isinstance(value, str) or len(value) > 300:
            raise DaxlabError(f"{name} must be a text of at most 300 letters")
        return value

    def maybe(self, name: str, kind: Callable[[str], Any]) -> Any:
        return None if self.message.get(name) is None else kind(name)

    def numbers(self, name: str) -> list[float]:
        value = self.message.get(name)
        fine = isinstance(value, list) and len(value) <= 64
        if not fine or not all(isinstance(x, int | float) and not isinstance(x, bool) for x in value or ()):
            raise DaxlabError(f"{name} must be a list of at most 64 numbers")
        assert value is not None
        if not all(math.isfinite(x) for x in value):
            raise DaxlabError(f"{name} must be finite numbers")
        return [float(x) for x in value]


def _choose(session: Session, said: _Fields) -> None:
    session.choose(said.maybe("actor", said.text), said.maybe("level", said.text), said.maybe("seed", said.whole))


def _forget(session: Session, said: _Fields) -> None:
    steps = said.maybe("steps", said.numbers)
    session.forget(None if steps is None else [int(step) for step in steps])


COMMANDS: dict[str, Callable[[Session, _Fields], None]] = {
    "show": lambda session, said: None,
    "step": lambda session, said: session.step(),
    "seek": lambda session, said: session.seek(said.whole("index")),
    "act": lambda session, said: session.act(said.numbers("controls")),
    "choose": _choose,
    "another": lambda session, said: session.choose(another=True),
    "rename": lambda session, said: session.rename(said.whole("slot"), said.text("word")),
    "swap": lambda session, said: session.swap(said.whole("slot"), said.whole("other")),
    "forget": _forget,
}
"""What a tab may ask for."""
