"""What a page may choose from: levels and actors by name. Nothing else is ever opened at a page's word."""

from __future__ import annotations

import contextlib
import functools
from dataclasses import dataclass, replace
from pathlib import Path

from daxlab import pretrained
from daxlab.errors import DaxlabError, unknown
from daxlab.learning import checkpoint
from daxlab.learning.config import TrainConfig
from daxlab.learning.run import latest
from daxlab.levels import registry
from daxlab.levels.env import Env
from daxlab.levels.spec import Level
from daxlab.viewer.film import ACTORS
from daxlab.viewer.programs import Wait

YOU = "you"
"""The actor that is the person at the page."""


@dataclass(frozen=True)
class Offers:
    """Where a page starts, and what it may change that to."""

    actor: str = pretrained.PREFIX + "room"
    """Who acts at first."""
    level: str | None = None
    """Name or file of the level at first; a trained agent's own, or the paper's, unless given."""
    seed: int = 0
    runs: Path | None = Path("runs")
    """Folder whose runs and weights files are offered."""
    human: bool = False
    """Only the person plays, and is scored."""

    def actors(self) -> list[str]:
        """Everybody who can act."""
        if self.human:
            return [YOU]
        found = sorted(self.runs.iterdir()) if self.runs is not None and self.runs.is_dir() else []
        runs = [str(path) for path in found if path.suffix == ".safetensors" or (path / "config.json").is_file()]
        shipped = [pretrained.PREFIX + name for name in pretrained.names()]
        return list(dict.fromkeys([*shipped, *ACTORS, YOU, self.actor, *runs]))

    def levels(self) -> list[str]:
        """Every level that can be chosen."""
        given = [] if self.level is None else [self.level]
        return list(dict.fromkeys([*given, *([] if self.human else registry.levels())]))

    def weights(self, actor: str) -> Path | None:
        """Of a trained agent its weights, of a run the newest; None for others, a sentence for what is not offered."""
        if actor not in self.actors():
            raise unknown("actor", actor, self.actors())
        if actor == YOU or actor in ACTORS:
            return None
        path = pretrained.resolve(actor)
        if not (path / "config.json").exists():
            return path
        if not checkpoint.every(path / "checkpoints"):
            raise Wait(f"waiting for the first checkpoint of {path.name}")
        return latest(path)

    def env(self, level: str | None, path: Path | None) -> Env:
        """The level, with pictures as the agent was trained on; its own level if there is a choice."""
        if level is not None and level not in self.levels():
            raise unknown("level", level, self.levels())
        if path is None:
            return Env(level or DEFAULT_LEVEL)
        config = _config(path, path.stat().st_mtime_ns if path.exists() else 0)
        home = Env(config.spec)
        env = home if level is None else Env(level, width=home.width, height=home.height)
        _check(env.level, config)
        return env

    def checked(self) -> Offers:
        """These, if what they start with is there; else a sentence."""
        known = replace(self, actor=YOU).actors()
        path = Path(self.actor)
        is_place = path.exists() or len(path.parts) > 1 or self.actor.startswith(pretrained.PREFIX)
        if self.actor not in known and not is_place:
            raise unknown("actor", self.actor, known)
        if self.level is not None:
            registry.get(self.level)
        with contextlib.suppress(Wait):
            self.env(self.level, self.weights(self.actor))
        return self


DEFAULT_LEVEL = "architecture_comparison/fast_map_three_objs"


@functools.lru_cache(maxsize=8)
def _config(path: Path, changed: int) -> TrainConfig:
    """Of a trained agent, read once: a page that waits asks four times a second, and all of the file is checked."""
    return checkpoint.load(path).config


def _check(level: Level, config: TrainConfig) -> None:
    if len(level.actions) != len(config.spec.actions):
        raise DaxlabError(
            f"{level.name} has {len(level.actions)} actions, but the agent was trained with {len(config.spec.actions)}"
        )


def resized(env: Env, level: Level) -> Env:
    """The same pictures of another level."""
    return Env(level, width=env.width, height=env.height)
