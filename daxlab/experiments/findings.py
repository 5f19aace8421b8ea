"""What the results say of the paper's claims."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from daxlab.errors import DaxlabError
from daxlab.experiments import chance, ledger
from daxlab.experiments.claims import Condition, Experiment, Order, Told
from daxlab.experiments.ledger import Cell
from daxlab.experiments.scales import Scale
from daxlab.experiments.statistics import Mean, Reached, beats, mean, reached
from daxlab.learning.logs import Line, read

TOLERANCE = 0.05
"""A number is reproduced if the paper's lies this near to our interval."""
SURE = 0.95
"""An order is reproduced if a run of the better beats one of the worse with this probability."""
FEWEST = 2
"""Seeds without which nothing is said to be reproduced, or not."""
LEARNED = 0.9
"""Success whose time and steps are told."""
CHANCE = "random object selection"
REPRODUCED, NOT, NOT_RUN, FEW = "reproduced", "not reproduced", "not yet run", "too few seeds"


class Run(NamedTuple):
    """One finished run."""

    cell: Cell
    result: dict[str, Any]
    log: list[Line]


class Row(NamedTuple):
    """One number of a table: a condition in training or in a test."""

    name: str
    """Of the condition, or of chance."""
    agent: str
    """That stands for the paper's at this scale."""
    test: str
    """Name of the test; in training if empty."""
    told: Told
    values: list[float]
    """One a seed."""
    mean: Mean | None
    verdict: str
    source: str = ""
    """Of what there are no seeds of: where it is from."""


class Finding(NamedTuple):
    """All there is of one experiment."""

    experiment: Experiment
    runs: dict[str, list[Run]]
    """By condition."""
    rows: list[Row]
    orders: list[tuple[Order, float | None, str]]
    """With the probability that the better beats the worse."""
    refused: list[str]
    """Results that do not belong here, each with the reason."""


def finding(at: Scale, of: Experiment, results: Path = ledger.RESULTS) -> Finding:
    """What the results in a folder say."""
    runs: dict[str, list[Run]] = {}
    refused = []
    for condition in of.conditions:
        runs[condition.name] = []
        first = ledger.cell_of(at, of, condition, 0, results)
        for path in sorted(first.result.parent.glob("seed-*.json")):
            cell = ledger.cell_of(at, of, condition, int(path.stem.removeprefix("seed-")), results)
            try:
                result = ledger.load(cell)
            except DaxlabError as error:
                refused.append(str(error))
                continue
            if result is not None:
                runs[condition.name].append(Run(cell, result, in_training(cell)))
    rows = [row for condition in of.conditions for row in _rows(at, of, condition, runs[condition.name])]
    by_chance = [
        Row(CHANCE, "random-object", test.name, test.told, [], average, "", source)
        for test, average, source in chance.found(at, of, results)
    ]
    orders = [_order(of, order, rows) for order in of.orders]
    return Finding(of, runs, [*rows, *by_chance], orders, refused)


def in_training(cell: Cell) -> list[Line]:
    """Its log, with a mixture's success as its result has it: of each level, by its weight.

    The log itself counts episodes, of which most are of the levels where they are short. A line in which a level has no
    episode has no success.
    """
    log, levels = read(cell.curve), cell.config.specs
    if len(levels) == 1:
        return log
    lines = []
    for line in log:
        told = [line[name] for level in levels if (name := f"{level.name}/success") in line]
        bare = {name: value for name, value in line.items() if name != "success"}
        if len(told) == len(levels):
            bare["success"] = ledger.of_levels(told, cell)
        lines.append(bare)
    return lines


def _rows(at: Scale, of: Experiment, condition: Condition, runs: list[Run]) -> Iterator[Row]:
    chosen = at.config(of, condition, 0).agent
    agent = f"{chosen.core} + R" if chosen.reconstruction else chosen.core
    asked = [("", condition.told, [run.result["success"] for run in runs])]
    for test in condition.tests:
        level = at.level(test.level)
        asked.append((test.name, test.told, [run.result["tests"][level]["success"] for run in runs]))
    for name, told, values in asked:
        average = mean(values) if values else None
        yield Row(condition.name, agent, name, told, values, average, verdict(told, average))


def verdict(told: Told, ours: Mean | None) -> str:
    """Whether our mean agrees with what the paper says; nothing where it says nothing that can be checked."""
    if ours is None:
        return NOT_RUN
    if not told.can_be_checked:
        return ""
    if ours.seeds < FEWEST:
        return FEW
    if told.value is not None:
        return REPRODUCED if ours.low - TOLERANCE <= told.value <= ours.high + TOLERANCE else NOT
    above = told.least is None or ours.value >= told.least
    below = told.most is None or ours.value <= told.most
    return REPRODUCED if above and below else NOT


def _order(of: Experiment, order: Order, rows: list[Row]) -> tuple[Order, float | None, str]:
    for name in (order.better, order.worse):
        of.condition(name)
    values = {row.name: row.values for row in rows if row.test == order.test}
    better, worse = values[order.better], values[order.worse]
    if not better or not worse:
        return order, None, NOT_RUN
    probability = beats(better, worse)
    if min(len(better), len(worse)) < FEWEST:
        return order, probability, FEW
    return order, probability, REPRODUCED if probability >= SURE else NOT


def learned(runs: list[Run]) -> list[Reached | None]:
    """When each run first had a success of 0.9 in training."""
    return [reached(run.log, LEARNED) for run in runs]
