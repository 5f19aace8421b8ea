"""One run of the grid: where it is kept, what state it is in, and how it is brought to its end.

    RESULTS/desk/KEY/seed-0.json     what came out, with commit, config, machine; written once, never again
    RESULTS/desk/KEY/seed-0.jsonl    its log
    WORK/desk/KEY/seed-0/            the run itself: checkpoints, and a lock while somebody is at it

A key names a config, so conditions that several tables share are run once.
"""

from __future__ import annotations

import datetime
import fcntl
import hashlib
import json
import os
import platform
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import jax

from daxlab.errors import DaxlabError
from daxlab.experiments.claims import Condition, Experiment
from daxlab.experiments.paper import EXPERIMENTS, experiment
from daxlab.experiments.scales import Scale, scale
from daxlab.learning import checkpoint, exam
from daxlab.learning.config import TrainConfig, change, from_json, to_json
from daxlab.learning.evaluate import evaluate
from daxlab.learning.logs import read, write_whole
from daxlab.learning.run import read_config, train
from daxlab.learning.together import train_together

RESULTS, WORK = Path("results/paper"), Path("runs/paper")
COMMIT = "DAXLAB_COMMIT"
"""Environment variable that says of which commit this code is, where git cannot."""


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


class State(NamedTuple):
    """Of a cell."""

    what: str
    """new, unfinished, running, finished or refused."""
    steps: int = 0
    success: float | None = None
    why: str = ""


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


def state(cell: Cell) -> State:
    """What is there of it."""
    try:
        result = load(cell)
        if result is not None:
            return State("finished", result["steps"], result["success"])
        if not (cell.folder / "config.json").exists():
            return State("new")
        _check_same(cell, read_config(cell.folder), cell.folder)
    except DaxlabError as error:
        return State("refused", why=str(error))
    last = (read(cell.folder / "log.jsonl") or [{}])[-1]
    what = "running" if _is_locked(cell) else "unfinished"
    return State(what, last.get("steps", 0), last.get("success"))


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
    _check_same(cell, config, cell.result)
    missing = [level for level in cell.tests if level not in result["tests"]]
    if missing:
        raise DaxlabError(f"{cell.result} lacks the test {missing[0]!r}; move it away to run it anew")
    return result


def _check_same(cell: Cell, config: TrainConfig, where: Path) -> None:
    if (config.fingerprint, config.steps) != (cell.config.fingerprint, cell.config.steps):
        raise DaxlabError(
            f"{where} is of another config (fingerprint {config.fingerprint}, {config.steps} steps) than is asked for "
            f"({cell.config.fingerprint}, {cell.config.steps} steps); move it away to run it anew"
        )


def run(cell: Cell, budget: float | None = None, quiet: bool = False) -> State:
    """Bring a run to its end, from where it is; with a budget of seconds, or as near as that allows."""
    return run_together([cell], budget, quiet)[0]


def run_together(cells: Sequence[Cell], budget: float | None = None, quiet: bool = False) -> list[State]:
    """Likewise seeds of one config, in one program where they are equally far; one that is refused stops no other."""
    began = time.monotonic()
    refused: list[DaxlabError] = []

    def left() -> float | None:
        return None if budget is None else budget - (time.monotonic() - began)

    with ExitStack() as locks:
        able = []
        for cell in cells:
            try:
                if load(cell) is None:
                    locks.enter_context(_lock(cell))
                    if load(cell) is None:
                        _check_unfinished(cell)
                        able.append(cell)
            except DaxlabError as error:
                refused.append(error)
        for cell in able:
            with _named(cell):
                _note(cell, len(able))
        with _named(*able):
            _train(able, left, quiet)
        for cell in able:
            seconds = left()
            if _updates(cell.folder) >= cell.config.updates and (seconds is None or seconds > 0):
                with _named(cell):
                    _keep(cell)
    if refused:
        raise refused[0]
    return [state(cell) for cell in cells]


@contextmanager
def _named(*cells: Cell) -> Iterator[None]:
    """A full disk, say, is told with the runs that it stopped. What is written is written whole or not at all."""
    try:
        yield
    except OSError as error:
        names, folders = (", ".join(map(str, told)) for told in zip(*((c.name, c.folder) for c in cells), strict=True))
        raise DaxlabError(f"{names} stopped: {error}; what was saved is in {folders}") from error


def _check_unfinished(cell: Cell) -> None:
    if (cell.folder / "config.json").exists():
        _check_same(cell, read_config(cell.folder), cell.folder)


