"""The commands that measure speed: `daxlab bench WHAT`."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import tyro

from daxlab.cli_table import show
from daxlab.cli_train import Train
from daxlab.errors import DaxlabError

DEFAULT_LEVEL = "architecture_comparison/fast_map_three_objs"


@dataclass(frozen=True)
class BenchWorld:
    """Time the world: rules and physics alone, then with pictures; and the peers that are installed, in the same run.

    Example: daxlab bench world --rooms 256 --json
    """

    level: str = DEFAULT_LEVEL
    """Name of the level or mixture, or a file (see: daxlab levels)."""
    rooms: int = 256
    """Rooms side by side (in each process)."""
    width: int = 96
    """Picture width, pixels."""
    height: int = 72
    """Picture height, pixels."""
    seconds: float = 5.0
    """Length of one measurement."""
    repeats: int = 3
    """Measurements; the median counts."""
    peers: bool = True
    """Also time MiniWorld, ViZDoom and MuJoCo where they are installed."""
    as_json: Annotated[bool, tyro.conf.arg(name="json")] = False
    """Print JSON."""

    def run(self) -> None:
        """Measure and print."""
        from daxlab.bench.world import bench_world

        report = bench_world(
            self.level, self.rooms, self.width, self.height, self.seconds, self.repeats, with_peers=self.peers
        )
        if self.as_json:
            print(json.dumps(report, indent=2, ensure_ascii=False))
            return
        rows = [{"what": key, **value} for key, value in report.items() if key.startswith("step")]
        peers = [{"what": name, **value} for name, value in report.get("peers", {}).items()]
        show(rows, False, f"{self.level}, {self.rooms} rooms, {self.width}×{self.height}, {report['device']}")
        if peers:
            show(peers, False, "peers, one process a core")


@dataclass(frozen=True)
class BenchLevels:
    """Time levels with pictures, each in turns with the three-object room, for a ratio that other work does not move.

    Example: daxlab bench levels num_generalization --json
    """

    names: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="LEVEL")] = ()
    """Levels, groups, mixtures' levels or files; all of ours unless given."""
    rooms: int = 64
    """Rooms side by side."""
    seconds: float = 0.5
    """Length of one turn."""
    repeats: int = 9
    """Pairs of turns; the median counts."""
    keep: bool = False
    """Keep the figures in daxlab/levels/rates.json; what is current there is not timed again."""
    as_json: Annotated[bool, tyro.conf.arg(name="json")] = False
    """Print JSON."""

    def run(self) -> None:
        """Measure and print."""
        from daxlab.bench.levels import bench_levels
        from daxlab.levels import measured
        from daxlab.levels.registry import choose, levels

        chosen = choose(self.names)
        if self.keep:
            for level in chosen:
                if level.name not in levels():
                    raise DaxlabError(
                        f"figures are kept of our own levels only; {level.name!r} is timed without --keep"
                    )
        file = measured.RATES if self.keep else None
        say = (lambda line: None) if self.as_json else lambda line: print(line, flush=True)
        table = bench_levels(chosen, self.rooms, self.seconds, self.repeats, say, file)
        if self.as_json:
            print(json.dumps(table, indent=2, ensure_ascii=False))


@dataclass(frozen=True)
class BenchTrain:
    """Time training in four modes that add up: the world, + pixels, + acting, + learning.

    Example: daxlab bench train --agent dcem --rooms 2048 --unroll 64 --minibatch 128 --parts --json
    """

    level: str = DEFAULT_LEVEL
    """Name of the level or mixture, or a file (see: daxlab levels)."""
    agent: str = "dcem"
    """lstm, dnc, dcem, dcem_match or gtrxl."""
    preset: str = "paper"
    """paper, room or desk: where all other numbers come from."""
    rooms: int | None = None
    """Rooms side by side; the preset's unless given."""
    unroll: int | None = None
    """Steps between two visits of the learner; the preset's unless given."""
    minibatch: int | None = None
    """Unrolls in one step of the optimiser; the preset's unless given."""
    set: tuple[str, ...] = ()
    """Any other field of the config: --set agent.memory.size=100 agent.vision.dtype=bfloat16"""
    modes: tuple[str, ...] = ("world", "pixels", "acting", "learning")
    """Which of the modes."""
    parts: bool = False
    """Also time the pieces of acting and learning alone, beside what the device can do at best."""
    seconds: float = 2.0
    """Least length of one measurement."""
    repeats: int = 3
    """Measurements; the median counts."""
    cold: bool = True
    """Compile from nothing and again from a cache, to time both; --no-cold uses the cache there is."""
    as_json: Annotated[bool, tyro.conf.arg(name="json")] = False
    """Print JSON."""

    def run(self) -> None:
        """Measure and print."""
        from daxlab.bench.device import bench_device, rates_of
        from daxlab.bench.train import bench_train

        config = self.config()
        rates = rates_of(bench_device(seconds=self.seconds / 10, repeats=self.repeats)) if self.parts else None
        report = bench_train(
            config,
            modes=self.modes,
            seconds=self.seconds,
            repeats=self.repeats,
            cold=self.cold,
            parts=self.parts,
            rates=rates,
        )
        if self.as_json:
            print(json.dumps(report, indent=2, ensure_ascii=False))
            return
        title = f"{config.agent.core} on {config.title}, {config.rooms} rooms, {report['device']}"
        show([_mode_row(mode, row) for mode, row in report["modes"].items()], False, title)
        if self.parts:
            pieces = report["parts"].items()
            show([{"part": name, **_short(row)} for name, row in pieces], False, "parts, alone")

    def config(self) -> Any:
        """The config that the flags ask for."""
        sizes = {"rooms": self.rooms, "unroll": self.unroll, "minibatch": self.minibatch}
        given = tuple(f"{name}={value}" for name, value in sizes.items() if value is not None)
        return Train(self.level, agent=self.agent, preset=self.preset, set=(*given, *self.set)).config()


