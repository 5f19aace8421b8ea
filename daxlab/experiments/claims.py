"""What a table or figure of the paper is made of, and what the paper says of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from daxlab.errors import unknown

BEST = "best"
"""In place of an agent's name: the paper's DCEM with reconstruction, and at the smaller scales ours, `dcem_match`."""
OURS = "dcem_match"
TRAINING = "training"
"""The level that a condition was trained on, as a test."""


@dataclass(frozen=True)
class Told:
    """What the paper says of one success."""

    value: float | None = None
    """The number it gives."""
    spread: float | None = None
    """Its standard deviation over seeds."""
    least: float | None = None
    """Where it gives words: a bound that they mean."""
    most: float | None = None
    """Likewise."""
    words: str = ""
    """Its words."""

    @property
    def can_be_checked(self) -> bool:
        """Whether a number of ours agrees with it or does not."""
        return (self.value, self.least, self.most) != (None, None, None)

    def __str__(self) -> str:
        """As in the report."""
        number = "" if self.value is None else f"{self.value:.2f}"
        return " ".join(x for x in (number, f"({self.spread:.2f})" if self.spread else "", self.words) if x)


@dataclass(frozen=True)
class Test:
    """Episodes that a trained agent plays without learning."""

    name: str
    level: str
    told: Told = Told()


@dataclass(frozen=True)
class Condition:
    """One kind of run."""

    name: str
    level: str
    """Of a level or a mixture, in the room."""
    agent: str = BEST
    reconstruction: bool = True
    options: tuple[tuple[str, Any], ...] = ()
    """Fields of the config that differ, as `daxlab.agents.config.change` takes them; sizes are the paper's."""
    told: Told = Told()
    """Of success in training."""
    tests: tuple[Test, ...] = ()
    desk: tuple[tuple[str, Any], ...] = ()
    """Likewise, of its twin at the desk only; `steps` among them, and a `level` to train on instead."""


@dataclass(frozen=True)
class Order:
    """Something that the paper says is better than something else."""

    better: str
    worse: str
    test: str = ""
    """In which test; in training if none."""
    words: str = ""


@dataclass(frozen=True)
class Panel:
    """A part of an experiment's picture: bars of tests, or curves in training if there are none."""

    title: str
    shown: tuple[tuple[str, str], ...]
    """Names of conditions, and what they are called here."""
    tests: tuple[str, ...] = ()


@dataclass(frozen=True)
class Experiment:
    """One table or figure."""

    name: str
    title: str
    where: str
    """In the paper."""
    conditions: tuple[Condition, ...]
    orders: tuple[Order, ...] = ()
    chance: tuple[Test, ...] = ()
    """Where the paper gives what an object picked at random comes to; in training if without a name."""
    seeds: int = 3
    """As many as the paper has."""
    steps: float = 1e9
    """Likewise."""
    effort: float = 1.0
    """How many times the usual steps it gets at the smaller scales."""
    panels: tuple[Panel, ...] = ()
    """Of its picture, as the paper has it; unless given, all conditions in training, and in all tests."""

    def condition(self, name: str) -> Condition:
        """The condition of that name."""
        named = {condition.name: condition for condition in self.conditions}
        if name not in named:
            raise unknown(f"condition of {self.name}", name, named)
        return named[name]
