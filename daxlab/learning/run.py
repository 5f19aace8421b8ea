"""A run: a folder that holds its config, its log, its curve and its checkpoints, and the program that fills it.

from daxlab.learning.config import preset
from daxlab.learning.run import train
train(preset("desk"), "runs/first", budget=540)
train(None, "runs/first", budget=540)           # goes on where it stopped
"""

from __future__ import annotations

import json
import math
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import jax
import numpy as np

from daxlab.agents.agent import Agent
from daxlab.compilation import enable_cache
from daxlab.errors import DaxlabError
from daxlab.learning import checkpoint
from daxlab.learning.checkpoint import Kind, Tensors
from daxlab.learning.config import TrainConfig, change, from_json, to_json
from daxlab.learning.devices import ONE, Devices, check_parts, take
from daxlab.learning.diagnostics import summarise_all
from daxlab.learning.logs import Line, Log, draw_curve, write_whole
from daxlab.learning.loop import TrainState, make_update, new_agent, start, start_actor
from daxlab.learning.progress import Progress
from daxlab.levels.env import Env
from daxlab.levels.mixture import make_rooms

CALL_STEPS = 2**18
"""Updates shorter than this many steps share one call of the device (not on a CPU: see `loop`)."""
BY_ROOM = (".actor.now", ".actor.memory", ".actor.notes")
"""What has one row for each room, in the order of the devices that play them; a checkpoint has the rooms' own."""
COUNTERS = "counters/"
"""Where a checkpoint keeps what the log has not told yet."""
UNTIL_LINES = 3
"""Lines of the log over which the success that ends a run is averaged."""
STOPPED = "stopped"
"""Why a run ended that somebody stopped, or another process of it."""
APART = 0.1
"""Nats: a learner whose policy is further than this from the one that acted with the same weights computes wrongly."""


def train(
    config: TrainConfig | None,
    folder: str | Path,
    *,
    budget: float | None = None,
    light: bool = False,
    steps: int | None = None,
    until: float | None = None,
    agent: Agent | None = None,
    devices: Devices | None = None,
    quiet: bool = False,
    resume_command: str = "daxlab train --resume",
) -> dict[str, Any]:
    """Train in a new folder or, without a config, go on in an old one; returns the log's last line and why it ended.

    `budget` is in seconds, compilation and saving included; `steps` replaces the config's. `until` is a success
    in training, averaged over the log's last three lines, at which to stop. `agent` is one to start from, trained
    elsewhere. `light` saves weights, optimiser, statistics, step and key only. Ctrl-C and SIGTERM save and stop.
    `devices` are those of `daxlab.learning.devices.take`: unless given all accelerators of this process, or one CPU.
    """
    if until is not None and not 0 < until <= 1:
        raise DaxlabError(f"until is {until}; a success is above 0 and at most 1")
    began = time.monotonic()
    folder = Path(folder)
    enable_cache()
    resuming = config is None
    config = read_config(folder) if config is None else config
    if steps is not None:
        config = change(config, steps=steps)
    if agent is not None:
        check_shape(agent, config)
    if devices is None:
        devices = take()
    check_parts(make_rooms(config.weights, config.rooms), config.minibatch, devices.count)
    devices.check_alike(f"{to_json(config)} {resuming} {light} {devices.count}")
    if not resuming:
        devices.let_lead(lambda: new_folder(folder, config))
    deadline = math.inf if budget is None else began + budget
    progress = Progress(config.steps, quiet or not devices.lead)
    kind: Kind = "light" if light else "exact"
    try:
        return Run(config, folder, kind, progress, resume_command, resuming, agent, devices).go(deadline, until)
    finally:
        progress.close()