def _mode_row(mode: str, row: dict[str, Any]) -> dict[str, Any]:
    return {
        "mode": mode,
        "steps/s": row["steps_per_second"],
        "ms": round(row["milliseconds"], 3),
        "part ms": round(row["part_milliseconds"], 3),
        "GB": "" if row["program_bytes"] is None else f"{row['program_bytes'] / 1e9:.3g}",
        **row["compile"],
    }


def _short(row: dict[str, float]) -> dict[str, str]:
    return {name: f"{value:.3g}" for name, value in row.items()}


@dataclass(frozen=True)
class BenchDevice:
    """What the device can do at best: bytes copied and matrices multiplied in a second.

    Example: daxlab bench device --json
    """

    copy_bytes: int | None = None
    """Size of the array that is copied; 2 GiB unless given, 128 MiB on a CPU."""
    matrix: int | None = None
    """Rows and columns of the matrices; 8192 unless given, 1024 on a CPU."""
    seconds: float = 0.5
    """Length of one measurement."""
    repeats: int = 5
    """Measurements; the median counts."""
    as_json: Annotated[bool, tyro.conf.arg(name="json")] = False
    """Print JSON."""

    def run(self) -> None:
        """Measure and print."""
        from daxlab.bench.device import bench_device

        report = bench_device(self.copy_bytes, self.matrix, self.seconds, self.repeats)
        if self.as_json:
            print(json.dumps(report, indent=2, ensure_ascii=False))
            return
        rows = [{"what": name, "figure": f"{value:.3g}"} for name, value in report.items() if name.endswith("_second")]
        show(rows, False, report["device"])


@dataclass(frozen=True)
class BenchServe:
    """Time `daxlab serve` over loopback: one client and several at once; and, if asked, wear it out.

    Example: daxlab bench serve --joins 10000 --episodes 100 --json
    """

    level: str = DEFAULT_LEVEL
    """Name of the level (see: daxlab levels)."""
    clients: int = 8
    """How many at once, after one alone."""
    width: int = 96
    """Picture width, pixels."""
    height: int = 72
    """Picture height, pixels."""
    seconds: float = 5.0
    """Length of one measurement; 0 times nothing."""
    repeats: int = 3
    """Measurements; the median counts."""
    joins: int = 0
    """Also join and leave so many worlds, and see what memory the server has then."""
    episodes: int = 0
    """Also play so many episodes with the scripted expert, over the wire."""
    as_json: Annotated[bool, tyro.conf.arg(name="json")] = False
    """Print JSON."""

    def run(self) -> None:
        """Measure and print."""
        from daxlab.bench.serve import bench_serve

        size, timing = (self.width, self.height), (self.seconds, self.repeats)
        report = bench_serve(self.level, self.clients, *size, *timing, self.joins, self.episodes)
        if self.as_json:
            print(json.dumps(report, indent=2, ensure_ascii=False))
            return
        rows = [{"what": name, **value} for name, value in report.items() if isinstance(value, dict)]
        show(rows, False, f"{self.level}, {self.width}×{self.height}, load {report['load_before']}")


@dataclass(frozen=True)
class BenchView:
    """Time the page of `daxlab view`: from the command to its first picture, and its frames a second.

    Each frame has the 480×360 view, the agent's own view, its policy and its memory.

    Example: daxlab bench view --json
    """

    actor: str = "pretrained:room"
    """Who acts, as in daxlab view."""
    level: str | None = None
    """Name of the level; a trained agent's own unless given."""
    seconds: float = 10.0
    """Length of the measurement."""
    cold: bool = False
    """Start with empty caches, as on the first day."""
    as_json: Annotated[bool, tyro.conf.arg(name="json")] = False
    """Print JSON."""

    def run(self) -> None:
        """Measure and print."""
        from daxlab.bench.view import bench_view

        report = bench_view(self.actor, self.level, self.seconds, self.cold)
        if self.as_json:
            print(json.dumps(report, indent=2, ensure_ascii=False))
            return
        show([{"what": name, "figure": str(value)} for name, value in report.items()], False, "daxlab view")


@dataclass(frozen=True)
class Bench:
    """Measure speed, as JSON or a table.

    Example: daxlab bench world --json
    """

    def run(self) -> None:
        """Say what can be measured."""
        raise DaxlabError(f"say what to measure: {', '.join(f'daxlab bench {name}' for name in BENCHES)}")


BENCHES: dict[str, Callable[..., Any]] = {
    "world": BenchWorld,
    "levels": BenchLevels,
    "train": BenchTrain,
    "device": BenchDevice,
    "serve": BenchServe,
    "view": BenchView,
}
