"""What `daxlab.bench.scaling` measured, as tables and a plot.

from daxlab.bench import report
table = json.loads(Path("scaling.json").read_text())
print(report.markdown(table))
report.plot(table, "scaling.png")
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from daxlab.bench.train import MODES

SWEEPS = ("agent", "memory", "rooms", "minibatch", "unroll", "decoded", "objects", "triangles")
"""What the lines differ in; each sweep includes the base."""

Line = dict[str, Any]


def sweep(table: dict[str, Any], name: str) -> list[Line]:
    """The lines in which one thing differs, in its order, the base among them."""
    lines = [line for line in table["lines"] if line["name"] == "base" or line["name"].split()[0] == name]
    return lines if name == "agent" or len(lines) < 2 else sorted(lines, key=lambda line: line[name])


def markdown(table: dict[str, Any]) -> str:
    """A table for each sweep of which anything was measured."""
    parts = []
    for name in SWEEPS:
        lines = sweep(table, name)
        if len(lines) < 2:
            continue
        modes = [mode for mode in MODES if sum(mode in line["modes"] for line in lines) > 1]
        head = [name, *(f"{mode}, steps/s" for mode in modes), "memory of the program, GB", "a room keeps, MB"]
        rows = [head, ["---"] * len(head), *([_cell(line, name), *_figures(line, modes)] for line in lines)]
        parts.append("\n".join(f"| {' | '.join(row)} |" for row in rows))
    return "\n\n".join(parts) + "\n"


def _cell(line: Line, name: str) -> str:
    return str(line[name]) + (f" ({line['failed']})" if "failed" in line else "")


def _figures(line: Line, modes: list[str]) -> list[str]:
    speeds = [f"{line['modes'][mode]['steps_per_second']:,}" if mode in line["modes"] else "" for mode in modes]
    used = max((line["modes"][mode]["program_bytes"] or 0 for mode in modes if mode in line["modes"]), default=0)
    return [*speeds, f"{used / 1e9:.2f}", f"{line['room_bytes'] / 1e6:.2f}" if "room_bytes" in line else ""]


def growth(table: dict[str, Any], name: str, mode: str) -> float:
    """The power of rooms, objects or triangles with which the time of one step of all rooms grows; 1 is linearly.

    Not a number where fewer than two lines were measured.
    """
    lines = [line for line in sweep(table, name) if mode in line["modes"]]
    if len(lines) < 2:
        return math.nan
    x = [line[name] for line in lines]
    y = [line["modes"][mode]["milliseconds"] for line in lines]
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def plot(table: dict[str, Any], out: str | Path) -> None:
    """Steps a second against rooms, unroll and minibatch, whichever were measured."""
    from matplotlib.figure import Figure

    sweeps = {name: sweep(table, name) for name in ("rooms", "unroll", "minibatch")}
    sweeps = {name: lines for name, lines in sweeps.items() if len(lines) > 1}
    figure = Figure(figsize=(4 * max(len(sweeps), 1), 3.6), layout="constrained")
    for i, (name, lines) in enumerate(sweeps.items()):
        axis = figure.add_subplot(1, len(sweeps), i + 1)
        for mode in MODES:
            measured = [line for line in lines if mode in line["modes"]]
            if len(measured) > 1:
                speeds = [line["modes"][mode]["steps_per_second"] for line in measured]
                axis.plot([line[name] for line in measured], speeds, marker="o", label=mode)
        axis.set(xscale="log", xlabel=name, ylabel="steps/s", ylim=(0, None))
        axis.set_xticks([line[name] for line in lines], [str(line[name]) for line in lines])
        axis.minorticks_off()
        axis.yaxis.set_major_formatter("{x:,.0f}")
        axis.grid(alpha=0.3)
        axis.legend(loc="lower right")
    figure.suptitle(f"{table['base']['agent']['core']} on {table['device']}")
    figure.savefig(out, dpi=120)
