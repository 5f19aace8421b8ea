"""A grid on a Ray cluster: what is asked of it, and how it stops. That a killed worker's run goes on: test_paper."""

import signal
import sys
import time
from types import SimpleNamespace

import pytest

from daxlab.errors import DaxlabError
from daxlab.experiments import cluster, grid, runner
from daxlab.experiments.ledger import Cell
from daxlab.learning.config import change
from daxlab.learning.logs import read
from tests.processes import running
from tests.small import small


def cell(folder, seed=0):
    config = change(small("lstm"), steps=24 * 10**6, log_steps=24 * 10, seed=seed, save_minutes=60.0)
    return Cell("desk", "tiny", seed, config, (), 8, folder / "results", folder / "work")


def test_a_grid_on_ray_that_is_told_to_stop_saves_its_runs_and_leaves_nobody_at_work(tmp_path):
    pytest.importorskip("ray")
    runs = [cell(tmp_path, seed) for seed in (0, 1, 2)]
    code = (
        "import sys; from daxlab.experiments import cluster, runner;"
        "cluster.on_ray(runner.from_text(sys.argv[1])[0], 1, 0, None, None, lambda cells: None)"
    )
    command = [sys.executable, "-c", code, runner.to_text(runs, None)]
    with running(command) as process:
        while not (begun := [run for run in runs if len(read(run.folder / "log.jsonl")) > 2]):
            time.sleep(0.05)
            assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert runner.GO_ON in process.communicate()[0]
        assert process.returncode == 0
    assert {grid.state(run).what for run in runs} <= {"unfinished", "new"}
    for run in begun:
        assert grid._updates(run.folder) > 0


def test_what_no_machine_has_is_not_waited_for(capsys):
    ray = SimpleNamespace(
        nodes=lambda: [
            {"Alive": True, "Resources": {"CPU": 2.0}},
            {"Alive": True, "Resources": {"CPU": 1.0, "GPU": 1.0}},
            {"Alive": False, "Resources": {"CPU": 64.0, "GPU": 8.0}},
        ]
    )
    cluster._check_resources(ray, 2, 0, local=True)
    cluster._check_resources(ray, 1, 0.1, local=True)
    for cpus, gpus in ((3, 0), (2, 1), (1, 2)):
        with pytest.raises(DaxlabError, match="up to 2 CPUs, 1 GPUs"):
            cluster._check_resources(ray, cpus, gpus, local=True)
    assert not capsys.readouterr().out
    cluster._check_resources(ray, 64, 0, local=False)
    assert "waiting for one that does" in capsys.readouterr().out


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nonsense"])
def test_a_cluster_that_is_not_there_is_named(address):
    pytest.importorskip("ray")
    with pytest.raises(DaxlabError, match=f"no Ray cluster at {address}"):
        cluster.on_ray([], 1, 0, address, None, lambda cells: None)


def test_the_budget_is_of_all_runs_however_late_one_begins(tmp_path, monkeypatch):
    given = []
    monkeypatch.setattr(grid, "run_together", lambda batch, budget, quiet: given.append(budget))
    assert cluster._on_worker((cell(tmp_path),), time.time() - 1) == ""
    assert not given
    cluster._on_worker((cell(tmp_path),), time.time() + 100)
    cluster._on_worker((cell(tmp_path),), None)
    assert given == [pytest.approx(100, abs=20), None]
