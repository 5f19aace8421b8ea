"""The runs of a grid, one after another or side by side on one machine; on several: `daxlab.experiments.cluster`.

A run that a lost worker left goes on from its last checkpoint, a finished one is never run again, and one that cannot
be run (its place is taken by another config, say) is named and does not stop the others. Ctrl-C and SIGTERM stop all of
them, each saved.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from daxlab.errors import DaxlabError
from daxlab.experiments import grid
from daxlab.experiments.grid import State
from daxlab.experiments.ledger import Cell
from daxlab.learning.config import from_json, to_json
from daxlab.learning.run import interruptions

RETRIES = 3
"""How often a run whose worker died is taken up again."""
LOOK = 2.0
"""Seconds between two looks at the runs."""
GO_ON = "stopped; what is unfinished was saved, and the same command goes on with it"

Watch = Callable[[Sequence[Cell]], None]
"""Shows how the runs are getting on."""


class Failures(dict[str, str]):
    """Why runs were not brought to their end, by name."""


Batch = tuple[Cell, ...]
"""Runs of one worker: one, or several seeds of a config in one program."""


def batches(cells: Sequence[Cell], together: int = 1) -> list[Batch]:
    """What is not finished, up to so many seeds of a config together."""
    if together < 1:
        raise DaxlabError(f"together is {together}; at least 1 seed is trained at a time")
    waiting = [cell for cell in cells if grid.state(cell).what != "finished"]
    if together == 1:
        return [(cell,) for cell in waiting]
    of_config: dict[str, list[Cell]] = {}
    for cell in waiting:
        of_config.setdefault(cell.key, []).append(cell)
    return [tuple(seeds[i : i + together]) for seeds in of_config.values() for i in range(0, len(seeds), together)]


def in_order(cells: Sequence[Cell], budget: float | None, quiet: bool = False, together: int = 1) -> Failures:
    """One after another in this process."""
    deadline = _deadline(budget)
    failures = Failures()
    waiting = batches(cells, together)
    for i, batch in enumerate(waiting):
        if deadline - time.monotonic() <= 0:
            break
        if not quiet:
            print(f"{i + 1} of {len(waiting)}: {_name(batch)}", flush=True)
        try:
            ended = grid.run_together(batch, None if budget is None else deadline - time.monotonic(), quiet)
        except DaxlabError as error:
            failures.update(unfinished(batch, str(error)))
            continue
        if any(state.what != "finished" for state in ended):
            print(GO_ON, flush=True)
            break
    return failures


def _name(batch: Batch) -> str:
    return batch[0].name + "".join(f", {cell.seed}" for cell in batch[1:])


def unfinished(batch: Batch, why: str) -> dict[str, str]:
    """Why those of a batch that are not finished are not: one that is refused has a reason of its own."""
    states = {cell.name: grid.state(cell) for cell in batch}
    return {name: state.why or why for name, state in states.items() if state.what != "finished"}


class Place(NamedTuple):
    """Where a worker works."""

    cores: Sequence[int]
    cpu_alone: bool
    """It leaves the GPU to others."""


def side_by_side(
    cells: Sequence[Cell], jobs: int, budget: float | None, watch: Watch, cpu_jobs: int = 0, together: int = 1
) -> Failures:
    """In so many processes at a time, each on a share of the processor's cores where there are enough of them.

    `cpu_jobs` are further ones that leave the GPU to the others; they begin at the list's end, with one seed each.
    """
    if jobs < 0 or cpu_jobs < 0 or jobs + cpu_jobs < 1:
        raise DaxlabError(f"jobs is {jobs} and cpu_jobs {cpu_jobs}; together at least 1 is needed, and neither below 0")
    deadline = _deadline(budget)
    waiting = batches(cells, together)
    tries: dict[str, int] = {}
    working: dict[str, tuple[Batch, Place, subprocess.Popen[str]]] = {}
    free = [Place(cores, i >= jobs) for i, cores in enumerate(shares(jobs + cpu_jobs))]
    failures = Failures()
    with interruptions() as stopped, _workers(working):
        while (waiting or working) and not stopped:
            while waiting and free and time.monotonic() < deadline:
                place = free.pop(0)
                batch = waiting.pop(-1 if place.cpu_alone else 0)
                if place.cpu_alone and len(batch) > 1:
                    waiting.append(batch[:-1])
                    batch = batch[-1:]
                left = None if budget is None else deadline - time.monotonic()
                name = _name(batch)
                tries[name] = tries.get(name, 0) + 1
                working[name] = batch, place, _worker(batch, left, place)
            if not working:
                break
            time.sleep(LOOK / 4)
            for name, (batch, place, process) in list(working.items()):
                if process.poll() is None:
                    continue
                del working[name]
                free.append(place)
                said = process.communicate()[1].strip()
                if process.returncode == 2:
                    failures.update(unfinished(batch, said.splitlines()[-1] if said else "it refused"))
                elif process.returncode != 0 and tries[name] <= RETRIES:
                    waiting.append(batch)
                elif process.returncode != 0:
                    why = f"its worker died {tries[name]} times; last words: {said[-200:] or 'none'}"
                    failures.update(unfinished(batch, why))
            watch(cells)
    if stopped:
        print(GO_ON, flush=True)
    return failures


@contextmanager
def _workers(working: dict[str, tuple[Batch, Place, subprocess.Popen[str]]]) -> Iterator[None]:
    """Whoever is still at work in the end is stopped, and waited for while it saves."""
    try:
        yield
    finally:
        for *_, process in working.values():
            process.terminate()
        for *_, process in working.values():
            process.communicate()


def shares(jobs: int) -> list[list[int]]:
    """The cores of each job: none is two jobs', and none is nobody's; no lists where there are fewer cores than jobs.

    XLA has a thread for every core that it sees: of ten processes on ten cores a hundred would run.
    """
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    if len(cores) < jobs:
        return [[] for _ in range(jobs)]
    return [cores[i * len(cores) // jobs : (i + 1) * len(cores) // jobs] for i in range(jobs)]


def stay_on(cores: Sequence[int]) -> None:
    """Keep this process to these cores; to none in particular if there are none."""
    if cores:
        os.sched_setaffinity(0, cores)


def _deadline(budget: float | None) -> float:
    return float("inf") if budget is None else time.monotonic() + budget


def _worker(batch: Batch, budget: float | None, place: Place) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "daxlab.experiments.runner", to_text(batch, budget), *map(str, place.cores)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ
        | {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
        | ({"JAX_PLATFORMS": "cpu"} if place.cpu_alone else {}),
    )


def to_text(batch: Batch, budget: float | None) -> str:
    """Runs for a worker's command line."""
    return json.dumps({"budget": budget, "cells": [_plain(cell) for cell in batch]})


