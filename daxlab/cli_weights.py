"""The commands about trained weights: what is in the package, how to make such a file, and how to probe an agent."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

Weights = Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="RUN_OR_WEIGHTS")]


@dataclass(frozen=True)
class Probe:
    """Test what an agent does with new objects, more objects, other words, swapped names and a cleared memory.

    Example: daxlab probe pretrained:room --episodes 100
    """

    weights: Weights
    """Folder of a run, a checkpoint in it, a weights file, or pretrained:NAME."""
    episodes: int = 500
    """How many episodes of each probe."""
    seed: int = 0
    """Which episodes."""
    as_json: Annotated[bool, tyro.conf.arg(name="json")] = False
    """Print JSON, a line a probe."""

    def run(self) -> None:
        """Play each probe and print its row."""
        from daxlab.experiments.probes import probe

        for row in probe(self.weights, self.episodes, self.seed):
            if self.as_json:
                print(json.dumps(row), flush=True)
                continue
            low, high = row["interval"]
            expected = f"  expected: {row['expected']}" if row["expected"] else ""
            figures = f"{row['success']:.3f}  ({low:.3f}…{high:.3f}; chance {row['chance']:.3f})"
            print(f"{row['probe']:<36}{figures}{expected}", flush=True)


@dataclass(frozen=True)
class Export:
    """Write the weights of a run as one file, half the size: it goes wherever a run does.

    Example: daxlab export runs/first --out first.safetensors
    """

    weights: Weights
    """Folder of a run, or a checkpoint in it."""
    out: Path = Path("out/weights.safetensors")
    """File to write."""

    def run(self) -> None:
        """Write it."""
        from daxlab.learning.evaluate import export

        size = export(self.weights, self.out)
        print(f"wrote {self.out}, {size / 1e6:.1f} MB")


@dataclass(frozen=True)
class Pretrained:
    """List the trained agents in the package, or print the card of one.

    Example: daxlab pretrained room
    """

    name: Annotated[tyro.conf.Positional[str | None], tyro.conf.arg(metavar="NAME")] = None
    """Which card to print; all names unless given."""

    def run(self) -> None:
        """Print."""
        from daxlab.pretrained import PREFIX, card, names

        print(card(self.name) if self.name else "\n".join(PREFIX + name for name in names()))
