"""What a run does by itself once it has learned: it plays new episodes with frozen weights and keeps what came out.

RUN/evaluation.json      what `daxlab evaluate --json` says, a row for each level of the run
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from daxlab.learning.evaluate import evaluate, to_text
from daxlab.learning.logs import write_whole
from daxlab.learning.run import read_config

SEED = 1000
"""Its episodes are nobody's training episodes."""
AT_ONCE = 100
"""Episodes side by side: after so many there is a look at the clock."""
SHARE, LEAST, MOST = 0.1, 40.0, 1 / 3
"""Of a run's budget, what is kept for it: a tenth, but forty seconds at least, and a third at most."""


def reserve(budget: float | None) -> float:
    """Seconds of a budget that are kept for the evaluation."""
    return 0.0 if budget is None else min(max(LEAST, SHARE * budget), MOST * budget)


def examine(folder: Path, episodes: int, deadline: float = math.inf) -> list[dict[str, Any]]:
    """Evaluate a run on each of its levels; with fewer episodes than asked for if it would not be done by the deadline.

    The deadline is of `time.monotonic`.
    """
    levels = read_config(folder).specs
    told = [evaluate(folder, level.name, episodes, SEED, at_once=AT_ONCE, deadline=deadline) for level in levels]
    write_whole(folder / "evaluation.json", to_text(told) + "\n")
    return told
