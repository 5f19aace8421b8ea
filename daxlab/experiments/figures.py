"""An experiment as a picture, in panels like the paper's figure of it.

Curves are of success in training, with bands at equal steps. Bars are of frozen weights, with intervals, a diamond at
the paper's value; the paper follows some of its tests through training, which are played at its end here.
"""

from __future__ import annotations

import io
from typing import Any

from daxlab.experiments.claims import OURS, TRAINING, Panel
from daxlab.experiments.findings import CHANCE, NOT_RUN, Finding
from daxlab.experiments.statistics import band

COLOURS = 10
"""That matplotlib tells apart; further curves are dashed."""


def draw(one: Finding) -> bytes:
    """All panels, as a PNG."""
    from matplotlib.figure import Figure

    panels = one.experiment.panels or _usual(one)
    rows = (len(panels) + 1) // 2
    figure = Figure(figsize=(11, 4.6 if rows == 1 else 3.7 * rows), dpi=110, layout="constrained")
    all_axes = figure.subplots(rows, 2, squeeze=False).flatten()
    colour = {label: i for i, label in enumerate(dict.fromkeys(name for panel in panels for _, name in panel.shown))}
    for panel, axes in zip(panels, all_axes, strict=False):
        if panel.tests:
            _bars(axes, one, panel, colour)
        else:
            _curves(axes, one, panel, colour)
        _head(axes, panel)
    for axes in all_axes[len(panels) :]:
        axes.axis("off")
    if any(OURS in row.agent and OURS not in row.name for row in one.rows):
        figure.supxlabel(
            f"where the paper has its DCEM with reconstruction, the agent here is {OURS}, ours", fontsize=7
        )
    data = io.BytesIO()
    figure.savefig(data, format="png")
    return data.getvalue()


def _usual(one: Finding) -> tuple[Panel, ...]:
    """Every condition in training, and in all tests."""
    shown = tuple((name, name) for name in one.runs)
    by_chance = tuple((CHANCE, CHANCE) for row in one.rows if row.name == CHANCE)[:1]
    tests = tuple(dict.fromkeys(row.test or TRAINING for row in one.rows))
    return Panel("", shown), Panel("", (*shown, *by_chance), tests)


def _curves(axes: Any, one: Finding, panel: Panel, colour: dict[str, int]) -> None:
    """Of success in training: the mean over seeds and its standard error."""
    chances: dict[float, None] = {}
    for name, label in panel.shown:
        logs = [run.log for run in one.runs[name]]
        told = band(logs)
        if told is None:
            continue
        chances |= {round(log[-1]["chance"], 3): None for log in logs if "chance" in log[-1]}
        steps, i = told.steps / 1e6, colour[label]
        style, paint = "-" if i < COLOURS else "--", f"C{i % COLOURS}"
        axes.plot(steps, told.middle, style, color=paint, label=label)
        low, high = told.middle - told.error, told.middle + told.error
        axes.fill_between(steps, low, high, color=paint, alpha=0.2, linewidth=0)
    for i, chance in enumerate(chances):
        axes.axhline(chance, color="grey", linewidth=0.8, linestyle=":", label="" if i else "chance")
    axes.set(xlabel="million steps", ylabel="success in training (mean ± s.e.)", ylim=(0, 1.02))


def _bars(axes: Any, one: Finding, panel: Panel, colour: dict[str, int]) -> None:
    """Of several tests each has a colour; of one alone each condition has that of its curve."""
    place = {name: i for i, (name, _) in enumerate(panel.shown)}
    labels = dict(panel.shown)
    papers: list[tuple[float, float]] = []
    several = len(panel.tests) > 1
    width = 0.8 / len(panel.tests)
    for i, test in enumerate(panel.tests):
        rows = [row for row in one.rows if (row.test or TRAINING) == test and row.name in place]
        at = {row.name: place[row.name] + (i - (len(panel.tests) - 1) / 2) * width for row in rows}
        shown = [(row.name, row.mean) for row in rows if row.mean is not None]
        axes.bar(
            [at[name] for name, _ in shown],
            [m.value for _, m in shown],
            width * 0.9,
            yerr=[[m.value - m.low for _, m in shown], [m.high - m.value for _, m in shown]],
            color=[f"C{i if several else colour[labels[name]] % COLOURS}" for name, _ in shown],
            label=test if several else None,
            capsize=2,
        )
        papers += [(at[row.name], row.told.value) for row in rows if row.told.value is not None]
    if papers:
        axes.plot([x for x, _ in papers], [value for _, value in papers], "kD", markersize=5, label="the paper")
    axes.set(ylabel="success, weights frozen", ylim=(0, 1.02), xlim=(-0.6, len(place) - 0.4))
    slanted = {"rotation": 30, "ha": "right"} if len(place) > 4 else {}
    axes.set_xticks(list(place.values()), list(labels.values()), fontsize=7, **slanted)


def _head(axes: Any, panel: Panel) -> None:
    """Title and legend, above the picture, where they hide nothing."""
    if not (axes.lines or axes.patches):
        axes.text(0.5, 0.5, NOT_RUN, transform=axes.transAxes, ha="center", color="grey")
    if axes.get_legend_handles_labels()[1]:
        font = {"size": 9, "weight": "bold"}
        above = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncols": 4 if panel.title else 3}
        axes.legend(title=panel.title or None, title_fontproperties=font, fontsize=7, frameon=False, **above)
    elif panel.title:
        axes.set_title(panel.title, fontsize=9, weight="bold")