def _plain(cell: Cell) -> dict[str, Any]:
    plain = {name: getattr(cell, name) for name in ("scale", "key", "seed", "tests", "episodes")}
    return plain | {"results": str(cell.results), "work": str(cell.work), "config": to_json(cell.config)}


def from_text(text: str) -> tuple[Batch, float | None]:
    """The runs that `to_text` made it from."""
    data: dict[str, Any] = json.loads(text)
    cells = []
    for plain in data["cells"]:
        paths = {name: Path(plain[name]) for name in ("results", "work")}
        of_json = {"config": from_json(plain["config"]), "tests": tuple(plain["tests"])}
        cells.append(Cell(**plain | paths | of_json))
    return tuple(cells), data["budget"]


def main() -> None:
    """Runs in a process of their own, on the cores named behind them."""
    stay_on([int(core) for core in sys.argv[2:]])
    batch, budget = from_text(sys.argv[1])
    try:
        grid.run_together(batch, budget, quiet=True)
    except DaxlabError as error:
        print(error, file=sys.stderr)
        sys.exit(2)


def table(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """A row a run."""
    rows = []
    for cell in cells:
        told: State = grid.state(cell)
        rows.append(
            {
                "run": cell.name,
                "state": told.what,
                "steps": f"{told.steps / 1e6:.2f} of {cell.config.steps / 1e6:g} M",
                "success": "" if told.success is None else f"{told.success:.3f}",
                "why": told.why,
            }
        )
    return rows


if __name__ == "__main__":
    main()
