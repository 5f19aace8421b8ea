"""Where an update's time goes on the device: JAX's own trace of a few updates, added up by kernel and by place.

    python -m daxlab.bench.trace OUT.json agent=dcem rooms=1024      # fields of the `paper` preset's config

A kernel's place is where in the program it comes from: acting or learning, and the function there.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jax

from daxlab.bench import timing
from daxlab.bench.train import make_program
from daxlab.compilation import enable_cache
from daxlab.learning.config import TrainConfig, change, preset, to_json, with_agent
from daxlab.levels.mixture import make_rooms

Event = dict[str, Any]

HOST_THREADS = ("python", "main")
MOST = 60
"""Rows that a table has at most."""


def bench_trace(config: TrainConfig, updates: int = 3) -> dict[str, Any]:
    """Trace some updates of the learner, compiled and warm."""
    program = make_program("learning", config, make_rooms(config.weights, config.rooms))
    compiled = program.function.lower(program.state).compile()
    state = jax.block_until_ready(compiled(program.state))[0]
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        with jax.profiler.trace(folder, create_perfetto_trace=True):
            for _ in range(updates):
                state = compiled(state)[0]
            jax.block_until_ready(state)
        wall = time.perf_counter() - begin
        events = read(Path(folder))
    return {**timing.machine(), "updates": updates, "wall_seconds": wall, **add_up(events), "config": to_json(config)}


def read(folder: Path) -> list[Event]:
    """The events of a trace."""
    (path,) = folder.rglob("perfetto_trace.json.gz")
    with gzip.open(path) as file:
        events: list[Event] = json.load(file)["traceEvents"]
    return events


def add_up(events: Iterable[Event]) -> dict[str, Any]:
    """Seconds and calls by kernel and by place, the dearest first; and the seconds in which any kernel ran."""
    events = list(events)
    named = {(e["pid"], e.get("tid")): e["args"]["name"] for e in events if e.get("name") == "thread_name"}
    process = {e["pid"]: e["args"]["name"] for e in events if e.get("name") == "process_name"}
    has_device = any(name.startswith("/device:") for name in process.values())

    def is_kernel(event: Event) -> bool:
        thread = named.get((event["pid"], event["tid"]), "")
        if has_device:
            return process[event["pid"]].startswith("/device:") and thread.startswith("Stream")
        return not thread.startswith(HOST_THREADS) and not event["name"].startswith("$")

    kernels = [event for event in events if event.get("ph") == "X" and is_kernel(event)]
    by_kernel: dict[str, list[float]] = defaultdict(list)
    by_place: dict[str, list[float]] = defaultdict(list)
    for event in kernels:
        seconds = event["dur"] / 1e6
        by_kernel[re.sub(r"[._]?\d+", "", event["name"])].append(seconds)
        by_place[place(event.get("args", {}))].append(seconds)
    return {
        "busy_seconds": busy((event["ts"] / 1e6, event["dur"] / 1e6) for event in kernels),
        "kernel_seconds": sum(event["dur"] for event in kernels) / 1e6,
        "kernels": len(kernels),
        "sample": [event | {"place": place(event.get("args", {}))} for event in kernels[:: len(kernels) // 8 or 1]],
        "by_kernel": _rows(by_kernel),
        "by_place": _rows(by_place),
    }


def place(told: dict[str, Any]) -> str:
    """Where a kernel comes from, of what XLA says of it: the path through the program without what all have."""
    path = str(told.get("tf_op") or told.get("name") or told.get("hlo_op") or "unknown")
    steps = [
        step for step in path.rstrip(":").split("/") if not re.match(r"(jit|pjit|closed_call|while|body|cond)\b", step)
    ]
    return "/".join(steps[-4:]) or "unknown"


def busy(spans: Iterable[tuple[float, float]]) -> float:
    """Seconds covered by at least one of (begin, length)."""
    total, end = 0.0, -float("inf")
    for begin, length in sorted(spans):
        total += max(0.0, begin + length - max(begin, end))
        end = max(end, begin + length)
    return total


def _rows(seconds: dict[str, list[float]]) -> list[dict[str, Any]]:
    dearest = sorted(seconds.items(), key=lambda item: -sum(item[1]))[:MOST]
    return [{"name": name, "seconds": round(sum(each), 6), "calls": len(each)} for name, each in dearest]


def main() -> None:
    """OUT.json, then fields of the config."""
    out, *given = sys.argv[1:]
    fields = dict(text.split("=", 1) for text in given)
    config = with_agent(preset(fields.pop("preset", "paper")), fields.pop("agent", "dcem"))
    values = {name.replace(".", "__"): _value(text) for name, text in fields.items()}
    enable_cache()
    report = bench_trace(change(config, **values))
    Path(out).write_text(json.dumps(report, indent=1))
    for table in ("by_kernel", "by_place"):
        for row in report[table][:25]:
            print(f"{row['seconds'] / report['kernel_seconds']:6.1%} {row['calls']:7d}  {row['name'][:140]}")
        print()
    print({name: report[name] for name in ("wall_seconds", "busy_seconds", "kernel_seconds", "kernels")})


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


if __name__ == "__main__":
    main()
