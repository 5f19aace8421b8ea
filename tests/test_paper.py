"""The paper's tables as data, and runs of them that are killed. What is said of them: test_report."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from daxlab.cli import main
from daxlab.errors import DaxlabError
from daxlab.experiments import cluster, findings, grid, ledger, runner
from daxlab.experiments.ledger import Cell
from daxlab.experiments.paper import EXPERIMENTS, experiment
from daxlab.experiments.scales import DESK_MEMORY, SCALES, scale
from daxlab.learning.config import change
from daxlab.levels.registry import get
from tests.disk import full_disk
from tests.processes import running
from tests.small import DESK, small

UPDATES = 400


def cell(tmp_path, seed=0, steps=24 * UPDATES, **options):
    config = change(small("lstm"), steps=steps, log_steps=24 * 100, seed=seed, save_minutes=0.01, **options)
    return Cell("desk", "tiny", seed, config, (DESK,), 8, tmp_path / "results", tmp_path / "work")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that nothing happened to."""
    done = cell(tmp_path_factory.mktemp("whole"))
    assert grid.run(done, quiet=True).what == "finished"
    return done


def told(of):
    """What a result says that does not depend on the clock."""
    result = json.loads(of.result.read_text())
    lines = [{k: v for k, v in line.items() if "second" not in k} for line in map(json.loads, of.curve.open())]
    return [result[name] for name in ("success", "steps", "tests", "config")], lines


# --- the data -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EXPERIMENTS)
@pytest.mark.parametrize("at", SCALES.values(), ids=lambda at: at.name)
def test_every_condition_can_be_trained_and_tested_at_every_scale(name, at, tmp_path):
    of = experiment(name)
    assert len({condition.name for condition in of.conditions}) == len(of.conditions)
    for condition in of.conditions:
        config = at.config(of, condition, 3)
        assert config.seed == 3
        for test in condition.tests:
            assert get(at.level(test.level)).actions == config.spec.actions
            assert get(at.level(test.level)).picture == config.spec.picture
    rows = findings.finding(at, of, tmp_path).rows
    assert {row.verdict for row in rows if row.name != findings.CHANCE} == {findings.NOT_RUN}


def test_a_condition_differs_from_the_next_in_what_it_says():
    of = experiment("architectures")
    lstm, again = (scale("paper").config(of, of.condition(name), 0) for name in ("LSTM", "LSTM + R"))
    assert (lstm.agent.reconstruction, again.agent.reconstruction) == (False, True)
    assert change(again, agent__reconstruction=False) == lstm
    assert (lstm.steps, lstm.rooms) == (10**9, 1024)
    for at, sizes in (("paper", (1024, 100)), ("desk", (DESK_MEMORY[1024], DESK_MEMORY[100]))):
        for name, size in zip(("DCEM mem=1024 + R", "DCEM mem=100 + R"), sizes, strict=True):
            config = scale(at).config(of, of.condition(name), 0)
            assert (config.agent.core, config.agent.memory.size) == ("dcem", size)


def test_the_best_agent_is_the_papers_at_the_papers_scale_alone():
    of = experiment("novel")
    cores = {at: scale(at).config(of, of.conditions[0], 0).agent.core for at in SCALES}
    assert cores == {"desk": "dcem_match", "lite": "dcem_match", "paper": "dcem"}


def test_a_config_that_two_tables_share_is_run_once_and_tested_for_both():
    of = experiment("novel")
    twenty = ledger.cell_of(scale("lite"), of, of.condition("|G| = 20"), 0)
    reads = experiment("reads")
    same = ledger.cell_of(scale("lite"), reads, reads.condition("objects, k = 8"), 0)
    assert (twenty.key, twenty.tests) == (same.key, same.tests)
    other = ledger.cell_of(scale("lite"), reads, reads.condition("objects, k = 4"), 0)
    assert other.key != same.key


def test_unknown_names_are_refused(capsys):
    for words, said in (
        (["run", "architecture"], "did you mean architectures"),
        (["run", "slow", "--scale", "dask"], "did you mean desk"),
        (["run", "slow", "--only", "LSTN"], "did you mean LSTM"),
        (["run", "slow", "--on", "roy"], "did you mean ray"),
        (["run", "slow", "--seeds", "0"], "at least 1"),
        (["run", "slow", "--jobs", "0"], "at least 1"),
        (["run", "slow", "--together", "0"], "at least 1"),
        (["run", "slow", "--jobs", "2", "--cpu-jobs", "-1"], "neither below 0"),
        (["run", "slow", "--on", "ray", "--jobs", "2"], "with --on ray say --cpus"),
        (["run", "slow", "--gpus", "1"], "say --on ray"),
        (["run", "slow", "--address", "auto"], "say --on ray"),
        (["run", "slow", "--on", "ray", "--cpus", "-1"], "neither is below 0"),
        (["run", "slow", "--on", "ray", "--cpus", "0"], "some of either"),
        (["report", "--results", "nowhere"], "no results in nowhere"),
        (["list", "--results", __file__], "is a file"),
        (["status", "--results", __file__], "is a file"),
    ):
        with pytest.raises(SystemExit) as stop:
            main(["paper", *words])
        assert stop.value.code == 2
        assert said in capsys.readouterr().err


