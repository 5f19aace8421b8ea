"""Steps a second of every level, each beside the three-object room in the same minutes: `daxlab bench levels`.

A machine's speed changes with what else it does, so the two play in turns and only their ratio is trusted.
"""

from __future__ import annotations

import datetime
import os
import statistics
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import jax

from daxlab.bench import timing
from daxlab.bench.world import CHUNK, prepare
from daxlab.levels import measured
from daxlab.levels.env import Env, Rooms
from daxlab.levels.registry import get
from daxlab.levels.spec import Level

ROOM = "architecture_comparison/fast_map_three_objs"
"""What the others are compared with."""


def bench_levels(
    levels: Iterable[Level],
    rooms: int,
    seconds: float,
    repeats: int,
    say: Callable[[str], None] = lambda line: None,
    file: Path | None = None,
) -> list[dict[str, Any]]:
    """Random play with each level's own pictures: steps a second, over the room's, and that for each object.

    With a `file`, figures are kept there by level as they come, and levels whose figures are of this very code and
    these very numbers are skipped.
    """
    timing.check(seconds, repeats)
    about = {"rooms": rooms, "seconds": seconds, "repeats": repeats, "commit": measured.commit(), **timing.machine()}
    about |= {"cores": len(os.sched_getaffinity(0)), "beside": ROOM}
    beside, table = None, []
    for level in levels:
        mark = about | {"picture": list(level.picture), "spec": measured.fingerprint(level)}
        if file and mark.items() <= measured.read(file).get(level.name, {}).items():
            continue
        beside = beside or turns(get(ROOM), rooms)
        row = compare(turns(level, rooms), beside, seconds, repeats)
        row["per_object"] = round(row["ratio"] * level.num_objects / get(ROOM).num_objects, 3)
        table.append({"level": level.name, "objects": level.num_objects, **row})
        if file:
            measured.keep(file, level, mark | {"date": datetime.date.today().isoformat()} | row)
        fast = f"{row['steps_per_second']:,} steps/s, {row['ratio']} of the room's"
        say(f"{level.name}: {fast}, {row['per_object']} for each object")
    return table


def turns(level: Level, rooms: int) -> Callable[[float], float]:
    """A function that plays on for so many seconds and says how many steps a second that was."""
    play, carry, _ = prepare(Rooms(Env(level), rooms), pixels=True)
    kept = [carry]

    def turn(seconds: float) -> float:
        done, begin = 0, time.perf_counter()
        while (passed := time.perf_counter() - begin) < seconds or not done:
            kept[0] = jax.block_until_ready(play(kept[0]))
            done += CHUNK * rooms
        return done / passed

    return turn


def compare(
    one: Callable[[float], float], other: Callable[[float], float], seconds: float, repeats: int
) -> dict[str, Any]:
    """Steps a second of both, in turns; the ratio is the median of the pairs' own."""
    pairs = [(one(seconds), other(seconds)) for _ in range(repeats)]
    ratios = [a / b for a, b in pairs]
    return {
        "steps_per_second": round(statistics.median(a for a, _ in pairs)),
        "beside_steps_per_second": round(statistics.median(b for _, b in pairs)),
        "ratio": round(statistics.median(ratios), 3),
        "spread": [round(min(ratios), 3), round(max(ratios), 3)],
    }
