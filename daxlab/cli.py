"""The command line: `daxlab COMMAND`. Each command is a frozen dataclass; its fields are its flags."""

from __future__ import annotations

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
from daxlab.cli_table import show
from daxlab.cli_train import Agents, Evaluate, Train
from daxlab.cli_weights import Export, Pretrained, Probe
from daxlab.errors import DaxlabError
from daxlab.pretrained import PREFIX

LevelName = Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="LEVEL")]


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
        show(rows, self.as_json, "levels")


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
        show(rows, self.as_json, self.level)


@dataclass(frozen=True)
class Film:
    """Film episodes: the large first-person view, the text channel, phase and reward.

    Of a trained agent also its policy and value, and the views in its memory as it reads them.

    Example: daxlab film desk/fast_map_three_objs --actor expert --out episode.gif
    """

    level: Annotated[tyro.conf.Positional[str | None], tyro.conf.arg(metavar="LEVEL")] = None
    """Name of the level (see: daxlab levels); a trained agent plays its own unless given."""
    actor: str = "expert"
    """expert, random-object or random; or a run folder, a checkpoint in it, a weights file, or pretrained:NAME."""
    out: Path = Path("out/episode.gif")
    """File to write: .gif or .mp4."""
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
    "assets": Assets,
    "bench": Bench,
}

CONFIG = (tyro.conf.FlagCreatePairsOff,)

ABOUT = """daxlab: an agent walks a 3D room, hears each object's made-up name once, and then acts on it.

Start with `daxlab demo`. Each command has its own help: daxlab COMMAND --help"""


def _parse(arguments: list[str]) -> Any:
    commands, prog, about = COMMANDS, "daxlab", ABOUT
    if arguments[:1] == ["bench"] and len(arguments) > 1:
        commands, prog, about, arguments = BENCHES, "daxlab bench", Bench.__doc__ or "", arguments[1:]
    match arguments:
        case ["assets", name, *flags] if name in ASSETS:
            return tyro.cli(ASSETS[name], prog=f"daxlab assets {name}", args=flags, config=CONFIG)
    return tyro.extras.subcommand_cli_from_dict(commands, prog=prog, description=about, args=arguments, config=CONFIG)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command; bad input is one sentence and exit code 2, a reader that left (`| head`) is a quiet end."""
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


if __name__ == "__main__":
    main()