# --- one run ------------------------------------------------------------------------------------------------------


def test_a_finished_run_is_never_run_again(whole, monkeypatch):
    before = whole.result.read_bytes(), whole.result.stat().st_mtime_ns
    monkeypatch.setattr(grid, "train", None)
    monkeypatch.setattr(grid, "evaluate", None)
    assert grid.run(whole, quiet=True).what == "finished"
    assert (whole.result.read_bytes(), whole.result.stat().st_mtime_ns) == before
    assert not runner.in_order([whole], None, quiet=True)
    result = ledger.load(whole)
    assert result["commit"]
    assert result["machine"]["platform"] == "cpu"
    assert result["tests"][DESK]["success"] == result["success"]


def test_a_run_that_stopped_before_it_saved_begins_anew(whole, tmp_path):
    half = cell(tmp_path)
    half.folder.mkdir(parents=True)
    (half.folder / "config.json").write_text((whole.folder / "config.json").read_text())
    (half.folder / "log.jsonl").write_text('{"steps": 99')
    assert grid.state(half).what == "unfinished"
    grid.run(half, quiet=True)
    assert told(half) == told(whole)


def test_what_is_of_another_config_is_refused_and_kept(whole, tmp_path):
    other = dataclasses.replace(whole, config=change(whole.config, agent__lstm=17))
    before = whole.result.read_bytes()
    assert grid.state(other).what == "refused"
    with pytest.raises(DaxlabError, match="another config"):
        grid.run(other, quiet=True)
    assert whole.result.read_bytes() == before
    longer = dataclasses.replace(whole, config=change(whole.config, steps=24 * 999))
    assert "another config" in grid.state(longer).why
    unfinished = dataclasses.replace(other, results=tmp_path)
    with pytest.raises(DaxlabError, match="another config"):
        grid.run(unfinished, quiet=True)
    more = dataclasses.replace(whole, tests=(DESK, "desk/slow"))
    assert "lacks the test 'desk/slow'" in grid.state(more).why


@pytest.mark.parametrize("text", ["", "{", "[]", '{"success": 1}', '{"config": {"level": 3}}'])
def test_a_broken_result_is_named_and_kept(whole, tmp_path, text):
    broken = dataclasses.replace(whole, results=tmp_path)
    broken.result.parent.mkdir(parents=True)
    broken.result.write_text(text)
    assert grid.state(broken).what == "refused"
    with pytest.raises(DaxlabError):
        grid.run(broken, quiet=True)
    assert broken.result.read_text() == text


def test_a_full_disk_loses_nothing(whole, tmp_path):
    again = dataclasses.replace(whole, results=tmp_path)
    with full_disk(100), pytest.raises(DaxlabError, match="File too large"):
        grid.run(again, quiet=True)
    assert grid.state(again).what == "unfinished"
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
    grid.run(again, quiet=True)
    assert told(again) == told(whole)


def test_a_run_that_the_disk_had_no_room_for_begins_anew(whole, tmp_path):
    first = cell(tmp_path)
    with full_disk():
        failures = runner.in_order([first], None, quiet=True)
    assert "cannot be written to" in failures[first.name]
    assert grid.state(first).what == "unfinished"
    assert not runner.in_order([first], None, quiet=True)
    assert told(first) == told(whole)


def test_two_workers_do_not_share_a_run(whole, tmp_path):
    mine = dataclasses.replace(whole, results=tmp_path)
    with grid._lock(mine), pytest.raises(DaxlabError, match="another worker"):
        grid.run(mine, quiet=True)
    assert grid.state(mine).what == "unfinished"


