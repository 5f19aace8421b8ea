"""Several seeds of one config in one program: small networks leave a GPU mostly idle.

Each is a run of its own, with a folder, a log and checkpoints as if it had been alone; it goes on alone, or with others
that are as far.

    train_together([change(config, seed=seed) for seed in range(3)], ["runs/0", "runs/1", "runs/2"], budget=540)
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from daxlab.compilation import enable_cache
from daxlab.errors import DaxlabError
from daxlab.learning.config import TrainConfig, change
from daxlab.learning.loop import make_update
from daxlab.learning.progress import Progress
from daxlab.learning.run import Run, check_free, interruptions, new_folder, read_config, repeats_of


def train_together(
    configs: Sequence[TrainConfig] | None,
    folders: Sequence[str | Path],
    *,
    budget: float | None = None,
    quiet: bool = False,
) -> None:
    """Train in new folders or, without configs, go on in old ones; ended by `budget`, Ctrl-C or SIGTERM, each saved."""
    began = time.monotonic()
    enable_cache()
    places = [Path(folder) for folder in folders]
    resuming = configs is None
    wanted = [read_config(place) for place in places] if configs is None else list(configs)
    if len(wanted) != len(places) or not wanted:
        raise DaxlabError(f"there are {len(wanted)} configs and {len(places)} folders; as many of each are needed")
    if len({change(config, seed=0) for config in wanted}) > 1:
        raise DaxlabError("runs that train together may differ in their seeds only")
    if not resuming:
        for place in places:
            check_free(place)
        for config, place in zip(wanted, places, strict=True):
            new_folder(place, config)
    progress = Progress(wanted[0].steps, quiet)
    try:
        runs = [
            Run(config, place, "exact", Progress(config.steps, quiet=True), "daxlab train --resume", resuming)
            for config, place in zip(wanted, places, strict=True)
        ]
        _go(runs, progress, math.inf if budget is None else began + budget)
    finally:
        progress.close()


def _go(runs: list[Run], progress: Progress, deadline: float) -> None:
    """As `Run.go`, of all of them at once."""
    first = runs[0]
    config = first.config
    if len({run.updates for run in runs}) > 1:
        told = ", ".join(f"{run.folder} has {run.steps}" for run in runs)
        raise DaxlabError(f"runs that train together must have as many steps behind them; {told}")
    if first.updates >= config.updates:
        raise DaxlabError(f"{first.folder} and the others are trained to their end, {first.steps} steps")
    log_updates = max(1, config.log_steps // config.steps_per_update)
    repeats = repeats_of(config, log_updates)
    states = jax.tree.map(lambda *each: jnp.stack(each), *(run.state for run in runs))
    with interruptions() as stopped:
        with progress.doing("compiling"):
            one = make_update(config, first.rooms, repeats)
            update = jax.jit(jax.vmap(one), donate_argnums=0).lower(states).compile()
        saved_at = time.monotonic()
        slowest = saving = 0.0
        while first.updates < config.updates and not stopped:
            begin = time.perf_counter()
            states, told = update(states)
            told = jax.device_get(told)
            call = time.perf_counter() - begin
            slowest = max(slowest, call)
            for i, run in enumerate(runs):
                run.count({name: value[i] for name, value in told.items()}, repeats, call)
                if run.updates % log_updates == 0:
                    run.write_line()
            rate = repeats * config.steps_per_update / call
            left = min((config.steps - first.steps) / rate, deadline - time.monotonic())
            progress.show(first.steps, rate, first.latest_line(), left)
            if time.monotonic() + slowest + 2 * saving + 2 > deadline:
                stopped.append("time is up")
            if time.monotonic() - saved_at > 60 * config.save_minutes:
                saving = _save(runs, states)
                saved_at = time.monotonic()
        _save(runs, states)


def _save(runs: list[Run], states: Any) -> float:
    """Write each run's checkpoint; returns how long that took."""
    begin = time.monotonic()
    for i, run in enumerate(runs):
        run.state = jax.tree.map(lambda x, i=i: x[i], states)
        run.save()
    return time.monotonic() - begin