class Run:
    """One run while it runs."""

    def __init__(
        self,
        config: TrainConfig,
        folder: Path,
        kind: Kind,
        progress: Progress,
        resume_command: str,
        resuming: bool,
        agent: Agent | None = None,
        devices: Devices = ONE,
    ) -> None:
        self.config, self.folder, self.kind, self.progress = config, folder, kind, progress
        self.devices = devices
        self.resume_command = f"{resume_command} {folder}"
        rooms = make_rooms(config.weights, config.rooms)
        self.order = rooms.dealt(devices.count)
        self.rooms = rooms.part(devices.count)
        self.sums: dict[str, float] = {}
        self.seconds = self.logged_seconds = self.logged_steps = 0.0
        self.saved: Path | None = None
        self.save_seconds = 1.0
        self.warned = False
        with progress.doing("making the rooms"):
            self.state = start(config, self.rooms, devices)
            if agent is not None:
                self.state = self.state._replace(agent=devices.everywhere(agent))
            if resuming:
                self.restore(latest(folder))
        self.updates = int(self.state.updates)
        devices.check_alike(f"{self.updates} updates")
        self.log = Log(folder, self.steps, silent=not devices.lead)

    @property
    def steps(self) -> int:
        """Steps of the world so far."""
        return self.updates * self.config.steps_per_update

    def go(self, deadline: float, until: float | None = None) -> dict[str, Any]:
        """Train to the end of the steps or of the time, to the success wanted, or until interrupted."""
        config = self.config
        log_updates = max(1, config.log_steps // config.steps_per_update)
        repeats = repeats_of(config, log_updates)
        if self.updates >= config.updates:
            raise DaxlabError(f"{self.folder} is trained to its end, {self.steps} steps; give more with --steps")
        with interruptions() as stopped:
            with self.progress.doing("compiling"):
                update = make_update(config, self.rooms, repeats, self.devices).lower(self.state).compile()
            saved_at = time.monotonic()
            slowest = 0.0
            [stop] = self.devices.any(bool(stopped))
            while self.updates < config.updates and not stop:
                call = self.update(update, repeats)
                slowest = max(slowest, call)
                if self.updates % log_updates == 0:
                    self.write_line()
                    if until is not None and reached(self.log.lines, until):
                        stopped.append(f"success has reached {until:g}")
                rate = repeats * config.steps_per_update / call
                left = min((config.steps - self.steps) / rate, deadline - time.monotonic())
                self.progress.show(self.steps, rate, self.latest_line(), left)
                if time.monotonic() + slowest + 2 * self.save_seconds + 2 > deadline:
                    stopped.append("time is up")
                stop, due = self.devices.any(bool(stopped), time.monotonic() - saved_at > 60 * config.save_minutes)
                if due:
                    self.save()
                    saved_at = time.monotonic()
            self.save()
        why = (stopped or [STOPPED])[0] if stop else "done"
        self.finish(why)
        return self.latest_line() | {"ended": why}

    def update(self, update: Any, repeats: int) -> float:
        """One call of the compiled program; returns its seconds."""
        begin = time.perf_counter()
        self.state, told = update(self.state)
        told = jax.device_get(told)
        call = time.perf_counter() - begin
        self.count(told, repeats, call)
        return call

    def count(self, told: dict[str, Any], repeats: int, seconds: float) -> None:
        """Add to what the log has not told yet."""
        self.updates += repeats
        self.seconds += seconds
        for name, value in told.items():
            self.sums[name] = self.sums.get(name, 0.0) + float(value)
        if not math.isfinite(self.sums["loss"] + self.sums["gradient"]):
            raise DaxlabError(f"the loss is not finite at step {self.steps}; {self.last_good()}")

    def last_good(self) -> str:
        """For the message of a run that went wrong."""
        return f"the last good checkpoint is {self.saved}" if self.saved else "there is no checkpoint yet"

    @contextmanager
    def on_disk(self) -> Iterator[None]:
        """A full disk, say, ends the run with a sentence; what it has saved is as it was."""
        try:
            yield
        except OSError as error:
            raise DaxlabError(f"{self.folder} cannot be written to ({error}); {self.last_good()}") from error

    def write_line(self) -> None:
        """Log what happened since the last line."""
        passed = max(self.seconds - self.logged_seconds, 1e-9)
        line: dict[str, Any] = {
            "steps": self.steps,
            "updates": self.updates,
            "seconds": round(self.seconds, 3),
            "steps_per_second": round((self.steps - self.logged_steps) / passed, 1),
        }
        line |= summarise_all(self.sums, self.rooms.levels, self.config.chance)
        with self.on_disk():
            self.log.write(line)
        if line.get("apart", 0.0) > APART and not self.warned:
            self.warned = True
            self.progress.say(
                f"warning: acting and learning differ by {line['apart']:.2f} nats with the same weights: "
                "the compiler got one of them wrong (docs/performance.md, 'When acting and learning differ')"
            )
        self.sums = {}
        self.logged_seconds, self.logged_steps = self.seconds, self.steps

    def latest_line(self) -> dict[str, Any]:
        """The log's last line, or what there is to say before the first."""
        return self.log.lines[-1] if self.log.lines else {"steps": self.steps}

    def save(self) -> None:
        """Write a checkpoint and the curve."""
        begin = time.monotonic()
        state = self.state if self.kind == "exact" else without_rooms(self.state)
        tensors = self.reordered(checkpoint.tensors_of(self.devices.whole(state)), np.argsort(self.order))
        for name, x in tensors.items():
            if name.startswith(".agent") and not np.isfinite(x).all():
                raise DaxlabError(f"{name} is not finite at step {self.steps}; {self.last_good()}")
        tensors |= {COUNTERS + name: np.array(value, np.float64) for name, value in self.counters().items()}
        with self.on_disk():
            self.devices.let_lead(lambda: self.write(tensors))
        self.save_seconds = time.monotonic() - begin

    def write(self, tensors: Tensors) -> None:
        """Write what `save` has gathered."""
        self.saved = checkpoint.save(self.folder / "checkpoints", self.kind, tensors, self.config, self.updates)
        title = f"{self.config.agent.core} on {self.config.title}"
        draw_curve(self.log.lines, self.folder / "curve.png", title, self.config.chance)

    def reordered(self, tensors: Tensors, order: np.ndarray) -> Tensors:
        """The tensors with their rooms in another order."""
        if len(self.rooms.levels) == 1:
            return tensors
        return {name: x[order] if name.startswith(BY_ROOM) else x for name, x in tensors.items()}

    def counters(self) -> dict[str, float]:
        """What the log has not told yet."""
        times = {"seconds": self.seconds, "logged_seconds": self.logged_seconds, "logged_steps": self.logged_steps}
        return times | {f"sums/{name}": value for name, value in self.sums.items()}

    def restore(self, path: Path) -> None:
        """Go on from a checkpoint."""
        loaded = load_for(path, self.config)
        tensors = self.reordered(loaded.tensors, self.order)
        self.state, rooms_too = restore_state(self.state, tensors, path, self.devices)
        if not rooms_too:
            key = jax.random.fold_in(jax.random.wrap_key_data(jax.device_get(self.state.key)), 1)
            actor = start_actor(self.rooms, self.state.agent, key, self.devices)
            self.state = self.state._replace(actor=actor._replace(averages=self.state.actor.averages))
        kept = {name[len(COUNTERS) :]: float(x) for name, x in loaded.tensors.items() if name.startswith(COUNTERS)}
        self.sums = {name[len("sums/") :]: value for name, value in kept.items() if name.startswith("sums/")}
        self.seconds, self.logged_seconds = kept["seconds"], kept["logged_seconds"]
        self.logged_steps = kept["logged_steps"]
        self.saved = path

    def finish(self, why: str) -> None:
        """What was done, and what to do next."""
        self.progress.say(f"{why} at {self.steps:,} steps; saved in {self.saved}")
        if self.updates < self.config.updates:
            self.progress.say(f"go on with: {self.resume_command}")


def check_shape(agent: Agent, config: TrainConfig) -> None:
    """Say so if the agent is not built like the one that the config asks for."""
    wanted = new_agent(config, Env(config.spec), jax.random.key(0))
    if jax.tree.map(np.shape, agent) != jax.tree.map(np.shape, wanted):
        raise DaxlabError(f"the weights are of another agent, or of other actions or pictures than {config.title} has")


def reached(lines: list[Line], success: float) -> bool:
    """Whether the log's last lines have this success on average; never while there are fewer than it takes."""
    last = [line.get("success", 0.0) for line in lines[-UNTIL_LINES:]]
    return len(last) == UNTIL_LINES and sum(last) / UNTIL_LINES >= success


def repeats_of(config: TrainConfig, log_updates: int) -> int:
    """Updates in one call: they divide what lies between two lines of the log."""
    if jax.default_backend() == "cpu":
        return 1
    most = max(1, CALL_STEPS // config.steps_per_update)
    return max(n for n in range(1, log_updates + 1) if log_updates % n == 0 and n <= most)


def without_rooms(state: TrainState) -> TrainState:
    """What a light checkpoint holds: agent, optimiser, statistics and averages, key and step."""
    return state._replace(actor=state.actor._replace(rooms=None, now=None, memory=None, notes=None))  # type: ignore[arg-type]


def restore_state(
    template: TrainState, tensors: Tensors, where: Path, devices: Devices = ONE
) -> tuple[TrainState, bool]:
    """The state in a checkpoint; False if it is a light one, whose rooms are the template's."""
    if any(name.startswith(".actor.rooms") for name in tensors):
        return checkpoint.restore(template, tensors, where, devices.put), True
    state = checkpoint.restore(without_rooms(template), tensors, where, devices.put)
    return state._replace(actor=template.actor._replace(averages=state.actor.averages)), False


def load_for(path: Path, config: TrainConfig) -> checkpoint.Loaded:
    """A checkpoint of this config, and of no other."""
    loaded = checkpoint.load(path)
    if loaded.fingerprint != config.fingerprint:
        raise DaxlabError(
            f"{path} was made with another config (fingerprint {loaded.fingerprint}, the run's is {config.fingerprint})"
        )
    return loaded


def latest(folder: Path) -> Path:
    """The newest checkpoint of a run; of two at the same step the exact one."""
    found = checkpoint.every(folder / "checkpoints")
    if not found:
        raise DaxlabError(f"{folder} has no checkpoint to go on from")
    return max(found, key=lambda path: (int(path.name[6:]), path.name.startswith("exact")))


def new_folder(folder: Path, config: TrainConfig) -> None:
    """Make the folder of a new run; one that holds something already is left alone."""
    check_free(folder)
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / "config.json", json.dumps(to_json(config), indent=2) + "\n")


def check_free(folder: Path) -> None:
    """Refuse a folder that holds something already."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise DaxlabError(f"{folder} exists already; choose another --out, or go on with --resume {folder}")


def read_config(folder: Path) -> TrainConfig:
    """The config of an old run."""
    path = folder / "config.json"
    try:
        return from_json(json.loads(path.read_text()))
    except FileNotFoundError as error:
        raise DaxlabError(f"{folder} is no run: it has no config.json") from error
    except (json.JSONDecodeError, TypeError, AttributeError) as error:
        raise DaxlabError(f"{path} is no config of daxlab ({error})") from error


@contextmanager
def interruptions() -> Iterator[list[str]]:
    """Ctrl-C and SIGTERM become a reason in the list; a second Ctrl-C is the usual one."""
    reasons: list[str] = []
    if threading.current_thread() is not threading.main_thread():
        yield reasons
        return

    def note(number: int, frame: FrameType | None) -> None:
        reasons.append(STOPPED)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield reasons
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
