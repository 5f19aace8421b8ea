"""What an object picked at random comes to: the last row of the paper's tables.

RESULTS/chance.json     of each level, what the random-object actor and the expert reach
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from daxlab.experiments.claims import Experiment, Test
from daxlab.experiments.ledger import RESULTS
from daxlab.experiments.scales import Scale
from daxlab.experiments.statistics import Mean
from daxlab.levels import measured
from daxlab.levels.registry import get
from daxlab.levels.spec import Level

EPISODES, SEED = 500, 0


def play(at: Scale, of: Experiment, results: Path = RESULTS, say: Callable[[str], None] = print) -> None:
    """Let both actors play the levels whose chance the paper gives; not again those that they played."""
    file = _file(results)
    kept = measured.read(file)
    left = [level for _, level in _levels(at, of) if measured.figures(level, kept) is None]
    file.parent.mkdir(parents=True, exist_ok=True)
    measured.measure(left, EPISODES, SEED, say, file)


def found(at: Scale, of: Experiment, results: Path = RESULTS) -> Iterator[tuple[Test, Mean | None, str]]:
    """What the paper says, what came out with its interval over episodes, and of which of them; nothing if none was."""
    kept = measured.read(_file(results))
    for test, level in _levels(at, of):
        figures = measured.figures(level, kept)
        if figures is None:
            yield test, None, ""
            continue
        success, error = (figures["random-object"][name] for name in ("success", "standard_error"))
        said = f"{figures['episodes']} episodes, seed {figures['seed']}, {figures['commit'][:7]}"
        yield test, Mean(success, success - 1.96 * error, success + 1.96 * error, figures["episodes"]), said


def _levels(at: Scale, of: Experiment) -> list[tuple[Test, Level]]:
    return [(test, get(at.level(test.level))) for test in of.chance]


def _file(results: Path) -> Path:
    return results / "chance.json"
