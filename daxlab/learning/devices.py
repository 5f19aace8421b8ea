"""One run on several devices, of one process or of many.

Every device plays an equal part of the rooms and learns from its part of every minibatch; the weights are on all of
them and stay equal, since gradients are averaged before the optimiser sees them. `jax.distributed` connects processes,
one or more on each host: process 0 writes the run's folder, the others are silent, and all of them stop together.

    with joined("10.0.0.1:7007", processes=2, process=0):          # not needed for one process
        train(preset("room"), "runs/first", devices=take(8))       # eight of each process
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from math import gcd
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Int

from daxlab.errors import DaxlabError
from daxlab.levels.env import Rooms
from daxlab.levels.mixture import Mixture

AXIS = "devices"
"""The axis of the devices, inside of a program that all of them run."""
EVERYWHERE, DEALT = PartitionSpec(), PartitionSpec(AXIS)
"""The same on every device; dealt out to them along the first axis."""
FAREWELL = 2.0
"""Seconds for which process 0 outlives its own error: the others end with it, and may have something to say."""


def mean_over(tree: Any, axis: str | None) -> Any:
    """The mean over devices; of one it is what it has."""
    return tree if axis is None else jax.lax.pmean(tree, axis)


def sum_over(tree: Any, axis: str | None) -> Any:
    """The sum over devices."""
    return tree if axis is None else jax.lax.psum(tree, axis)


def place_on(axis: str | None) -> tuple[Int[Array, ""] | int, int]:
    """Which device this is, and of how many."""
    return (0, 1) if axis is None else (jax.lax.axis_index(axis), jax.lax.axis_size(axis))


def own_part(x: Array, axis: str | None, dimension: int = 0) -> Array:
    """This device's part of something that every device has drawn for all of them."""
    device, count = place_on(axis)
    size = x.shape[dimension] // count
    return jax.lax.dynamic_slice_in_dim(x, device * size, size, dimension)


@dataclass(frozen=True)
class Devices:
    """The devices of a run."""

    mesh: Mesh | None = None
    """None: one device, of one process."""

    @property
    def count(self) -> int:
        """How many, over all processes."""
        return 1 if self.mesh is None else self.mesh.size

    @property
    def axis(self) -> str | None:
        """The name of their axis in a program."""
        return None if self.mesh is None else AXIS

    @property
    def lead(self) -> bool:
        """Whether this process is the one that writes and speaks."""
        return self.mesh is None or jax.process_index() == 0

    def spread(self, function: Callable[..., Any], given: Any, back: Any) -> Callable[..., Any]:
        """The function run by each device on its part; `given` and `back`: how its arguments and its results lie."""
        if self.mesh is None:
            return function
        # Unchecked, for JAX knows nothing of the pictures' kernels; and so a gradient inside is the device's own.
        return jax.jit(jax.shard_map(function, mesh=self.mesh, in_specs=given, out_specs=back, check_vma=False))

    def everywhere(self, tree: Any) -> Any:
        """A tree of arrays that every process has, on all devices."""
        if self.mesh is None:
            return tree
        lying = NamedSharding(self.mesh, EVERYWHERE)
        return jax.tree.map(lambda x: _laid(np.asarray(x), lying), tree)

    def put(self, x: np.ndarray, like: Array) -> Array:
        """An array that every process has, lying as another of its shape does."""
        return jnp.asarray(x) if self.mesh is None else _laid(x, like.sharding)

    def whole(self, tree: Any) -> Any:
        """A tree of arrays as each process's own, parts of other processes included; all must ask for it."""
        if jax.process_count() == 1:
            return jax.device_get(tree)

        def gathered(x: Array) -> np.ndarray:
            return np.asarray(x if x.is_fully_replicated else multihost_utils.process_allgather(x, tiled=True))

        # One by one: all rooms together may be more than one device can hold.
        return jax.tree.map(gathered, tree)

    def any(self, *flags: bool) -> list[bool]:
        """Whether a flag is up in any process; all must ask for it."""
        return [any(row) for row in self.told(np.array(flags)).T]

    def told(self, values: np.ndarray) -> np.ndarray:
        """What each process tells all others, one row for each; all must tell something."""
        if self.mesh is None or jax.process_count() == 1:
            return values[None]
        return np.asarray(multihost_utils.process_allgather(values))

    def check_alike(self, text: str) -> None:
        """Refuse to begin where processes were told different things: they would wait for each other for ever."""
        digest = np.frombuffer(hashlib.sha256(text.encode()).digest(), np.int32)
        each = self.told(digest)
        if (each != each[0]).any():
            raise DaxlabError("the processes of this run were given different configs, checkpoints or --devices")

    def let_lead(self, function: Callable[[], None]) -> None:
        """Let process 0 do something; where it cannot, no process goes on."""
        failed: Exception | None = None
        if self.lead:
            try:
                function()
            except (DaxlabError, OSError) as error:
                failed = error
        if self.any(failed is not None)[0]:
            raise failed or DaxlabError("process 0 cannot go on, and says why")


