"""The command line: `daxlab COMMAND`. Each command is a frozen dataclass; its fields are its flags."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from daxlab.cli_train import Agents, Evaluate, Train
from daxlab.errors import DaxlabError

DEFAULT_LEVEL = "architecture_comparison/fast_map_three_objs"
LevelName = Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="LEVEL")]


@dataclass(frozen=True)
class Assets:
    """Draw every object, large and as the agent sees it.

    Example: daxlab assets --out sheet.png
    """

    out: Path = Path("out/sheet.png")
    """Picture file to write."""

    def run(self) -> None:
        """Write the contact sheet."""
        from daxlab.viewer.sheet import save_sheet

        self.out.parent.mkdir(parents=True, exist_ok=True)
        save_sheet(self.out)
        print(f"wrote {self.out}")


@dataclass(frozen=True)
class Levels:
    """List the levels.

    Example: daxlab levels
    """

    as_json: Annotated[bool, tyro.conf.arg(name="json")] = False
    """Print JSON."""

    def run(self) -> None:
        """Print a row a level."""
        from daxlab.levels.registry import levels

        rows = [
            {
                "level": level.name,
                "objects": level.num_objects,
                "of": len(level.objects),
                "regime": level.regime,
                "actions": len(level.actions),
                "picture": f"{level.picture[0]}×{level.picture[1]}",
                "chance": round(level.chance, 3),
            }
            for level in levels().values()
        ]
        _show(rows, self.as_json, "levels")


@dataclass(frozen=True)
class Expert:
    """Play a level with the scripted expert and with the random-object actor.

    The expert sees the state and acts through the level's own actions: it shows that the level can be solved and
    what an episode costs. The random-object actor shows what chance is.

    Example: daxlab expert architecture_comparison/fast_map_three_objs --episodes 1000
    """

    level: LevelName = DEFAULT_LEVEL
    """Name of the level (see: daxlab levels)."""
    episodes: int = 1000
    """How many episodes each actor plays."""
    seed: int = 0
    """Which episodes."""
    as_json: Annotated[bool, tyro.conf.arg(name="json")] = False
    """Print JSON."""

    def run(self) -> None:
        """Play and print."""
        import numpy as np

        from daxlab.levels.env import Env
        from daxlab.levels.episode import RIGHT, TIMEOUT
        from daxlab.levels.expert import ACTORS
        from daxlab.levels.play import play

        env = Env(self.level)
        rows: list[dict[str, Any]] = []
        for name, actor in ACTORS.items():
            results = play(env, actor, self.episodes, self.seed)
            success = results.outcome == RIGHT
            rows.append(
                {
                    "actor": name,
                    "level": self.level,
                    "episodes": self.episodes,
                    "seed": self.seed,
                    "success": round(float(success.mean()), 4),
                    "standard_error": round(float(success.std() / np.sqrt(self.episodes)), 4),
                    "chance": round(env.level.chance, 4),
                    "timeouts": round(float((results.outcome == TIMEOUT).mean()), 4),
                    "median_steps": int(np.median(results.steps)),
                    "mean_return": round(float(results.reward.mean()), 3),
                }
            )
        if not self.as_json:
            rows = [{key: value for key, value in row.items() if key != "level"} for row in rows]
        _show(rows, self.as_json, self.level)


@dataclass(frozen=True)
class Film:
    """Film episodes: the large first-person view, the text channel, phase and reward.

    Example: daxlab film desk/fast_map_three_objs --actor expert --out episode.gif
    """

    level: LevelName = DEFAULT_LEVEL
    """Name of the level (see: daxlab levels)."""
    actor: str = "expert"
    """expert, random-object or random."""
    out: Path = Path("out/episode.gif")
    """File to write: .gif or .mp4."""
    seed: int = 0
    """Which episode."""
    episodes: int = 1
    """How many episodes, one after another."""

    def run(self) -> None:
        """Write the film."""
        from daxlab.viewer.film import film

        self.out.parent.mkdir(parents=True, exist_ok=True)
        film(self.level, self.actor, self.out, seed=self.seed, episodes=self.episodes)
        print(f"wrote {self.out}")


@dataclass(frozen=True)
class BenchWorld:
    """Time the world: rules and physics alone, then with pictures; and the peers that are installed, in the same run.

    Example: daxlab bench world --rooms 256 --json
    """

    level: str = DEFAULT_LEVEL
    """Name of the level (see: daxlab levels)."""
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
        _show(rows, False, f"{self.level}, {self.rooms} rooms, {self.width}×{self.height}, {report['device']}")
        if peers:
            _show(peers, False, "peers, one process a core")


@dataclass(frozen=True)
class Demo:
    """What `make demo` does: play the room with the expert and film an episode.

    Example: daxlab demo
    """

    out: Path = Path("out")
    """Folder for what it makes."""

    def run(self) -> None:
        """Play, film, say where things are."""
        print("The room of the paper: three objects, made-up names, 46 actions, 96×72 pixels.\n")
        Expert(episodes=200).run()
        Assets(out=self.out / "sheet.png").run()
        Film(out=self.out / "episode.gif").run()
        print(f"\nLook at {self.out / 'episode.gif'} (an episode) and {self.out / 'sheet.png'} (the objects).")


@dataclass(frozen=True)
class Bench:
    """Measure speed, as JSON or a table.

    Example: daxlab bench world --json
    """

    def run(self) -> None:
        """Say what can be measured."""
        raise DaxlabError(f"say what to measure: {', '.join(f'daxlab bench {name}' for name in BENCHES)}")


COMMANDS: dict[str, Callable[..., Any]] = {
    "demo": Demo,
    "levels": Levels,
    "expert": Expert,
    "train": Train,
    "evaluate": Evaluate,
    "agents": Agents,
    "film": Film,
    "assets": Assets,
    "bench": Bench,
}
BENCHES: dict[str, Callable[..., Any]] = {"world": BenchWorld}

ABOUT = """daxlab: an agent walks a 3D room, hears each object's made-up name once, and then acts on it.

Start with `daxlab demo`. Each command has its own help: daxlab COMMAND --help"""


def _show(rows: Sequence[dict[str, Any]], as_json: bool, title: str) -> None:
    """A table for people or JSON for programs."""
    if as_json:
        print(json.dumps(list(rows), indent=2, ensure_ascii=False))
        return
    from rich.console import Console
    from rich.table import Table

    columns = list(dict.fromkeys(key for row in rows for key in row))
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column.replace("_", " "), justify="right" if column != columns[0] else "left")
    for row in rows:
        table.add_row(*(str(row.get(column, "")) for column in columns))
    # Piped output has no width of its own; a table must not lose its columns there.
    Console(width=None if sys.stdout.isatty() else 140).print(table)


def _parse(arguments: list[str]) -> Any:
    commands, prog, about = COMMANDS, "daxlab", ABOUT
    if arguments[:1] == ["bench"] and len(arguments) > 1:
        commands, prog, about, arguments = BENCHES, "daxlab bench", Bench.__doc__ or "", arguments[1:]
    return tyro.extras.subcommand_cli_from_dict(
        commands, prog=prog, description=about, args=arguments, config=(tyro.conf.FlagCreatePairsOff,)
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command; bad input is one sentence and exit code 2."""
    command = _parse(sys.argv[1:] if arguments is None else list(arguments))
    try:
        command.run()
    except DaxlabError as error:
        print(f"daxlab: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
