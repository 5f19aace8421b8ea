"""What was measured of each level, kept beside this file.

What the scripted actors reach: `daxlab levels --measure`. How fast it is: `daxlab bench levels --keep`.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from daxlab.levels.agenda import phases
from daxlab.levels.env import Env
from daxlab.levels.episode import RIGHT, TIMEOUT
from daxlab.levels.play import Results, play_both
from daxlab.levels.spec import Level

FILE = Path(__file__).with_name("measured.json")
RATES = Path(__file__).with_name("rates.json")

Figures = dict[str, Any]


def summary(results: Results) -> Figures:
    """One actor's episodes in a few numbers."""
    success = results.outcome == RIGHT
    return {
        "success": round(float(success.mean()), 4),
        "standard_error": round(float(success.std() / np.sqrt(len(success))), 4),
        "timeouts": round(float((results.outcome == TIMEOUT).mean()), 4),
        "median_steps": int(np.median(results.steps)),
        "mean_return": round(float(results.reward.mean()), 3),
    }


def measure(levels: Iterable[Level], episodes: int, seed: int, say: Callable[[str], None], file: Path = FILE) -> None:
    """Play both actors on the levels and keep the figures; levels whose figures are of this very code are skipped."""
    about = {"episodes": episodes, "seed": seed, "commit": commit()}
    for level in levels:
        mark = about | {"spec": fingerprint(level)}
        if mark.items() <= read(file).get(level.name, {}).items():
            continue
        both = {actor: summary(results) for actor, results in play_both(Env(level), episodes, seed).items()}
        keep(file, level, mark | {"date": datetime.date.today().isoformat()} | both)
        say(f"{level.name}: expert {both['expert']['success']}, random object {both['random-object']['success']}")


def keep(file: Path, level: Level, found: Figures) -> None:
    """Put a level's figures into a file, in place of older ones; it is written whole or not at all."""
    fresh = file.with_name(f"{file.name}.new")
    fresh.write_text(json.dumps(read(file) | {level.name: found}, indent=1, sort_keys=True) + "\n")
    fresh.replace(file)


def read(file: Path = FILE) -> dict[str, Figures]:
    """All figures by level."""
    return json.loads(file.read_text()) if file.exists() else {}


def figures(level: Level, kept: dict[str, Figures]) -> Figures | None:
    """A level's figures; none if they were measured before the level was changed."""
    found = kept.get(level.name)
    return found if found and found["spec"] == fingerprint(level) else None


def row(level: Level, kept: dict[str, Figures], rates: dict[str, Figures]) -> dict[str, Any]:
    """What `daxlab levels` says of a level."""
    found, rate = figures(level, kept), figures(level, rates)
    return {
        "level": level.name,
        "objects": level.num_objects,
        "of": len(level.objects),
        "regime": level.regime,
        "phases": len(phases(level)) if level.two_phase else 1,
        "task": level.task,
        "actions": len(level.actions),
        "picture": f"{level.picture[0]}×{level.picture[1]}",
        "chance": round(level.chance, 3),
        "expert": found and found["expert"]["success"],
        "steps": found and found["expert"]["median_steps"],
        "random_object": found and found["random-object"]["success"],
        "rate": rate and rate["ratio"],
        "rate_per_object": rate and rate["per_object"],
        "measured": found and {name: found[name] for name in ("episodes", "seed", "commit", "date")},
    }


def fingerprint(level: Level) -> str:
    """Equal for equal specs."""
    return hashlib.sha256(json.dumps(level.facts, sort_keys=True).encode()).hexdigest()[:12]


def commit() -> str:
    """The commit of this code, with a + if it was changed since; empty where there is no repository."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(FILE.parent), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        figures = (f":(exclude){file.name}" for file in (FILE, RATES))
        changed = git("status", "--porcelain", "--untracked-files=no", "--", "..", *figures)
        return git("rev-parse", "--short=12", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return ""
