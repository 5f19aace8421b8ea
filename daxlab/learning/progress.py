"""What a person sees of a run: a bar on a terminal, a plain line every few seconds elsewhere."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from daxlab.errors import DaxlabError

PLAIN_SECONDS = 15.0
"""Seconds between two plain lines."""


class Progress:
    """Tells how far a run is."""

    def __init__(self, total: int, quiet: bool = False) -> None:
        self.total = total
        self.quiet = quiet
        self._last = 0.0
        self._bar = None
        if sys.stdout.isatty() and not quiet:
            from rich.progress import BarColumn, TextColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(BarColumn(), TextColumn("{task.percentage:>3.0f}%"), TextColumn("{task.description}"))
            self._task = self._bar.add_task("", total=total)
            self._bar.start()

    def say(self, text: str) -> None:
        """A line that stays."""
        if self.quiet:
            return
        if self._bar:
            self._bar.console.print(text, markup=False, highlight=False)
            return
        try:
            print(text, flush=True)
        except BrokenPipeError:  # the reader left (`| head`): the run goes on for nobody to see
            self.quiet = True
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    @contextmanager
    def doing(self, what: str) -> Iterator[None]:
        """Something that takes a while."""
        begin = time.perf_counter()
        self.say(f"{what}…")
        yield
        self.say(f"{what}: {time.perf_counter() - begin:.0f} s")

    def show(self, steps: int, rate: float, line: dict[str, float], left: float) -> None:
        """Where the run stands; `left` is in seconds."""
        text = f"{steps / 1e6:.2f} M steps  {rate:,.0f}/s"
        if "success" in line:
            text += f"  success {line['success']:.2f}  lifts {line['lift_rate']:.2f}  length {line['length']:.0f}"
        if "recall" in line:
            text += f"  recall {line['recall']:.2f}"
        text += f"  {clock(left)} left"
        if self._bar:
            self._bar.update(self._task, completed=min(steps, self.total), description=text)
        elif time.monotonic() - self._last > PLAIN_SECONDS:
            self._last = time.monotonic()
            self.say(text)

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._bar:
            self._bar.stop()


def clock(seconds: float) -> str:
    """`3:07` or `1:02:33`."""
    minutes, second = divmod(int(max(seconds, 0)), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02d}:{second:02d}" if hours else f"{minute}:{second:02d}"


def duration(text: str) -> float:
    """Seconds of `90s`, `9m`, `1.5h` or `1h30m`."""
    parts = re.fullmatch(r"(?:([\d.]+)h)?(?:([\d.]+)m)?(?:([\d.]+)s?)?", text.strip())
    try:
        hours, minutes, rest = (float(part or 0) for part in parts.groups()) if parts else (0.0, 0.0, 0.0)
    except ValueError:
        hours = minutes = rest = 0.0
    seconds = 3600 * hours + 60 * minutes + rest
    if seconds <= 0:
        raise DaxlabError(f"{text!r} is no length of time; write it as 90s, 9m or 1h30m")
    return seconds
