"""Processes that a test begins."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


@contextmanager
def running(command: Sequence[str], seconds: float = 400) -> Iterator[subprocess.Popen[str]]:
    """One whose words can be read; it neither outlives its test nor keeps it for longer than that."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        guard = threading.Timer(seconds, process.kill)
        guard.start()
        try:
            yield process
        finally:
            guard.cancel()
            process.kill()
