"""The runs of a grid as tasks of a Ray cluster.

Ray itself takes up a task whose worker died; the run then goes on from its last checkpoint. Results and work folders
must be on a disk that all workers share.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from daxlab.errors import DaxlabError, need
from daxlab.experiments import grid
from daxlab.experiments.ledger import Cell
from daxlab.experiments.runner import GO_ON, LOOK, RETRIES, Batch, Failures, Watch, batches, unfinished
from daxlab.learning.run import interruptions

ANSWER = 5.0
"""Seconds in which a cluster must answer; Ray itself would go on asking for minutes."""
SAVING = 60.0
"""Seconds that workers have to save when they are told to stop."""


def on_ray(
    cells: Sequence[Cell],
    cpus: float,
    gpus: float,
    address: str | None,
    budget: float | None,
    watch: Watch,
    together: int = 1,
) -> Failures:
    """Bring all to their end, each task with the resources asked for; a local cluster is started unless given one."""
    if cpus < 0 or gpus < 0 or cpus + gpus == 0:
        raise DaxlabError(f"cpus is {cpus} and gpus {gpus}; a run needs some of either, and neither is below 0")
    ray = _joined(address)
    failures = Failures()
    pending: dict[Any, Batch] = {}
    try:
        _check_resources(ray, cpus, gpus, local=address is None)
        task = ray.remote(num_cpus=cpus, num_gpus=gpus, max_retries=RETRIES, retry_exceptions=False)(_on_worker)
        # By the clock on the wall, as a task may wait long for its turn and begin on another host.
        deadline = None if budget is None else time.time() + budget
        with interruptions() as stopped:
            for batch in batches(cells, together):
                pending[task.remote(tuple(map(_absolute, batch)), deadline)] = batch
            while pending and not stopped:
                done, _ = ray.wait(list(pending), timeout=LOOK)
                for reference in done:
                    batch = pending.pop(reference)
                    try:
                        refused = ray.get(reference)
                    except ray.exceptions.RayError as error:
                        refused = f"its worker died more than {RETRIES} times ({type(error).__name__})"
                    if refused:
                        failures.update(unfinished(batch, refused))
                watch(cells)
            if stopped and pending:
                for reference in pending:
                    ray.cancel(reference)
                ray.wait(list(pending), num_returns=len(pending), timeout=SAVING)
                print(GO_ON, flush=True)
    finally:
        ray.shutdown()
    return failures


def _joined(address: str | None) -> Any:
    """Ray, as a part of the cluster at that address."""
    try:
        import ray
    except ImportError as error:
        raise need("ray", "cluster") from error
    try:
        _check_answers(address)
        ray.init(address=address, log_to_driver=False, ignore_reinit_error=True, include_dashboard=False)
    except (ConnectionError, OSError, ValueError) as error:
        raise DaxlabError(
            f"no Ray cluster at {address}: {' '.join(str(error).split())}; an address is HOST:PORT, or auto on a "
            "machine of the cluster, and without one a local cluster is started"
        ) from error
    return ray


def _check_answers(address: str | None) -> None:
    host, _, port = (address or "").rpartition(":")
    if host and port.isdigit() and "/" not in host:
        socket.create_connection((host, int(port)), ANSWER).close()


def _check_resources(ray: Any, cpus: float, gpus: float, local: bool) -> None:
    """What no machine has would be waited for without end; a cluster may grow, a local one does not."""
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    if any(node.get("CPU", 0) >= cpus and node.get("GPU", 0) >= gpus for node in nodes):
        return
    most = ", ".join(f"{max((node.get(kind, 0) for node in nodes), default=0):g} {kind}s" for kind in ("CPU", "GPU"))
    said = f"no machine has the {cpus:g} CPUs and {gpus:g} GPUs that are asked for each run (there are up to {most})"
    if local:
        raise DaxlabError(f"{said}; ask for less with --cpus and --gpus")
    print(f"{said}; waiting for one that does", flush=True)


def _on_worker(batch: Batch, deadline: float | None) -> str:
    """Runs in a Ray worker; returns why one of them cannot be run, or nothing."""
    left = None if deadline is None else deadline - time.time()
    if left is not None and left <= 0:
        return ""
    try:
        grid.run_together(batch, left, quiet=True)
    except DaxlabError as error:
        return str(error)
    return ""


def _absolute(cell: Cell) -> Cell:
    """Workers have a working folder of their own."""
    return replace(cell, results=cell.results.resolve(), work=cell.work.resolve())
