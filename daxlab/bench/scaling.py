"""How speed changes with rooms, unroll, minibatch, memory, agent, objects and triangles, one at a time.

from daxlab.bench.scaling import scaling
scaling(280, "scaling.json")
scaling(280, "scaling.json")      # goes on with what the first had no time for
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from daxlab.agents.config import CORES
from daxlab.bench import timing
from daxlab.bench.train import MODES, make_program, measure, sizes
from daxlab.errors import DaxlabError
from daxlab.learning.config import TrainConfig, change, preset, to_json, with_agent
from daxlab.levels.cast import meshes, things
from daxlab.levels.env import Env, Rooms
from daxlab.levels.spec import Level

ROOMS = (256, 512, 1024, 2048, 4096, 8192)
UNROLLS = (16, 32, 64, 128)
MINIBATCHES = (32, 64, 128, 256, 512)
MEMORIES = (100, 1024)
FRACTIONS = (0.25, 1.0)
OBJECTS = (1, 3, 6, 12)


class Point(NamedTuple):
    """One line of the table."""

    name: str
    config: TrainConfig
    modes: tuple[str, ...]
    level: Level
    """The config's, or one with other objects."""


def base() -> TrainConfig:
    """The paper's agent as one GPU likes it: what all lines of the table differ from in one thing."""
    options = {"agent__vision__dtype": "bfloat16", "decode_fraction": 0.25}
    return change(preset("paper"), rooms=2048, unroll=64, minibatch=128, **options)


def points(config: TrainConfig) -> list[Point]:
    """The lines of the table, those first that matter most."""
    own = config.agent.core
    others = [(f"agent {core}", with_agent(config, core)) for core in CORES if core != own]
    return [
        Point("base", config, MODES, config.spec),
        *(Point(name, each, ("acting", "learning"), each.spec) for name, each in others),
        *_changed("memory", config, "agent__memory__size", MEMORIES, ("acting", "learning")),
        *_changed("rooms", config, "rooms", ROOMS, ("learning",)),
        *_changed("minibatch", config, "minibatch", MINIBATCHES, ("learning",)),
        *_changed("unroll", config, "unroll", UNROLLS, ("learning",)),
        *_changed("decoded", config, "decode_fraction", FRACTIONS, ("learning",)),
        *(Point(name, config, ("pixels",), level) for name, level in worlds(config.spec)),
    ]


def _changed(
    name: str, config: TrainConfig, field: str, values: tuple[float, ...], modes: tuple[str, ...]
) -> Iterator[Point]:
    """The config with one field at each of the values that it does not have already and that fit its others."""
    for value in values:
        try:
            changed = change(config, **{field: value})
        except DaxlabError:
            continue
        if changed != config:
            yield Point(f"{name} {value}", changed, modes, changed.spec)


def worlds(level: Level) -> Iterator[tuple[str, Level]]:
    """The level with other numbers of objects, and with those of the fewest and of the most triangles."""
    for count in OBJECTS:
        if count != level.num_objects:
            try:
                yield f"objects {count}", replace(level, num_objects=count)
            except DaxlabError:
                continue
    ordered = sorted(level.objects, key=lambda name: _faces(level, name))
    yield "triangles few", replace(level, objects=tuple(ordered[: level.num_objects]))
    yield "triangles many", replace(level, objects=tuple(ordered[-level.num_objects :]))


def _faces(level: Level, name: str) -> float:
    """Triangles of an object; of a class, on average."""
    first = int(meshes(level)[level.objects.index(name)])
    return float(things(level).face_count[first : first + max(level.exemplars, 1)].mean())


def scaling(
    budget_seconds: float,
    out: str | Path,
    config: TrainConfig | None = None,
    *,
    workers: int | None = None,
    seconds: float = 1.0,
    repeats: int = 2,
) -> dict[str, Any]:
    """Measure as many lines as the time allows, writing the table to `out` after each; lines it has already are kept.

    As many lines as there are `workers` (3; on a CPU 1) are compiled side by side and then timed one by one, with
    nothing else running. A line that fails says so and the rest goes on.
    """
    timing.check(seconds, repeats)
    end = time.monotonic() + budget_seconds
    config, out = config or base(), Path(out)
    report = _begun(out, config)
    workers = workers or (1 if jax.default_backend() == "cpu" else 3)
    # What is set up at the first picture of a process is set up here, not by several threads at once.
    jax.eval_shape(Env(config.level).reset, jax.random.key(0))
    longest = 0.0
    while (todo := _todo(report, config)) and time.monotonic() + longest < end:
        begin = time.monotonic()
        for line in _measure(todo[:workers], workers, seconds, repeats, end):
            report["lines"].append(line)
            timing.write(out, report)
        longest = max(longest, time.monotonic() - begin)
    report["left_out"] = [point.name for point in _todo(report, config)]
    timing.write(out, report)
    return report


def _todo(report: dict[str, Any], config: TrainConfig) -> list[Point]:
    done = {line["name"] for line in report["lines"]}
    return [point for point in points(config) if point.name not in done]


def _measure(some: list[Point], workers: int, seconds: float, repeats: int, end: float) -> Iterator[dict[str, Any]]:
    """Compile side by side, then time one after another as long as there is time."""
    with ThreadPoolExecutor(workers) as pool:
        ready = {(point.name, mode): pool.submit(_compile, point, mode) for point in some for mode in point.modes}
    for point in some:
        if time.monotonic() > end:
            return
        line = _describe(point)
        for mode in point.modes:
            try:
                compiled, rooms, compile_seconds = ready.pop((point.name, mode)).result()
                state = make_program(mode, point.config, rooms).state
                if mode in ("acting", "learning"):
                    line |= sizes(state)
                line["modes"][mode] = measure(compiled, state, point.config, seconds, repeats)
                line["modes"][mode]["compile_seconds"] = compile_seconds
            except Exception as error:
                # One that is too large for the device must not cost the others.
                line["failed"] = f"{mode}: {(str(error).strip() or repr(error)).splitlines()[0][:200]}"
            compiled = state = None
        yield line


def _compile(point: Point, mode: str) -> tuple[Any, Rooms, float]:
    """A program, compiled without holding its state: those of all lines together would fill the device."""
    rooms = Rooms(Env(point.level), point.config.rooms)
    program = make_program(mode, point.config, rooms)
    function, shape = program.function, jax.eval_shape(lambda x: x, program.state)
    del program
    begin = time.perf_counter()
    compiled = function.lower(shape).compile()
    return compiled, rooms, round(time.perf_counter() - begin, 1)


def _describe(point: Point) -> dict[str, Any]:
    config, level = point.config, point.level
    faces = [_faces(level, name) for name in level.objects]
    return {
        "name": point.name,
        "agent": config.agent.core,
        "memory": config.agent.memory.size,
        "rooms": config.rooms,
        "unroll": config.unroll,
        "minibatch": config.minibatch,
        "decoded": config.decode_fraction,
        "objects": level.num_objects,
        "triangles": round(float(np.mean(faces)) * level.num_objects),
        "modes": {},
    }


def _begun(out: Path, config: TrainConfig) -> dict[str, Any]:
    """The table so far; it must have been begun with the same config."""
    fresh = {**timing.machine(), "base": json.loads(json.dumps(to_json(config))), "lines": [], "left_out": []}
    if not out.exists():
        return fresh
    try:
        old = json.loads(out.read_text())
        same = old["base"] == fresh["base"] and isinstance(old["lines"], list)
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise DaxlabError(f"{out} exists and is no table of this function; choose another file") from error
    if not same:
        raise DaxlabError(f"{out} was begun with another config; choose another file")
    return old
