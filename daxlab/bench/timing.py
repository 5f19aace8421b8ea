"""Clocks and scales: the host's clock is read only when the device is done."""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax

from daxlab.compilation import empty_cache
from daxlab.errors import DaxlabError

QUEUE_SECONDS = 0.05
"""Shorter calls are queued behind one another and waited for together, so that the wait is not what is timed."""


def check(seconds: float, repeats: int) -> None:
    """Refuse a measurement of nothing."""
    if seconds <= 0 or repeats < 1:
        raise DaxlabError(f"seconds is {seconds} and repeats {repeats}; both must be more than 0")


def compile_program(function: Any, *arguments: Any, cold: bool = True) -> tuple[Any, dict[str, float | None]]:
    """The compiled program, and the seconds this took: from nothing, and as a second process would find it on disk.

    Cold is with an empty cache, so the writing of it is included; from cache is with all that JAX holds in memory
    dropped; both include tracing, which no cache saves. Without `cold` the cache that is configured is used, and the
    seconds are whatever that gives.
    """
    if not cold:
        compiled, trace, total = _compile(function, *arguments)
        return compiled, {"trace_seconds": round(trace, 2), "seconds": round(total, 2)}
    with empty_cache() as folder:
        jax.clear_caches()
        compiled, trace, total = _compile(function, *arguments)
        report = {"trace_seconds": round(trace, 2), "cold_seconds": round(total, 2), "from_cache_seconds": None}
        if any(folder.glob("*-cache")):
            jax.clear_caches()
            report["from_cache_seconds"] = round(_compile(function, *arguments)[2], 2)
    return compiled, report


def _compile(function: Any, *arguments: Any) -> tuple[Any, float, float]:
    begin = time.perf_counter()
    lowered = function.lower(*arguments)
    traced = time.perf_counter()
    compiled = lowered.compile()
    return compiled, traced - begin, time.perf_counter() - begin


def seconds_a_turn(run: Callable[[Any], Any], state: Any, seconds: float, repeats: int) -> list[float]:
    """Seconds of `state, … = run(state)`, one figure a repeat, after one turn to warm up; every turn is waited for."""
    state = jax.block_until_ready(run(state))[0]
    figures = []
    for _ in range(repeats):
        turns, begin = 0, time.perf_counter()
        while (passed := time.perf_counter() - begin) < seconds or not turns:
            state = jax.block_until_ready(run(state))[0]
            turns += 1
        figures.append(passed / turns)
    return figures


def seconds_a_call(run: Callable[..., Any], arguments: tuple[Any, ...], seconds: float, repeats: int) -> list[float]:
    """Seconds of `run(*arguments)`, one figure a repeat, after a call to warm up."""
    jax.block_until_ready(run(*arguments))
    begin = time.perf_counter()
    jax.block_until_ready(run(*arguments))
    queued = max(1, int(QUEUE_SECONDS / max(time.perf_counter() - begin, 1e-6)))
    figures = []
    for _ in range(repeats):
        calls, begin = 0, time.perf_counter()
        while (passed := time.perf_counter() - begin) < seconds or not calls:
            for _ in range(queued):
                result = run(*arguments)
            jax.block_until_ready(result)
            calls += queued
        figures.append(passed / calls)
    return figures


def rates(steps: int, figures: list[float]) -> dict[str, Any]:
    """Steps a second: the median and the spread."""
    each = [steps / figure for figure in figures]
    return {"steps_per_second": round(statistics.median(each)), "spread": [round(min(each)), round(max(each))]}


def program_bytes(compiled: Any) -> int | None:
    """What a program needs while it runs, by XLA's own account: arguments, results and scratch."""
    used = compiled.memory_analysis()
    if used is None:
        return None
    return int(
        used.argument_size_in_bytes
        + used.output_size_in_bytes
        + used.temp_size_in_bytes
        + used.generated_code_size_in_bytes
        - used.alias_size_in_bytes
    )


def peak_bytes() -> dict[str, Any]:
    """The most memory in use since the process began: the device's, or where it does not say, the process's own."""
    stats = jax.devices()[0].memory_stats()
    if stats and "peak_bytes_in_use" in stats:
        return {"peak_bytes": int(stats["peak_bytes_in_use"]), "peak_of": "device"}
    try:
        import resource
    except ImportError:
        return {"peak_bytes": None, "peak_of": "unknown"}
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"peak_bytes": most if sys.platform == "darwin" else 1024 * most, "peak_of": "process"}


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    device = jax.devices()[0]
    return {"device": device.device_kind, "backend": jax.default_backend(), "jax": jax.__version__}


def write(out: Path | None, report: dict[str, Any]) -> None:
    """The report as a file, whole or not at all; nothing without a file."""
    if out is None:
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    part = out.with_name(out.name + ".part")
    part.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n")
    os.replace(part, out)
