"""Other environments, timed beside ours: the same machine, the same minute, random actions, pixels consumed."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from daxlab.errors import DaxlabError

PEERS = {
    "vizdoom": "ViZDoom my_way_home, 160×120, no frame skip (C++ software renderer)",
    "miniworld": "MiniWorld PickupObjects, at the size asked for (OpenGL)",
    "mujoco": "MuJoCo, 6 free bodies, no shadows, 15 substeps, at the size asked for (OpenGL)",
}


def installed() -> list[str]:
    """The peers that can be imported here."""
    return [name for name in PEERS if importlib.util.find_spec(name)]


def compare(ours: int, width: int, height: int, cores: list[int], seconds: float, repeats: int) -> dict[str, Any]:
    """Each installed peer with one process a core, and our rate over its rate."""
    table: dict[str, Any] = {}
    for name in installed():
        try:
            timed = rate(name, {"width": width, "height": height}, cores, seconds, repeats)
        except DaxlabError as error:
            table[name] = {"what": PEERS[name], "failed": str(error)}
            continue
        table[name] = {"what": PEERS[name], **timed, "ratio": round(ours / timed["steps_per_second"], 2)}
    return table


def rate(
    name: str, arguments: dict[str, Any], cores: Sequence[int | str], seconds: float, repeats: int
) -> dict[str, Any]:
    """Steps a second of one process on each core, all measuring at the same moment, summed."""
    command = [sys.executable, "-m", "daxlab.bench.worker", name, json.dumps(arguments), str(seconds), str(repeats)]
    workers = [
        subprocess.Popen([*command, str(core)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        for core in cores
    ]
    try:
        for worker in workers:
            _expect(worker, "ready", name)
        for worker in workers:
            assert worker.stdin is not None
            worker.stdin.write("go\n")
            worker.stdin.flush()
        rates = [json.loads(_expect(worker, "[", name)) for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
    totals = [sum(each) for each in zip(*rates, strict=True)]
    totals.sort()
    return {
        "processes": len(cores),
        "steps_per_second": round(totals[len(totals) // 2]),
        "spread": [round(totals[0]), round(totals[-1])],
    }


def _expect(worker: subprocess.Popen[str], start: str, name: str) -> str:
    """The worker's next line that begins so; its other output is passed over."""
    assert worker.stdout is not None
    for line in worker.stdout:
        if line.startswith(start):
            return line
    raise DaxlabError(f"{name} could not be timed here: its process ended early (its error is above)")
