"""The commands that run the paper's tables and figures again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from daxlab.cli_table import show
from daxlab.errors import DaxlabError, unknown

ALL = "all"
DOC = Path("docs/results.md")
Name = Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="NAME")]


@dataclass(frozen=True)
class List:
    """List the paper's tables and figures, and how many of their runs are finished.

    Example: daxlab paper list
    """

    results: Path = Path("results/paper")
    """Where results are kept."""
    as_json: Annotated[bool, tyro.conf.arg(name="json")] = False
    """Print JSON."""

    def run(self) -> None:
        """Print a row an experiment."""
        from daxlab.experiments import grid, ledger
        from daxlab.experiments.paper import EXPERIMENTS, experiment
        from daxlab.experiments.scales import SCALES

        _check_results(self.results)
        rows = []
        for of in map(experiment, EXPERIMENTS):
            row: dict[str, Any] = {
                "name": of.name,
                "what": of.title,
                "where": of.where,
            }
            for at in SCALES.values():
                cells = ledger.cells(at, of, at.seeds(of), self.results)
                row[at.name] = f"{sum(grid.state(cell).what == 'finished' for cell in cells)} of {len(cells)}"
            rows.append(row)
        show(rows, self.as_json, "the paper's tables and figures; finished runs at each scale")
        if not self.as_json:
            for text in (text for at in SCALES.values() for text in ledger.strays(at, self.results)):
                print(text)


@dataclass(frozen=True)
class Run:
    """Run the conditions of a table or figure, each with several seeds; goes on where it stopped.

    Scales: desk (twins at the desk: minutes a run, longer for those of many steps), lite (the room, our learner),
    paper (the paper's 10^9 steps).
    A finished run is never run again, and its result never overwritten.

    Example: daxlab paper run slow --scale desk --seeds 1
    """

    name: Name
    """Name of the experiment (see: daxlab paper list), or all."""
    scale: str = "desk"
    """desk, lite or paper."""
    seeds: int | None = None
    """Runs of each condition; the scale's unless given."""
    only: tuple[str, ...] = ()
    """Conditions to run, by name; all unless given."""
    jobs: int = 1
    """Runs side by side on this machine."""
    cpu_jobs: int = 0
    """Further ones that leave the GPU to those, on the processor alone."""
    together: int = 1
    """Seeds of a condition in one program: on a GPU, small runs are hardly slower so."""
    on: str = "here"
    """here, or ray: as tasks of a Ray cluster."""
    cpus: float = 1.0
    """With --on ray: processors for each run."""
    gpus: float = 0.0
    """With --on ray: GPUs for each run; 0.1 puts ten on one."""
    address: str | None = None
    """With --on ray: the cluster; a local one is started unless given."""
    budget: str | None = None
    """Time to stop after, unfinished runs saved: 90s, 9m, 1h30m."""
    results: Path = Path("results/paper")
    """Where results are kept."""
    work: Path = Path("runs/paper")
    """Where runs are kept while they are unfinished."""

    def run(self) -> None:
        """Run what is not finished."""
        from daxlab.experiments import chance, cluster, runner
        from daxlab.experiments.paper import EXPERIMENTS, experiment
        from daxlab.experiments.scales import scale
        from daxlab.learning.progress import duration

        budget = None if self.budget is None else duration(self.budget)
        self._check_place()
        cells = _cells(self.name, self.scale, self.seeds, self.only, self.results, self.work)
        if self.on == "ray":
            failures = cluster.on_ray(cells, self.cpus, self.gpus, self.address, budget, _watch(), self.together)
        elif (self.jobs, self.cpu_jobs) == (1, 0):
            failures = runner.in_order(cells, budget, together=self.together)
        else:
            failures = runner.side_by_side(cells, self.jobs, budget, _watch(), self.cpu_jobs, self.together)
        for of in map(experiment, EXPERIMENTS if self.name == ALL else (self.name,)):
            chance.play(scale(self.scale), of, self.results)
        show(runner.table(cells), False, f"{self.name}, scale {self.scale}")
        if failures:
            name, why = next(iter(failures.items()))
            more = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
            raise DaxlabError(f"{name} was not brought to its end: {why}{more}")

    def _check_place(self) -> None:
        if self.on not in ("here", "ray"):
            raise unknown("place to run", self.on, ("here", "ray"))
        if self.on == "ray" and (self.jobs, self.cpu_jobs) != (1, 0):
            raise DaxlabError(
                "--jobs and --cpu-jobs are of this machine; with --on ray say --cpus and --gpus of each run"
            )
        if self.on == "here" and (self.cpus, self.gpus, self.address) != (1.0, 0.0, None):
            raise DaxlabError("--cpus, --gpus and --address are of a cluster; say --on ray, or --jobs for this machine")


@dataclass(frozen=True)
class Status:
    """Show each run of a table or figure: new, running, unfinished, finished or refused, with the reason.

    Example: daxlab paper status architectures --scale desk
    """

    name: Name = ALL
    """Name of the experiment, or all."""
    scale: str = "desk"
    """desk, lite or paper."""
    seeds: int | None = None
    """Runs of each condition; the scale's unless given."""
    results: Path = Path("results/paper")
    """Where results are kept."""
    work: Path = Path("runs/paper")
    """Where runs are kept while they are unfinished."""
    as_json: Annotated[bool, tyro.conf.arg(name="json")] = False
    """Print JSON."""

    def run(self) -> None:
        """Print a row a run."""
        from daxlab.experiments import runner

        cells = _cells(self.name, self.scale, self.seeds, (), self.results, self.work)
        show(runner.table(cells), self.as_json, f"{self.name}, scale {self.scale}")


@dataclass(frozen=True)
class Report:
    """Build one page with every table and figure: the paper's value, ours, the verdict, and what was not run.

    Example: daxlab paper report --out out/paper.html
    """

    scale: tuple[str, ...] = ("desk", "lite", "paper")
    """Scales to report."""
    results: Path = Path("results/paper")
    """Where results are kept."""
    out: Path = Path("out/paper.html")
    """Page to write."""
    doc: Path | None = None
    """Page to write the tables into, between its marks; docs/results.md unless given, if it is of these results."""

    def run(self) -> None:
        """Write it."""
        from daxlab.experiments import report
        from daxlab.experiments.scales import scale

        if not self.results.is_dir():
            raise DaxlabError(f"there are no results in {self.results}; daxlab paper run keeps them in results/paper")
        evidence = report.build([scale(name) for name in self.scale], self.results)
        report.write(self.out, evidence)
        print(f"wrote {self.out}")
        doc = self.doc or self._usual_doc()
        if doc is not None:
            report.write_doc(doc, evidence)
            print(f"wrote {doc}")
        for name, at in evidence.items():
            print(f"{name}: {report.summary(at)}")
            for text in at.strays:
                print(text)

    def _usual_doc(self) -> Path | None:
        """The repository's own page holds all scales of the repository's own results."""
        whole = (self.results, self.scale) == (Report.results, Report.scale)
        return DOC if whole and DOC.exists() else None


def _cells(
    name: str, scale_name: str, seeds: int | None, only: tuple[str, ...], results: Path, work: Path
) -> Sequence[Any]:
    from daxlab.experiments import ledger
    from daxlab.experiments.paper import EXPERIMENTS, experiment
    from daxlab.experiments.scales import scale

    at = scale(scale_name)
    _check_results(results)
    if seeds is not None and seeds < 1:
        raise DaxlabError(f"seeds is {seeds}; at least 1 is needed")
    found = {}
    for of in map(experiment, EXPERIMENTS if name == ALL else (name,)):
        chosen = {condition.name for condition in (map(of.condition, only) if only else of.conditions)}
        for seed in range(seeds or at.seeds(of)):
            for condition in of.conditions:
                if condition.name in chosen:
                    cell = ledger.cell_of(at, of, condition, seed, results, work)
                    found[cell.name] = cell
    return list(found.values())


def _check_results(results: Path) -> None:
    if results.exists() and not results.is_dir():
        raise DaxlabError(f"{results} is a file; results are kept in a folder, results/paper unless given")


def _watch() -> Callable[[Sequence[Any]], None]:
    """One table, drawn anew every few seconds; on a pipe, a line whenever a run changes its state."""
    import sys
    import time

    from rich.live import Live

    from daxlab.experiments import runner

    live = Live(refresh_per_second=2) if sys.stdout.isatty() else None
    seen: dict[str, str] = {}
    last = 0.0

    def watch(cells: Sequence[Any]) -> None:
        nonlocal last
        if time.monotonic() - last < runner.LOOK:
            return
        last = time.monotonic()
        rows = runner.table(cells)
        if live is None:
            for row in rows:
                if seen.get(row["run"]) != row["state"]:
                    seen[row["run"]] = row["state"]
                    print(f"{row['run']}: {row['state']} {row['steps']} {row['success']}".rstrip(), flush=True)
            return
        if not live.is_started:
            live.start()
        live.update(_grid(rows))
        if all(row["state"] in ("finished", "refused") for row in rows):
            live.stop()

    return watch


def _grid(rows: list[dict[str, Any]]) -> Any:
    from rich.table import Table

    table = Table(*rows[0])
    for row in rows:
        table.add_row(*map(str, row.values()))
    return table


PAPERS: dict[str, Callable[..., Any]] = {"list": List, "run": Run, "status": Status, "report": Report}


@dataclass(frozen=True)
class Paper:
    """Run the paper's tables and figures again and compare: daxlab paper list | run | status | report

    Example: daxlab paper run architectures --scale desk
    """

    def run(self) -> None:
        """Say what there is."""
        List().run()
