"""What there is to run, where it is kept, and what came out.

    RESULTS/desk/KEY/seed-0.json     what came out, with commit, config, machine; written once, never again
    RESULTS/desk/KEY/seed-0.jsonl    its log
    WORK/desk/KEY/seed-0/            the run itself: checkpoints, and a lock while somebody is at it

A key names a config, so conditions that several tables share are run once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from daxlab.errors import DaxlabError
from daxlab.experiments.claims import Condition, Experiment
from daxlab.experiments.paper import EXPERIMENTS, experiment
from daxlab.experiments.scales import Scale, scale
from daxlab.learning.config import TrainConfig, change, from_json

RESULTS, WORK = Path("results/paper"), Path("runs/paper")


@dataclass(frozen=True)
class Cell:
    """One run, of one or more conditions."""

    scale: str
    key: str
    seed: int
    config: TrainConfig
    tests: tuple[str, ...]
    """Levels that it is tested on when it is trained."""
    episodes: int
    results: Path = RESULTS
    work: Path = WORK

    @property
    def result(self) -> Path:
        """What came out."""
        return self.results / self.scale / self.key / f"seed-{self.seed}.json"

    @property
    def curve(self) -> Path:
        """Its log."""
        return self.result.with_suffix(".jsonl")

    @property
    def folder(self) -> Path:
        """The run."""
        return self.work / self.scale / self.key / f"seed-{self.seed}"

    @property
    def name(self) -> str:
        """For tables and messages."""
        return f"{self.key} seed {self.seed}"


def key_of(config: TrainConfig) -> str:
    """A name for all seeds of a config: the level, the agent, and a digest that tells one config from another."""
    bare = change(config, seed=0)
    digest = hashlib.sha256(f"{bare.fingerprint} {bare.steps}".encode()).hexdigest()[:8]
    again = "-R" if config.agent.reconstruction else ""
    return f"{config.title.replace('/', '.')}-{config.agent.core}{again}-{digest}"


def cell_of(
    at: Scale, of: Experiment, condition: Condition, seed: int, results: Path = RESULTS, work: Path = WORK
) -> Cell:
    """The run of a condition."""
    config = at.config(of, condition, seed)
    tests = _tests(at.name).get(key_of(config), ())
    return Cell(at.name, key_of(config), seed, config, tests, at.episodes, results, work)


def cells(at: Scale, of: Experiment, seeds: int, results: Path = RESULTS, work: Path = WORK) -> list[Cell]:
    """All runs of an experiment, the first seed of every condition first."""
    made = [cell_of(at, of, c, seed, results, work) for seed in range(seeds) for c in of.conditions]
    return list({cell.name: cell for cell in made}.values())


@cache
def _tests(scale_name: str) -> dict[str, tuple[str, ...]]:
    """The levels that any experiment tests each config on, by key; its own comes by itself."""
    found: dict[str, dict[str, None]] = {}
    chosen = scale(scale_name)
    for of in map(experiment, EXPERIMENTS):
        for condition in of.conditions:
            key = key_of(chosen.config(of, condition, 0))
            found.setdefault(key, {}).update({chosen.level(test.level): None for test in condition.tests})
    return {key: tuple(levels) for key, levels in found.items()}


def strays(at: Scale, results: Path = RESULTS) -> list[str]:
    """Folders of results that no condition has: their config or their level was another when they were made."""
    known = _tests(at.name)
    found: dict[Path, list[str]] = {}
    for path in sorted((results / at.name).glob("*/seed-*.json")):
        if path.parent.name not in known:
            found.setdefault(path.parent, []).append(_maker(path))
    return [
        f"{folder} ({len(makers)} of {', '.join(dict.fromkeys(makers))}) is of no condition as they are now: "
        "its config or its level has been changed since; it counts for nothing, and is kept"
        for folder, makers in found.items()
    ]


def _maker(result: Path) -> str:
    try:
        return f"commit {json.loads(result.read_text())['commit']}"
    except (ValueError, KeyError, TypeError):
        return "a commit that cannot be read"


def load(cell: Cell) -> dict[str, Any] | None:
    """The result, if there is one; one of another config is refused."""
    if not cell.result.exists():
        return None
    try:
        result: dict[str, Any] = json.loads(cell.result.read_text())
        config = from_json(result["config"])
        for name in ("success", "steps", "commit", "machine", "tests", "seconds"):
            result[name]
    except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise DaxlabError(f"{cell.result} is no result ({error!r}); move it away to run it anew") from error
    check_same(cell, config, cell.result)
    missing = [level for level in cell.tests if level not in result["tests"]]
    if missing:
        raise DaxlabError(f"{cell.result} lacks the test {missing[0]!r}; move it away to run it anew")
    return result


def check_same(cell: Cell, config: TrainConfig, where: Path) -> None:
    """Refuse what is of another config than the cell's."""
    if (config.fingerprint, config.steps) != (cell.config.fingerprint, cell.config.steps):
        raise DaxlabError(
            f"{where} is of another config (fingerprint {config.fingerprint}, {config.steps} steps) than is asked for "
            f"({cell.config.fingerprint}, {cell.config.steps} steps); move it away to run it anew"
        )


def of_levels(values: Sequence[float], cell: Cell) -> float:
    """The mean over the levels that a run was trained on, each by its weight."""
    weights = cell.config.weights.values()
    return sum(value * weight for value, weight in zip(values, weights, strict=True)) / sum(weights)
