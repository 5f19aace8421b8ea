"""The commands for people: watch an agent in the browser, play yourself; and completion for the shell."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from daxlab.errors import DaxlabError

if TYPE_CHECKING:
    from daxlab.viewer.server import Server


@dataclass(frozen=True)
class View:
    """Watch an episode in your browser, live: what the agent sees, hears, does, expects and remembers.

    Prints an address to open. In the page: pause, step, go back, choose level, actor and seed; play yourself with
    keys and mouse (actor "you"); and ask what if: swap two names, rename, clear a memory, add an object.

    Only this machine can see the page, unless you give another --host.

    Example: daxlab view --actor expert --level desk/fast_map_three_objs --seed 3
    """

    actor: str = "pretrained:room"
    """pretrained:NAME, a run folder (its newest checkpoint), a checkpoint in it, a weights file; expert, random-object,
    random; or you."""
    level: str | None = None
    """Name of the level, or its file (see: daxlab levels); a trained agent plays its own unless given."""
    follow: Path | None = None
    """A run in training: each episode is played by its newest checkpoint. Waits for the first."""
    seed: int = 0
    """Which episode; of a trained agent those of: daxlab evaluate --seed"""
    port: int = 0
    """Port to listen on; any free one unless given."""
    host: str = "127.0.0.1"
    """Address to listen on; 0.0.0.0 lets other machines look, and choose what is offered."""
    runs: Path = Path("runs")
    """Folder whose runs and weights files the page offers."""

    def run(self) -> None:
        """Serve until Ctrl-C."""
        from daxlab.viewer.offers import Offers
        from daxlab.viewer.server import Server
        from daxlab.viewer.sessions import Sessions

        actor = self.actor
        if self.follow is not None:
            if not (self.follow / "config.json").is_file():
                raise DaxlabError(f"there is no run at {self.follow}; a run is a folder that `daxlab train` made")
            actor = str(self.follow)
        server = Server(Sessions(Offers(actor, self.level, self.seed, self.runs).checked()), self.host, self.port)
        print(f"watching {actor}; open {server.address} (Ctrl-C ends it)", flush=True)
        serve(server, threading.Event())


@dataclass(frozen=True)
class Human:
    """Play yourself, and be scored as an agent is: a line to compare agents with.

    Opens a page in which you see and hear what an agent does, no map and no second tries. Keys and mouse give the same
    nine controls. Each finished episode is kept in --out at once; those of earlier days stay.

    Example: daxlab human --episodes 10
    """

    episodes: int = 10
    """How many episodes, in addition to those that --out holds."""
    level: str = "architecture_comparison/fast_map_three_objs"
    """Name of the level, or its file (see: daxlab levels)."""
    out: Path = Path("out/human.json")
    """File that keeps the score."""
    seed: int = 1000
    """The first episode; each is another."""
    port: int = 0
    """Port to listen on; any free one unless given."""

    def run(self) -> None:
        """Serve until all episodes are played, or Ctrl-C."""
        from daxlab.levels import registry
        from daxlab.viewer.human import Scores
        from daxlab.viewer.offers import YOU, Offers
        from daxlab.viewer.server import Server
        from daxlab.viewer.sessions import Sessions

        level = registry.get(self.level)
        scores = Scores(self.out, level, self.episodes, self.seed)
        server = Server(Sessions(Offers(YOU, self.level, self.seed, None, human=True), scores), port=self.port)
        print(
            f"play at {server.address} ({self.episodes} episodes; Ctrl-C ends it, what is played is kept)", flush=True
        )
        serve(server, scores.done)
        if scores.played:
            print(f"you on {level.name}: {scores.line()}\nkept in {self.out}")
            print(f"an agent's line: daxlab evaluate --weights pretrained:room --level {level.name}")


def serve(server: Server, done: threading.Event) -> None:
    """Answer pages until Ctrl-C or until it is done; what the first page needs is made before it is asked for."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
    thread.start()
    threading.Thread(target=server.sessions.prepare, daemon=True).start()
    try:
        while not done.wait(0.5):
            pass
        # The page still wants to show how the last episode ended.
        time.sleep(1.0)
    except KeyboardInterrupt:
        print()
    finally:
        server.shutdown()
        server.server_close()
