"""A run's log in three forms: one JSON object a line, TensorBoard events, and a picture of the curve."""

from __future__ import annotations

import io
import json
import os
import time
from pathlib import Path
from typing import Any

Line = dict[str, Any]


class Log:
    """Appends to `log.jsonl` and, where TensorBoard is installed, to its event files."""

    def __init__(self, folder: Path, after: int = 0, silent: bool = False) -> None:
        """Lines of later steps than `after` are dropped: a run that resumes writes them again.

        A silent log only remembers its lines: another process writes them.
        """
        self.path = folder / "log.jsonl"
        self.silent = silent
        self.lines: list[Line] = []
        self._events = None
        if silent:
            return
        self.lines = [line for line in read(self.path) if line["steps"] <= after]
        write_whole(self.path, "".join(json.dumps(line) + "\n" for line in self.lines))
        self._events = _events(folder / "tensorboard")

    def write(self, line: Line) -> None:
        """Add a line."""
        self.lines.append(line)
        if self.silent:
            return
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")
        if self._events is not None:
            self._events(line)


def read(path: Path) -> list[Line]:
    """The lines of a log; one that a crash cut short is left out."""
    if not path.exists():
        return []
    lines = []
    for text in path.read_text().splitlines():
        try:
            lines.append(json.loads(text))
        except json.JSONDecodeError:
            break
    return lines


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file whole or not at all."""
    work = path.with_name(f".{path.name}-{os.getpid()}")
    try:
        work.write_bytes(content.encode() if isinstance(content, str) else content)
        os.replace(work, path)
    except OSError:
        work.unlink(missing_ok=True)
        raise


def _events(folder: Path) -> Any:
    """A function that writes a line as TensorBoard scalars; None without TensorBoard."""
    try:
        from tensorboard.compat.proto.event_pb2 import Event  # type: ignore[import-untyped]
        from tensorboard.compat.proto.summary_pb2 import Summary  # type: ignore[import-untyped]
        from tensorboard.summary.writer.event_file_writer import EventFileWriter  # type: ignore[import-untyped]
    except ImportError:
        return None
    writer = EventFileWriter(str(folder))

    def add(line: Line) -> None:
        values = [Summary.Value(tag=name, simple_value=value) for name, value in line.items() if name != "steps"]
        writer.add_event(Event(step=line["steps"], wall_time=time.time(), summary=Summary(value=values)))
        writer.flush()

    return add


def draw_curve(lines: list[Line], path: Path, title: str, chance: float) -> None:
    """Success, lift rate and recall over steps."""
    from matplotlib.figure import Figure

    lines = [line for line in lines if "success" in line]
    steps = [line["steps"] / 1e6 for line in lines]
    figure = Figure(figsize=(6, 3.6), dpi=120)
    axes = figure.subplots()
    for name, label, style in (
        ("success", "success", "-"),
        ("lift_rate", "episodes that end in a lift", ":"),
        ("recall", "recall", "--"),
    ):
        if any(name in line for line in lines):
            axes.plot(steps, [line.get(name, float("nan")) for line in lines], style, label=label)
    axes.axhline(chance, color="grey", linewidth=0.8, label="chance")
    axes.set(xlabel="million steps", ylim=(0, 1.02), title=title)
    axes.legend(fontsize=8, loc="lower right")
    figure.tight_layout()
    data = io.BytesIO()
    figure.savefig(data, format="png")
    write_whole(path, data.getvalue())
