"""The action table is the paper's."""

from __future__ import annotations

import numpy as np
import pytest

from daxlab.errors import DaxlabError
from daxlab.world.control import ACTIONS, COLUMNS, CONTROLS, action_table, controls

# The rows of the paper's two tables (A.5.1), copied from its source; a blank cell is an empty string.
PAPER = r"""
NOOP, & MOVE\_RIGHT(0.05), & GRAB,
MOVE\_FORWARD(1), & MOVE\_RIGHT(-0.05), & GRAB + MOVE\_FORWARD(1),
MOVE\_FORWARD(-1), & LOOK\_DOWN(0.03), & GRAB + MOVE\_FORWARD(-1),
MOVE\_RIGHT(1), & LOOK\_DOWN(-0.03), & GRAB + MOVE\_RIGHT(1),
MOVE\_RIGHT(-1), & LOOK\_RIGHT(0.2), & GRAB + MOVE\_RIGHT(-1),
LOOK\_RIGHT(1), & LOOK\_RIGHT(-0.2), & GRAB + LOOK\_RIGHT(1),
LOOK\_RIGHT(-1), & LOOK\_RIGHT(0.05), & GRAB + LOOK\_RIGHT(-1),
LOOK\_DOWN(1), & LOOK\_RIGHT(-0.05), & GRAB + LOOK\_DOWN(1),
LOOK\_DOWN(-1), & & GRAB + LOOK\_DOWN(-1),

GRAB + MOVE\_RIGHT(0.05), & GRAB + SPIN\_RIGHT(1), & GRAB + PULL(0.5),
GRAB + MOVE\_RIGHT(-0.05), & GRAB + SPIN\_RIGHT(-1), & GRAB + PULL(-0.5),
GRAB + LOOK\_DOWN(0.03), & GRAB + SPIN\_UP(1), & PULL(0.5),
GRAB + LOOK\_DOWN(-0.03), & GRAB + SPIN\_UP(-1), & PULL(-0.5),
GRAB + LOOK\_RIGHT(0.2), & GRAB + SPIN\_FORWARD(1), &
GRAB + LOOK\_RIGHT(-0.2), & GRAB + SPIN\_FORWARD(-1), &
GRAB + LOOK\_RIGHT(0.05), & GRAB + PULL(1), &
GRAB + LOOK\_RIGHT(-0.05), & GRAB + PULL(-1), &
"""


def paper_columns() -> list[list[str]]:
    columns: list[list[str]] = []
    for table in PAPER.strip().split("\n\n"):
        rows = [[cell.strip().rstrip(",").replace("\\", "") for cell in row.split("&")] for row in table.splitlines()]
        columns += [[row[i] for row in rows if row[i]] for i in range(3)]
    return columns


def test_the_six_columns_are_the_papers():
    assert [list(column) for column in COLUMNS.values()] == paper_columns()
    assert [len(column) for column in COLUMNS.values()] == [9, 8, 9, 8, 8, 4]


def test_there_are_46_different_actions_over_nine_controls():
    assert len(ACTIONS) == len(set(ACTIONS)) == 46
    assert len(CONTROLS) == 9
    table = action_table()
    assert table.shape == (46, 9)
    assert len(np.unique(table, axis=0)) == 46
    assert np.abs(table).max() == 1


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("NOOP", {}),
        ("GRAB", {"GRAB": 1}),
        ("LOOK_DOWN(-0.03)", {"LOOK_DOWN": -0.03}),
        ("GRAB + SPIN_UP(-1)", {"GRAB": 1, "SPIN_UP": -1}),
        ("PULL(0.5)", {"PULL": 0.5}),
    ],
)
def test_a_name_says_its_controls(name, expected):
    value = controls(name)
    assert {c: pytest.approx(v) for c, v in zip(CONTROLS, value, strict=True) if v} == expected


def test_grip_is_closed_in_exactly_the_grab_actions():
    closed = action_table()[:, CONTROLS.index("GRAB")] > 0.5
    assert [name for name, c in zip(ACTIONS, closed, strict=True) if c] == [a for a in ACTIONS if a.startswith("GRAB")]
    assert closed.sum() == 27


@pytest.mark.parametrize("name", ["JUMP", "MOVE_RIGHT(one)", "GRAB + FLY(1)", "move_right(1)"])
def test_an_unknown_action_is_named(name):
    with pytest.raises(DaxlabError, match="unknown action"):
        controls(name)


def test_an_empty_action_set_is_refused():
    with pytest.raises(DaxlabError, match="at least one action"):
        action_table(())