ONE = Devices()


def _laid(x: np.ndarray, lying: Any) -> Array:
    return jax.make_array_from_callback(x.shape, lying, lambda index: x[index])


def take(count: int | None = None) -> Devices:
    """So many devices of each process; unless given all of its accelerators, or one where there are none."""
    if count is not None and count < 1:
        raise DaxlabError(f"devices is {count}; at least 1 is needed")
    if count is not None and count > 1:
        with suppress(RuntimeError):  # too late if JAX runs already: then there are as many as it has
            jax.config.update("jax_num_cpu_devices", count)
    processes = range(jax.process_count())
    found = [[device for device in jax.devices() if device.process_index == process] for process in processes]
    most = min(map(len, found))
    if count is None:
        count = 1 if jax.default_backend() == "cpu" else most
    if count > most:
        raise DaxlabError(f"devices is {count}, but there are only {most} of kind {jax.default_backend()!r} here")
    chosen = [device for devices in found for device in devices[:count]]
    return ONE if len(chosen) == 1 else Devices(Mesh(np.array(chosen), (AXIS,)))


def check_parts(rooms: Rooms | Mixture, minibatch: int, count: int) -> None:
    """Refuse a number of devices that cannot have equal parts of the rooms and of each minibatch."""
    most = gcd(rooms.most_parts, minibatch)
    if most % count:
        allowed = ", ".join(str(n) for n in range(1, most + 1) if most % n == 0)
        levels = "" if len(rooms.levels) == 1 else f" of {len(rooms.levels)} levels"
        raise DaxlabError(
            f"{count} devices cannot have equal parts of {rooms.count} rooms{levels} and of minibatches of {minibatch}"
            f"; with these there may be {allowed} devices"
        )


@contextmanager
def joined(coordinator: str | None, processes: int | None = None, process: int | None = None) -> Iterator[None]:
    """Be one of the processes of a run; without a coordinator, the only one.

    `coordinator` is HOST:PORT of process 0, where it listens, or "auto" for what JAX finds out by itself (Slurm, Open
    MPI and others). An error ends this process at once: an ordinary end would wait for the others.
    """
    if coordinator is None:
        if processes is not None or process is not None:
            raise DaxlabError("--processes and --process need --coordinator, the HOST:PORT of process 0")
        yield
        return
    _connect(coordinator, processes, process)
    try:
        yield
    except BaseException as error:
        _leave(error)
    jax.distributed.shutdown()


def _connect(coordinator: str, processes: int | None, process: int | None) -> None:
    if coordinator == "auto":
        try:
            jax.distributed.initialize()
        except (ValueError, RuntimeError) as error:
            raise DaxlabError(
                f"JAX finds no cluster here ({str(error).splitlines()[0]}); "
                "give --coordinator HOST:PORT, --processes and --process"
            ) from error
        return
    if not re.fullmatch(r"(\[[^\]]+\]|[^:\s]+):\d+", coordinator):
        raise DaxlabError(f"coordinator is {coordinator!r}; it is HOST:PORT of process 0, or auto")
    if processes is None or process is None or not 0 <= process < processes:
        raise DaxlabError(f"process is {process} of {processes}; give --processes N and --process 0…N-1")
    host = coordinator.rsplit(":", 1)[0]
    listen = coordinator if host in ("localhost", "127.0.0.1", "[::1]") else None
    try:
        jax.distributed.initialize(
            coordinator,
            processes,
            process,
            cluster_detection_method="deactivate",
            coordinator_bind_address=listen,
        )
    except RuntimeError as error:
        raise DaxlabError(
            f"process {process} of {processes} cannot meet the others at {coordinator} ({str(error).splitlines()[0]})"
        ) from error


def _leave(error: BaseException) -> None:
    """End this process, with its reason; the runtime tells the others."""
    code = 1
    if isinstance(error, DaxlabError):
        code = 2
        print(f"daxlab: {error}", file=sys.stderr)
    elif isinstance(error, jax.errors.JaxRuntimeError):
        print(f"daxlab: lost the other processes of this run ({str(error).splitlines()[0]})", file=sys.stderr)
        print("daxlab: start all of them again with --resume to go on from the last checkpoint", file=sys.stderr)
    elif isinstance(error, SystemExit):
        code = error.code if isinstance(error.code, int) else 1
    else:
        traceback.print_exception(error)
    sys.stdout.flush()
    sys.stderr.flush()
    if jax.process_index() == 0:
        time.sleep(FAREWELL)
    os._exit(code)
