"""The demo: one agent learns to bind words to things, in minutes and before your eyes; another shows where it leads."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path

from daxlab.cli_train import Evaluate
from daxlab.errors import DaxlabError

PRESET = "desk"
UNTIL = 0.94
"""Success in training that is enough."""
EPISODES = 500
"""Of the evaluation."""
AFTER_SECONDS = 60.0
"""Kept of the time for evaluation and film."""
TRAINED = "pretrained:room"
"""The agent of the second part."""
TRAINED_EPISODES = 20
"""That it plays."""
NEXT = {
    "train desk/fast_map_three_objs --agent lstm --budget 9m": "an agent without a memory",
    "train desk/fast_map_three_objs --budget 9m --set agent.memory.size=8": "a memory that holds eight views",
    "probe pretrained:room --episodes 50": "new objects, other words, a cleared memory",
}
"""What to try after it: commands, and what each is."""


@dataclass(frozen=True)
class Demo:
    """What `make demo` does: train an agent at a desk, then watch a trained one in the full room.

    Each is evaluated, and an episode filmed with what the agent remembers.

    Example: daxlab demo
    """

    out: Path = Path("out")
    """Folder for what it makes."""
    minutes: float = 8.0
    """Time for the desk; it takes less if the agent learns sooner. The room takes a minute or two more."""
    seed: int = 0
    """Of everything that is random."""

    def run(self) -> None:
        """Train, evaluate, film, say where things are."""
        from daxlab.learning.config import change, preset
        from daxlab.learning.run import train
        from daxlab.viewer.thinking import film_agent

        if not self.minutes > 0:
            raise DaxlabError(f"minutes is {self.minutes}; it must be above 0")
        config = change(preset(PRESET), seed=self.seed)
        folder, episode = new_run(self.out), self.out / "episode.gif"
        _say(
            "An agent at a desk hears the made-up names of three objects, each once, and is then told which to pick "
            f"up: it learns this now, from pixels, in {self.minutes:g} minutes (Ctrl-C ends its training early).\n"
        )
        train(config, folder, budget=60 * self.minutes - AFTER_SECONDS, until=UNTIL)
        _say(f"\nWith frozen weights, on {EPISODES} new episodes:")
        Evaluate(weights=str(folder), episodes=EPISODES).run()
        _say("\nfilming the first of them…")
        film_agent(folder, out=episode)
        room = self.out / "room.gif"
        _say(
            f"\nNow the full room: an agent that was trained there on a GPU ({TRAINED}) plays {TRAINED_EPISODES} "
            "episodes. It walks, finds three objects, hears their names, and fetches the one it is told to."
        )
        Evaluate(weights=TRAINED, episodes=TRAINED_EPISODES).run()
        _say("\nfilming the first of them…")
        film_agent(TRAINED, out=room)
        _say(
            f"\n{episode}, {room}: what each agent sees, does and recalls\n"
            f"{folder / 'curve.png'}: how the first one learned\n\nTry next:"
        )
        for command, what in NEXT.items():
            _say(f"  {what}:\n    daxlab {command}")


def new_run(out: Path) -> Path:
    """A folder that is not there yet: `run`, `run-2`, …; those of earlier demos stay."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DaxlabError(f"cannot make the folder {str(out)!r}: {error.strerror}") from error
    names = itertools.chain(["run"], (f"run-{i}" for i in itertools.count(2)))
    return next(out / name for name in names if not (out / name).exists())


def _say(text: str) -> None:
    """Print at once, also into a pipe: what follows takes a while."""
    print(text, flush=True)