def _train(cells: Sequence[Cell], left: Callable[[], float | None], quiet: bool) -> None:
    """Train from the last checkpoints, where there are some; those that are equally far together."""
    far: dict[int, list[Cell]] = {}
    for cell in cells:
        far.setdefault(_updates(cell.folder), []).append(cell)
    for updates, group in far.items():
        seconds = left()
        if updates >= group[0].config.updates or (seconds is not None and seconds <= 0):
            continue
        if updates == 0:
            # They stopped before they had saved anything: there is nothing to lose.
            for cell in group:
                shutil.rmtree(cell.folder, ignore_errors=True)
        if len(group) > 1:
            configs = [cell.config for cell in group] if updates == 0 else None
            train_together(configs, [cell.folder for cell in group], budget=seconds, quiet=quiet)
        else:
            train(group[0].config if updates == 0 else None, group[0].folder, budget=seconds, quiet=quiet)


def _updates(folder: Path) -> int:
    """Of the newest checkpoint; 0 if there is none."""
    return max((int(path.name[6:]) for path in checkpoint.every(folder / "checkpoints")), default=0)


def _keep(cell: Cell) -> None:
    """Test the trained agent and write the result: the log first, so that a result always has one."""
    own = [level.name for level in cell.config.specs] if len(cell.config.specs) > 1 else [cell.config.level]
    told = {}
    for level in dict.fromkeys((*own, *cell.tests)):
        told[level] = evaluate(cell.folder, level, cell.episodes, exam.SEED)
        del told[level]["weights"]
    log = read(cell.folder / "log.jsonl")
    success = of_levels([told[level]["success"] for level in own], cell)
    result = {
        "success": success,
        "steps": _updates(cell.folder) * cell.config.steps_per_update,
        "seconds": log[-1]["seconds"] if log else 0.0,
        "tests": told,
        "commit": ", ".join(_noted(_commits(cell))),
        "machine": machine(),
        "machines": [json.loads(line) for line in _noted(_machines(cell))],
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "config": to_json(cell.config),
    }
    cell.result.parent.mkdir(parents=True, exist_ok=True)
    write_whole(cell.curve, (cell.folder / "log.jsonl").read_text() if log else "")
    write_whole(cell.result, json.dumps(result, indent=1) + "\n")


def of_levels(values: Sequence[float], cell: Cell) -> float:
    """The mean over the levels that a run was trained on, each by its weight."""
    weights = cell.config.weights.values()
    return sum(value * weight for value, weight in zip(values, weights, strict=True)) / sum(weights)


def _note(cell: Cell, together: int = 1) -> None:
    """Which code and which machine are at this run, before they are: one that goes on another day may have two.

    A machine that trains several seeds in one program says how many.
    """
    here = machine() | ({"together": together} if together > 1 else {})
    for path, now in ((_commits(cell), commit()), (_machines(cell), json.dumps(here))):
        before = _noted(path)
        if now not in before:
            write_whole(path, "\n".join([*before, now]) + "\n")


def _noted(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def _commits(cell: Cell) -> Path:
    return cell.folder.with_name(f"{cell.folder.name}.commits")


def _machines(cell: Cell) -> Path:
    return cell.folder.with_name(f"{cell.folder.name}.machines")


def _lock_path(cell: Cell) -> Path:
    return cell.folder.with_name(f"{cell.folder.name}.lock")


@contextmanager
def _lock(cell: Cell) -> Iterator[None]:
    """One worker at a time; the lock of a worker that died is free."""
    path = _lock_path(cell)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise DaxlabError(f"{cell.name} is being run by another worker (lock {path})") from error
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def _is_locked(cell: Cell) -> bool:
    path = _lock_path(cell)
    if not path.exists():
        return False
    with path.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def commit() -> str:
    """The commit of this code; with a + if files that it tracks have changed since."""
    if os.environ.get(COMMIT):
        return os.environ[COMMIT]
    here = Path(__file__).parent
    try:
        said = ["git", "describe", "--always", "--dirty=+", "--abbrev=7", "--exclude=*"]
        return subprocess.run(said, cwd=here, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def machine() -> dict[str, Any]:
    """What it ran on."""
    device = jax.devices()[0]
    return {
        "device": device.device_kind if device.platform != "cpu" else platform.machine(),
        "platform": device.platform,
        "cores": len(os.sched_getaffinity(0)),
        "jax": jax.__version__,
        "python": platform.python_version(),
    }