def test_a_result_names_every_commit_and_machine_that_was_at_its_run(whole, tmp_path, monkeypatch):
    again = dataclasses.replace(whole, results=tmp_path)
    marks = [grid._commits(whole), grid._machines(whole)]
    before = [mark.read_text() for mark in marks]
    for commit, device in (("aaaaaaa", "one"), ("bbbbbbb", "two"), ("aaaaaaa", "one")):
        monkeypatch.setenv(grid.COMMIT, commit)
        monkeypatch.setattr(grid, "machine", lambda device=device: {"device": device})
        grid._note(again)
    grid.run(again, quiet=True)
    for mark, text in zip(marks, before, strict=True):
        mark.write_text(text)
    result = json.loads(again.result.read_text())
    assert result["commit"].split(", ")[1:] == ["aaaaaaa", "bbbbbbb"]
    assert [at["device"] for at in result["machines"]][1:] == ["one", "two"]


# --- many runs ----------------------------------------------------------------------------------------------------


def kill_once_saved(of, killed):
    """Kill whoever is at this run, as soon as it has saved something."""
    while not list(of.folder.glob("checkpoints/exact-*")):
        time.sleep(0.005)
    pid = int(grid._lock_path(of).read_text())
    os.kill(pid, signal.SIGKILL)
    (of.folder / "mark").touch()
    killed.append((pid, max(int(path.name[6:]) for path in of.folder.glob("checkpoints/exact-*"))))


@pytest.mark.parametrize("how", ["processes", "ray"])
def test_a_killed_workers_run_goes_on_and_the_grid_completes(whole, tmp_path, how):
    if how == "ray":
        pytest.importorskip("ray")
    victim, other = cell(tmp_path), cell(tmp_path, seed=1, steps=24 * 100)
    killed = []
    thread = threading.Thread(target=kill_once_saved, args=(victim, killed))
    thread.start()
    seen = set()

    def watch(cells):
        seen.update((row["run"], row["state"]) for row in runner.table(cells))

    if how == "ray":
        failures = cluster.on_ray([victim, other], 1, 0, None, None, watch)
    else:
        failures = runner.side_by_side([victim, other], 2, None, watch)
    thread.join()
    assert not failures
    (pid, updates), *_ = killed
    assert pid != os.getpid()
    assert 0 < updates < UPDATES
    assert ("tiny seed 0", "running") in seen
    assert (victim.folder / "mark").exists(), "it began anew"
    assert grid.state(other).what == "finished"
    assert told(victim) == told(whole)


def test_a_grid_that_is_told_to_stop_saves_its_runs_and_leaves_nobody_at_work(tmp_path):
    runs = [cell(tmp_path, seed, steps=24 * UPDATES * 1000) for seed in (0, 1)]
    code = (
        "import sys; from daxlab.experiments import runner;"
        "runner.side_by_side(runner.from_text(sys.argv[1])[0], 2, None, lambda cells: None)"
    )
    command = [sys.executable, "-c", code, runner.to_text(runs, None)]
    with running(command) as process:
        while not all(list(run.folder.glob("checkpoints/exact-*")) for run in runs):
            time.sleep(0.01)
            assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert runner.GO_ON in process.communicate()[0]
        assert process.returncode == 0
    for run in runs:
        # Nobody holds its lock.
        assert grid.state(run).what == "unfinished"
        assert grid._updates(run.folder) > 0


def test_a_run_that_was_told_to_stop_is_the_last(whole, tmp_path, monkeypatch, capsys):
    tried = []
    monkeypatch.setattr(grid, "run_together", lambda of, *_: tried.append(of[0].seed) or [grid.State("unfinished")])
    assert not runner.in_order([cell(tmp_path), cell(tmp_path, seed=1)], None, quiet=True)
    assert tried == [0]
    assert runner.GO_ON in capsys.readouterr().out


def test_a_refused_run_does_not_stop_the_others(whole, tmp_path):
    bad = dataclasses.replace(whole, config=change(whole.config, agent__lstm=17))
    assert "another config" in runner.in_order([bad, whole], None, quiet=True)[bad.name]
    failures = runner.side_by_side([bad, whole], 2, None, lambda cells: None)
    assert "another config" in failures[bad.name]


@pytest.mark.parametrize(("cores", "jobs"), [({0, 1}, 2), ({2, 3, 5, 7, 8}, 2), ({4}, 3), (set(range(16)), 14)])
def test_workers_share_no_core(monkeypatch, cores, jobs):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: cores)
    shares = runner.shares(jobs)
    assert len(shares) == jobs
    assert max(map(len, shares)) - min(map(len, shares)) <= 1
    assert sorted(core for share in shares for core in share) == (sorted(cores) if len(cores) >= jobs else [])


