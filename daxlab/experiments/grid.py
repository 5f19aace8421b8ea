"""One run of the grid: what state it is in, and how it is brought to its end."""

from __future__ import annotations

import datetime
import fcntl
import json
import os
import platform
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import jax

from daxlab.errors import DaxlabError
from daxlab.experiments.ledger import Cell, check_same, load, of_levels
from daxlab.learning import checkpoint, exam
from daxlab.learning.config import to_json
from daxlab.learning.evaluate import evaluate
from daxlab.learning.logs import read, write_whole
from daxlab.learning.run import read_config, train
from daxlab.learning.together import train_together

COMMIT = "DAXLAB_COMMIT"
"""Environment variable that says of which commit this code is, where git cannot."""


class State(NamedTuple):
    """Of a cell."""

    what: str
    """new, unfinished, running, finished or refused."""
    steps: int = 0
    success: float | None = None
    why: str = ""


def state(cell: Cell) -> State:
    """What is there of it."""
    try:
        result = load(cell)
        if result is not None:
            return State("finished", result["steps"], result["success"])
        if not (cell.folder / "config.json").exists():
            return State("new")
        check_same(cell, read_config(cell.folder), cell.folder)
    except DaxlabError as error:
        return State("refused", why=str(error))
    last = (read(cell.folder / "log.jsonl") or [{}])[-1]
    what = "running" if _is_locked(cell) else "unfinished"
    return State(what, last.get("steps", 0), last.get("success"))


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
        check_same(cell, read_config(cell.folder), cell.folder)


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
