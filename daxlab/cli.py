"""The command line: `daxlab COMMAND`. Each command is a frozen dataclass; its fields are its flags."""

from __future__ import annotations

import errno
import inspect
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from daxlab.cli_assets import ASSETS, Assets
from daxlab.cli_bench import BENCHES, DEFAULT_LEVEL, Bench
from daxlab.cli_demo import Demo
from daxlab.cli_paper import PAPERS, Paper
from daxlab.cli_serve import Serve
from daxlab.cli_table import show
from daxlab.cli_train import Agents, Evaluate, Train
from daxlab.cli_view import Human, View
from daxlab.cli_weights import Export, Pretrained, Probe
from daxlab.cli_words import Completion, check_options, check_words
from daxlab.errors import DaxlabError, unknown
from daxlab.pages import in_huge_pages
from daxlab.pretrained import PREFIX

LevelName = Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="LEVEL")]


@dataclass(frozen=True)
class Levels:
    """List the levels: objects, regime, phases, actions, chance, and what the scripted actors reach.

    Example: daxlab levels fast_slow
    """

    names: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="LEVEL")] = ()
    """Levels, groups, mixtures or files; all of our levels unless given."""
    measure: bool = False
    """Play the expert and the random-object actor on each and keep the figures in daxlab/levels/measured.json."""
    episodes: int = 500
    """How many episodes each actor plays to be measured."""
    seed: int = 0
    """Which episodes."""
    doc: Path | None = None
    """Write the tables and pictures into this page, between its marks: docs/levels.md"""
    as_json: Annotated[bool, tyro.conf.arg(name="json")] = False
    """Print JSON."""

    def run(self) -> None:
        """Print a row a level."""
        from daxlab.levels import measured
        from daxlab.levels.registry import choose, levels

        chosen = choose(self.names)
        if self.measure:
            for level in chosen:
                if level.name not in levels():
                    raise DaxlabError(
                        f"figures are kept of our own levels only; for {level.name!r} there is: daxlab expert"
                    )
            measured.measure(chosen, self.episodes, self.seed, lambda line: print(line, flush=True))
        if self.doc is not None:
            from daxlab.viewer.levels_page import write_page

            write_page(self.doc)
            print(f"wrote {self.doc}")
        if self.measure or self.doc is not None:
            return
        kept, rates = measured.read(), measured.read(measured.RATES)
        rows = [measured.row(level, kept, rates) for level in chosen]
        if not self.as_json:
            rows = [_short(row) for row in rows]
        show(rows, self.as_json, "levels")


def _short(row: dict[str, Any]) -> dict[str, Any]:
    """A level's row for people."""
    names = (
        "level",
        "objects",
        "regime",
        "phases",
        "task",
        "actions",
        "chance",
        "expert",
        "steps",
        "random_object",
        "rate",
    )
    said = {name: "" if row[name] is None else row[name] for name in names}
    return said | {"objects": f"{row['objects']} of {row['of']}"}


@dataclass(frozen=True)
class Expert:
    """Play a level with the scripted expert and with the random-object actor.

    The expert sees the state and acts through the level's own actions: it shows that the level can be solved and
    what an episode costs. The random-object actor shows what chance is.

    Example: daxlab expert architecture_comparison/fast_map_three_objs --episodes 1000
    """

    level: LevelName = DEFAULT_LEVEL
    """Name of the level, or its file (see: daxlab levels)."""
    episodes: int = 1000
    """How many episodes each actor plays."""
    seed: int = 0
    """Which episodes."""
    as_json: Annotated[bool, tyro.conf.arg(name="json")] = False
    """Print JSON."""

    def run(self) -> None:
        """Play and print."""
        from daxlab.levels.env import Env
        from daxlab.levels.measured import summary
        from daxlab.levels.play import play_both

        env = Env(self.level)
        about = {"episodes": self.episodes, "seed": self.seed, "chance": round(env.level.chance, 4)}
        rows: list[dict[str, Any]] = [
            {"actor": actor, "level": env.level.name, **about, **summary(results)}
            for actor, results in play_both(env, self.episodes, self.seed).items()
        ]
        if not self.as_json:
            rows = [{key: value for key, value in row.items() if key != "level"} for row in rows]
        show(rows, self.as_json, env.level.name)


