"""What a few seeds say: a mean with its interval, whether one thing beats another, curves at equal steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

Values = Sequence[float]
"""One number a seed."""

RESAMPLES = 10_000
LINES = 3
"""Lines of a log over which success is averaged before it is said to have got somewhere."""


class Mean(NamedTuple):
    """Over seeds."""

    value: float
    low: float
    high: float
    """The 95% bootstrap interval; with one seed there is none, and all three are the value."""
    seeds: int


def mean(values: Values, seed: int = 0) -> Mean:
    """The mean over seeds with its percentile bootstrap interval."""
    x = np.asarray(values, float)
    if x.size == 0 or not np.isfinite(x).all():
        raise ValueError(f"{list(values)}: a mean needs numbers")
    drawn = np.random.default_rng(seed).choice(x, (RESAMPLES, x.size)).mean(1)
    low, high = np.quantile(drawn, (0.025, 0.975))
    return Mean(float(x.mean()), float(low), float(high), x.size)


def beats(a: Values, b: Values) -> float:
    """The probability that a run of A does better than one of B; ties count half (Mann–Whitney's U by its pairs)."""
    x, y = np.asarray(a, float)[:, None], np.asarray(b, float)
    return float(np.mean((x > y) + 0.5 * (x == y)))


class Band(NamedTuple):
    """Curves of several seeds at the same steps."""

    steps: Float[np.ndarray, " t"]
    middle: Float[np.ndarray, " t"]
    """Mean over seeds."""
    error: Float[np.ndarray, " t"]
    """Its standard error; 0 with one seed."""


def band(logs: Sequence[Sequence[dict[str, Any]]], name: str = "success", points: int = 100) -> Band | None:
    """The logs' curves from the first step that all have to the last that all have; None if there is none such."""
    curves = [[(line["steps"], line[name]) for line in log if name in line] for log in logs]
    curves = [curve for curve in curves if curve]
    if not curves:
        return None
    first, last = max(curve[0][0] for curve in curves), min(curve[-1][0] for curve in curves)
    if last < first:
        return None
    steps = np.linspace(first, last, points)
    values = np.stack([np.interp(steps, *np.array(curve, float).T) for curve in curves])
    error = values.std(0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.zeros(points)
    return Band(steps, values.mean(0), error)


class Reached(NamedTuple):
    """When a run first had a success."""

    steps: int
    seconds: float


def reached(log: Sequence[dict[str, Any]], success: float) -> Reached | None:
    """The first line of a log at which success, averaged over three lines, is this high."""
    lines = [line for line in log if "success" in line]
    for i in range(LINES, len(lines) + 1):
        if np.mean([line["success"] for line in lines[i - LINES : i]]) >= success:
            return Reached(lines[i - 1]["steps"], lines[i - 1]["seconds"])
    return None
