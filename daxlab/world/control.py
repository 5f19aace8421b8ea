"""What an agent can do: nine continuous controls, and the paper's 46 discrete actions made of them (A.5.1)."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from daxlab.errors import DaxlabError, unknown

CONTROLS = (
    "MOVE_RIGHT",
    "MOVE_FORWARD",
    "LOOK_RIGHT",
    "LOOK_DOWN",
    "SPIN_RIGHT",
    "SPIN_UP",
    "SPIN_FORWARD",
    "PULL",
    "GRAB",
)
"""The nine degrees of freedom, each in -1…1. Spins turn the held object about the view's right, up and forward axes;
PULL brings it nearer; GRAB above 0.5 grips."""

_COLUMNS = """
Movement without grip:
    NOOP, MOVE_FORWARD(1), MOVE_FORWARD(-1), MOVE_RIGHT(1), MOVE_RIGHT(-1),
    LOOK_RIGHT(1), LOOK_RIGHT(-1), LOOK_DOWN(1), LOOK_DOWN(-1)
Fine grained movements without grip:
    MOVE_RIGHT(0.05), MOVE_RIGHT(-0.05), LOOK_DOWN(0.03), LOOK_DOWN(-0.03),
    LOOK_RIGHT(0.2), LOOK_RIGHT(-0.2), LOOK_RIGHT(0.05), LOOK_RIGHT(-0.05)
Movement with grip:
    GRAB, GRAB + MOVE_FORWARD(1), GRAB + MOVE_FORWARD(-1), GRAB + MOVE_RIGHT(1), GRAB + MOVE_RIGHT(-1),
    GRAB + LOOK_RIGHT(1), GRAB + LOOK_RIGHT(-1), GRAB + LOOK_DOWN(1), GRAB + LOOK_DOWN(-1)
Fine grained movements with grip:
    GRAB + MOVE_RIGHT(0.05), GRAB + MOVE_RIGHT(-0.05), GRAB + LOOK_DOWN(0.03), GRAB + LOOK_DOWN(-0.03),
    GRAB + LOOK_RIGHT(0.2), GRAB + LOOK_RIGHT(-0.2), GRAB + LOOK_RIGHT(0.05), GRAB + LOOK_RIGHT(-0.05)
Object manipulation:
    GRAB + SPIN_RIGHT(1), GRAB + SPIN_RIGHT(-1), GRAB + SPIN_UP(1), GRAB + SPIN_UP(-1),
    GRAB + SPIN_FORWARD(1), GRAB + SPIN_FORWARD(-1), GRAB + PULL(1), GRAB + PULL(-1)
Fine grained object manipulation:
    GRAB + PULL(0.5), GRAB + PULL(-0.5), PULL(0.5), PULL(-0.5)
"""


def _parse_columns(text: str) -> dict[str, tuple[str, ...]]:
    columns: dict[str, tuple[str, ...]] = {}
    for title, body in re.findall(r"^(\w[\w ]*):\n((?:    .*\n)+)", text, re.M):
        columns[title] = tuple(name.strip() for name in body.replace("\n", ",").split(",") if name.strip())
    return columns


COLUMNS: dict[str, tuple[str, ...]] = _parse_columns(_COLUMNS)
"""The six columns of the paper's table, as the paper prints them."""

ACTIONS: tuple[str, ...] = tuple(name for column in COLUMNS.values() for name in column)
"""The 46 discrete actions, in the paper's order."""


def controls(action: str) -> Float[np.ndarray, " 9"]:
    """The nine control values of an action's name: ``"GRAB + PULL(0.5)"`` grips and pulls with half strength."""
    value = np.zeros(len(CONTROLS), np.float32)
    if action == "NOOP":
        return value
    for part in action.split(" + "):
        match = re.fullmatch(r"([A-Z_]+)(?:\((-?[\d.]+)\))?", part)
        if match is None or match[1] not in CONTROLS:
            raise unknown("action", action, ACTIONS)
        value[CONTROLS.index(match[1])] = float(match[2]) if match[2] else 1.0
    return value


def spoken(values: Sequence[float]) -> str:
    """Nine control values in the words of the actions: the inverse of `controls`, to two digits."""
    said = [
        name if name == "GRAB" else f"{name}({round(float(x), 2):g})"
        for name, x in zip(CONTROLS, values, strict=True)
        if (x > 0.5 if name == "GRAB" else abs(x) >= 0.005)
    ]
    return " + ".join(sorted(said, key=lambda name: name != "GRAB")) or "NOOP"


def action_table(actions: tuple[str, ...] = ACTIONS) -> Float[np.ndarray, "a 9"]:
    """Control values of each action, one a row."""
    if not actions:
        raise DaxlabError("a level needs at least one action")
    return np.stack([controls(action) for action in actions])