@dataclass(frozen=True)
class Film:
    """Film episodes: the large first-person view, the text channel, phase and reward.

    Of a trained agent also its policy and value, and the views in its memory as it reads them. A .html is the page of
    `daxlab view` with the episode in it: one file to step through, without a server.

    Example: daxlab film --actor pretrained:room --out episode.html
    """

    level: Annotated[tyro.conf.Positional[str | None], tyro.conf.arg(metavar="LEVEL")] = None
    """Name of the level, or its file (see: daxlab levels); a trained agent plays its own unless given."""
    actor: str = "expert"
    """expert, random-object or random; or a run folder, a checkpoint in it, a weights file, or pretrained:NAME."""
    out: Path = Path("out/episode.gif")
    """File to write: .gif, .mp4 or .html."""
    seed: int = 0
    """Which episode; a trained agent plays those of: daxlab evaluate --seed"""
    episodes: int = 1
    """How many episodes, one after another."""

    def run(self) -> None:
        """Write the film."""
        from daxlab.viewer.film import ACTORS, film
        from daxlab.viewer.thinking import film_agent

        self.out.parent.mkdir(parents=True, exist_ok=True)
        path = Path(self.actor)
        if self.actor not in ACTORS and (path.exists() or len(path.parts) > 1 or self.actor.startswith(PREFIX)):
            film_agent(self.actor, self.level, self.out, seed=self.seed, episodes=self.episodes)
        else:
            film(self.level or DEFAULT_LEVEL, self.actor, self.out, seed=self.seed, episodes=self.episodes)
        print(f"wrote {self.out}")


COMMANDS: dict[str, Callable[..., Any]] = {
    "demo": Demo,
    "levels": Levels,
    "expert": Expert,
    "train": Train,
    "evaluate": Evaluate,
    "probe": Probe,
    "export": Export,
    "pretrained": Pretrained,
    "agents": Agents,
    "film": Film,
    "serve": Serve,
    "view": View,
    "human": Human,
    "assets": Assets,
    "bench": Bench,
    "paper": Paper,
    "completion": Completion,
}

GROUPS: dict[str, dict[str, Callable[..., Any]]] = {"bench": BENCHES, "paper": PAPERS}
"""Commands whose first word is another command."""

CONFIG = (tyro.conf.FlagCreatePairsOff,)

ABOUT = """daxlab: an agent walks a 3D room, hears each object's made-up name once, and then acts on it.

Start with `daxlab demo`, or watch a trained agent think: `daxlab view`.
Each command has its own help: daxlab COMMAND --help

Example: daxlab train desk/fast_map_three_objs --budget 9m"""


def _parse(arguments: list[str]) -> Any:
    """The command that the words ask for; a wrong one is an error with the near ones."""
    commands, prog, about = COMMANDS, "daxlab", ABOUT
    match arguments:
        case []:
            arguments = ["--help"]
        case [group, _, *_] if group in GROUPS:
            about = inspect.getdoc(COMMANDS[group]) or ""
            commands, prog, arguments = GROUPS[group], f"daxlab {group}", arguments[1:]
        case ["assets", name, *flags] if not name.startswith("-"):
            if name not in ASSETS:
                raise unknown("daxlab assets command", name, ASSETS)
            prog = f"daxlab assets {name}"
            check_options(ASSETS[name], prog, flags)
            return tyro.cli(ASSETS[name], prog=prog, args=flags, config=CONFIG)
    check_words(commands, prog, arguments)
    return tyro.extras.subcommand_cli_from_dict(commands, prog=prog, description=about, args=arguments, config=CONFIG)


REFUSED_BY_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM)
"""Errors of a file that the person at the keyboard can mend: no room, or no right to write there."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command; bad input is one sentence and exit code 2, a reader that left (`| head`) is a quiet end."""
    if arguments is None:
        in_huge_pages()
    try:
        try:
            command = _parse(sys.argv[1:] if arguments is None else list(arguments))
            from daxlab.compilation import enable_cache

            enable_cache()
            command.run()
        finally:
            print(end="", flush=True)
    except DaxlabError as error:
        print(f"daxlab: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        # What is still in the buffer would be written, and refused, once more as Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        if error.errno not in REFUSED_BY_DISK:
            raise
        print(f"daxlab: {error.strerror}: {error.filename or 'a file could not be written'}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