def test_some_workers_leave_the_gpu_to_the_others_and_begin_at_the_end(tmp_path, monkeypatch):
    began = {}

    def worker(batch, budget, place):
        (of,) = batch
        began[of.seed] = place
        return subprocess.Popen(["sleep", "1"], stderr=subprocess.PIPE, text=True)

    monkeypatch.setattr(runner, "_worker", worker)
    runner.side_by_side([cell(tmp_path, seed) for seed in range(5)], 1, None, lambda cells: None, cpu_jobs=2)
    assert sorted(began) == [0, 1, 2, 3, 4]
    assert list(began)[:3] == [0, 4, 3]
    assert [began[seed].cpu_alone for seed in (0, 4, 3)] == [False, True, True]


def test_a_worker_on_the_processor_alone_sees_no_gpu(whole, monkeypatch):
    given = []
    monkeypatch.setattr(subprocess, "Popen", lambda command, env, **_: given.append((command[3:], env)))
    for cpu_alone in (False, True):
        runner._worker((whole,), None, runner.Place([1, 3], cpu_alone))
    (words, free), (_, bound) = given
    assert words[1:] == ["1", "3"]
    assert free.get("JAX_PLATFORMS") == os.environ.get("JAX_PLATFORMS")
    assert bound["JAX_PLATFORMS"] == "cpu"


def test_a_worker_stays_on_its_cores(whole):
    """One that is finished ends at once: its cores are seen from inside as it reads what to do."""
    core = max(os.sched_getaffinity(0))
    code = (
        "import os, sys; from daxlab.experiments import grid, runner;"
        "grid.run_together = lambda *given, **options: print(os.sched_getaffinity(0)); runner.main()"
    )
    for cores, seen in (([core], {core}), ([], os.sched_getaffinity(0))):
        command = [sys.executable, "-c", code, runner.to_text([whole], None), *map(str, cores)]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert said.strip() == str(seen)


def test_a_run_is_the_same_on_a_workers_command_line(whole):
    other = dataclasses.replace(whole, seed=1, config=change(whole.config, seed=1))
    assert runner.from_text(runner.to_text([whole, other], 3.5)) == ((whole, other), 3.5)


# --- seeds in one program -----------------------------------------------------------------------------------------


def test_seeds_of_a_config_are_grouped_and_finished_ones_left_out(whole, tmp_path):
    runs = [cell(tmp_path, seed) for seed in range(3)]
    others = [dataclasses.replace(run, key="other") for run in runs]
    mixed = [whole, runs[0], others[0], runs[1], others[1], runs[2], others[2]]
    assert runner.batches(mixed) == [(run,) for run in mixed[1:]]
    assert runner.batches(mixed, 2) == [tuple(runs[:2]), tuple(runs[2:]), tuple(others[:2]), tuple(others[2:])]
    with pytest.raises(DaxlabError, match="at least 1 seed"):
        runner.batches(mixed, 0)


def test_a_worker_on_the_processor_alone_takes_one_seed_of_a_group(tmp_path, monkeypatch):
    began = []

    def worker(batch, budget, place):
        began.append(([of.seed for of in batch], place.cpu_alone))
        return subprocess.Popen(["sleep", "1"], stderr=subprocess.PIPE, text=True)

    monkeypatch.setattr(runner, "_worker", worker)
    runs = [cell(tmp_path, seed) for seed in range(4)]
    assert not runner.side_by_side(runs, 1, None, lambda cells: None, cpu_jobs=1, together=2)
    assert began[:2] == [([0, 1], False), ([3], True)]
    assert sorted(seed for seeds, _ in began for seed in seeds) == [0, 1, 2, 3]


def test_together_finished_refused_and_new_runs_each_come_to_their_own_end(whole, tmp_path):
    """What seed 0 learns does not depend on who learns beside it; one that is refused stops no other."""
    fresh = [cell(tmp_path, seed) for seed in (0, 1)]
    bad = dataclasses.replace(whole, seed=2, results=tmp_path / "results", key="bad")
    bad.result.parent.mkdir(parents=True)
    bad.result.write_text("{")
    with pytest.raises(DaxlabError, match="no result"):
        grid.run_together([whole, bad, *fresh], quiet=True)
    assert [grid.state(run).what for run in (whole, bad, *fresh)] == ["finished", "refused", "finished", "finished"]
    assert bad.result.read_text() == "{"
    (numbers, lines), (alone, lines_alone) = told(fresh[0]), told(whole)
    assert numbers[1:2] + numbers[3:] == alone[1:2] + alone[3:]
    assert numbers[0] == pytest.approx(alone[0], abs=0.2)
    for line, same in zip(lines, lines_alone, strict=True):
        assert line["loss"] == pytest.approx(same["loss"], abs=0.05)
    result = json.loads(fresh[1].result.read_text())
    assert [at.get("together") for at in result["machines"]] == [2]
    assert told(fresh[1])[1] != lines
