"""A person's score: each episode counts once, and the file is whole at any time.

    daxlab human --episodes 10

The score of a person is kept as an agent's is: success with its interval, on episodes of their own seeds.
"""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

from daxlab.errors import DaxlabError
from daxlab.learning.evaluate import wilson
from daxlab.levels.episode import RIGHT
from daxlab.levels.spec import Level
from daxlab.viewer.movie import whole
from daxlab.viewer.panels import OUTCOMES

FORMAT = "daxlab-human-1"


class Scores:
    """The episodes that a person played on one level, in a file. Those of an earlier day stay."""

    def __init__(self, path: Path, level: Level, episodes: int, seed: int = 0) -> None:
        if episodes < 1:
            raise DaxlabError(f"episodes is {episodes}; at least 1 is needed")
        self.path, self.level, self.seed = path, level, seed
        self.played = _read(path, level)
        self.wanted = len(self.played) + episodes
        self.done = threading.Event()
        self._lock = threading.Lock()

    def next_seed(self) -> int:
        """The first seed that was not played to its end."""
        with self._lock:
            seed, played = self.seed, {row["seed"] for row in self.played}
            while seed in played:
                seed += 1
            return seed

    def add(self, seed: int, outcome: int, steps: int, total: float) -> None:
        """An episode ended; a second end of the same one does not count."""
        with self._lock:
            if seed in {row["seed"] for row in self.played} or self.done.is_set():
                return
            row = {"seed": seed, "outcome": OUTCOMES[outcome], "steps": steps, "return": round(total, 4)}
            self.played.append(row)
            self._save()
            if len(self.played) >= self.wanted:
                self.done.set()

    def _save(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DaxlabError(f"cannot make the folder {str(self.path.parent)!r}: {error.strerror}") from error
        with whole(self.path) as path:
            path.write_text(json.dumps(self.report(), indent=2, ensure_ascii=False) + "\n")

    def report(self) -> dict[str, Any]:
        """What the file holds."""
        count, right = len(self.played), sum(row["outcome"] == OUTCOMES[RIGHT] for row in self.played)
        low, high = wilson(right, count) if count else (0.0, 1.0)
        return {
            "format": FORMAT,
            "level": self.level.name,
            "actor": "person",
            "episodes": count,
            "success": round(right / count, 4) if count else None,
            "interval": [round(low, 4), round(high, 4)],
            "chance": round(self.level.chance, 4),
            "played": self.played,
        }

    def line(self) -> str:
        """The score in a line."""
        report = self.report()
        if not report["episodes"]:
            return f"0 of {self.wanted} episodes played"
        low, high = report["interval"]
        return (
            f"success {report['success']:.3f} ({low:.3f}…{high:.3f}; chance {report['chance']:.3f}) "
            f"in {report['episodes']} of {self.wanted} episodes"
        )


def _read(path: Path, level: Level) -> list[dict[str, Any]]:
    """The episodes in a file; none if it is not there."""
    if not path.exists():
        return []
    try:
        report = json.loads(path.read_text())
        played = [{name: row[name] for name in ("seed", "outcome", "steps", "return")} for row in report["played"]]
        kind, of = report["format"], report["level"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DaxlabError(f"{path} is no file of a person's score; choose another --out") from error
    if (kind, of) != (FORMAT, level.name):
        raise DaxlabError(f"{path} keeps a person's score on {of!r}; choose another --out for {level.name!r}")
    return played
