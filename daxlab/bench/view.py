"""How fast the page of `daxlab view` is: its first picture from the command on, and its frames live.

The server runs as people run it, in a process of its own; the client here asks as a page does, one step after another,
and gets the 480×360 view, the agent's own view and all panels with each.
"""

from __future__ import annotations

import base64
import http.client
import io
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from daxlab.errors import DaxlabError

PATIENCE_SECONDS = 300.0


def bench_view(
    actor: str = "pretrained:room", level: str | None = None, seconds: float = 10.0, cold: bool = False, seed: int = 0
) -> dict[str, Any]:
    """Time from the command to the first picture and to the first step, and frames a second from then on.

    Beside wall-clock time, the server's own on the cores: what is left of it when other work runs beside.
    """
    if seconds <= 0:
        raise DaxlabError(f"seconds is {seconds}; it must be more than 0")
    with ExitStack() as stack:
        environment = dict(os.environ)
        if cold:
            environment["DAXLAB_CACHE"] = stack.enter_context(tempfile.TemporaryDirectory())
            environment["NUMBA_CACHE_DIR"] = stack.enter_context(tempfile.TemporaryDirectory())
        flags = ["--actor", actor, "--seed", str(seed), *(["--level", level] if level else [])]
        began = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-m", "daxlab.cli", "view", *flags],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        stack.callback(_end, process)
        client = _Client(_port(process))
        first = client.ask("show")
        first_picture, first_cpu = time.monotonic() - began, _cpu_seconds(process.pid)
        client.ask("step")
        first_step = time.monotonic() - began
        client.ask("step")
        cpu = _cpu_seconds(process.pid)
        times, sizes = _live(client, seconds)
        cpu_frame = None if cpu is None else ((_cpu_seconds(process.pid) or cpu) - cpu) / len(times)
    view = _size(first)
    return {
        "actor": actor,
        "level": first["level"],
        "view": view,
        "agent_view": first["size"],
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "cold": cold,
        "first_picture_seconds": round(first_picture, 2),
        "first_picture_cpu_seconds": first_cpu,
        "first_step_seconds": round(first_step, 2),
        "frames_per_second": round(len(times) / sum(times), 1),
        "median_milliseconds": round(1000 * statistics.median(times), 2),
        "cpu_milliseconds_a_frame": None if cpu_frame is None else round(1000 * cpu_frame, 2),
        "slowest_in_a_hundred_milliseconds": round(1000 * float(np.quantile(times, 0.99)), 2),
        "frames": len(times),
        "bytes_a_frame": round(statistics.mean(sizes)),
    }


def _live(client: _Client, seconds: float) -> tuple[list[float], list[int]]:
    """Seconds and bytes of each frame, over as many episodes as it takes; beginning an episode counts as a frame."""
    times: list[float] = []
    sizes: list[int] = []
    frame = client.ask("step")
    while sum(times) < seconds:
        began = time.monotonic()
        frame = client.ask("choose", seed=frame["seed"] + 1) if frame["outcome"] else client.ask("step")
        times.append(time.monotonic() - began)
        sizes.append(client.bytes)
    return times, sizes


class _Client:
    """A page without a browser."""

    def __init__(self, port: int) -> None:
        self._http = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
        self.bytes = 0
        self._session = self.ask("open")["session"]

    def ask(self, command: str, **fields: Any) -> dict[str, Any]:
        """What the server tells, once it is ready."""
        message = json.dumps({**fields, "session": getattr(self, "_session", "")})
        until = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < until:
            self._http.request("POST", f"/api/{command}", message, {"Content-Type": "application/json"})
            answer = self._http.getresponse()
            body = answer.read()
            self.bytes = len(body)
            told: dict[str, Any] = json.loads(body)
            if answer.status == 200:
                return told
            if answer.status != 202:
                raise DaxlabError(told["error"])
            time.sleep(0.05)
        raise DaxlabError(f"no answer in {PATIENCE_SECONDS:g} seconds: {told['wait']}")


def _port(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    assert process.stderr is not None
    line = process.stdout.readline()
    found = re.search(r"http://\S+:(\d+)/", line)
    if found is None:
        raise DaxlabError(process.stderr.read().strip().removeprefix("daxlab: ") or "daxlab view did not start")
    return int(found[1])


def _cpu_seconds(pid: int) -> float | None:
    """Time that a process has had on all cores, which other work on the machine does not stretch; None but on Linux."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return round((int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), 2)


def _end(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGINT)
    try:
        process.communicate(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()


def _size(frame: dict[str, Any]) -> list[int]:
    return list(Image.open(io.BytesIO(base64.b64decode(frame["view"].partition(",")[2]))).size)
