"""The paper's tables as data, runs of them that are killed, and what is said of them."""

import dataclasses
import errno
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from daxlab.cli import main
from daxlab.errors import DaxlabError
from daxlab.experiments import chance, claims, cluster, figures, findings, grid, report, runner
from daxlab.experiments.claims import Told
from daxlab.experiments.grid import Cell
from daxlab.experiments.paper import EXPERIMENTS, experiment
from daxlab.experiments.scales import DESK_MEMORY, SCALES, scale
from daxlab.experiments.statistics import Mean
from daxlab.learning.config import change
from daxlab.levels.registry import get
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
    twenty = grid.cell_of(scale("lite"), of, of.condition("|G| = 20"), 0)
    reads = experiment("reads")
    same = grid.cell_of(scale("lite"), reads, reads.condition("objects, k = 8"), 0)
    assert (twenty.key, twenty.tests) == (same.key, same.tests)
    other = grid.cell_of(scale("lite"), reads, reads.condition("objects, k = 4"), 0)
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
    result = grid.load(whole)
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


def test_a_full_disk_loses_nothing(whole, tmp_path, monkeypatch):
    again = dataclasses.replace(whole, results=tmp_path)

    def full(path, text):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(grid, "write_whole", full)
        with pytest.raises(DaxlabError, match="No space left on device"):
            grid.run(again, quiet=True)
    assert grid.state(again).what == "unfinished"
    monkeypatch.setattr(grid, "train", None)
    grid.run(again, quiet=True)
    assert told(again) == told(whole)


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


# --- what is said -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "ours", "verdict"),
    [
        (Told(value=0.98), None, findings.NOT_RUN),
        (Told(value=0.98), Mean(0.95, 0.94, 0.96, 3), findings.REPRODUCED),
        (Told(value=0.98), Mean(0.91, 0.90, 0.92, 3), findings.NOT),
        (Told(value=0.33), Mean(0.50, 0.45, 0.55, 3), findings.NOT),
        (Told(least=0.9), Mean(0.91, 0.5, 1.0, 3), findings.REPRODUCED),
        (Told(least=0.9), Mean(0.89, 0.5, 1.0, 3), findings.NOT),
        (Told(most=0.5), Mean(0.51, 0.5, 1.0, 3), findings.NOT),
        (Told(words="better"), Mean(0.51, 0.5, 1.0, 3), ""),
        (Told(words="better"), Mean(0.51, 0.51, 0.51, 1), ""),
        (Told(value=0.98), Mean(0.98, 0.98, 0.98, 1), findings.FEW),
        (Told(least=0.9), Mean(0.98, 0.98, 0.98, 1), findings.FEW),
        (Told(most=0.5), Mean(0.98, 0.98, 0.98, 1), findings.FEW),
    ],
)
def test_verdicts(said, ours, verdict):
    assert findings.verdict(said, ours) == verdict


@pytest.fixture
def made_up(tmp_path):
    """Results of one table, partly there: two conditions, one of them with a single seed and one broken."""
    at, of = scale("desk"), experiment("architectures")
    for name, values in {"DCEM mem=1024 + R": [0.97, 0.99], "LSTM": [0.33, 0.35], "DCEM mem=1024": [0.3]}.items():
        for seed, value in enumerate(values):
            run = grid.cell_of(at, of, of.condition(name), seed, tmp_path)
            run.result.parent.mkdir(parents=True, exist_ok=True)
            lines = [{"steps": s * 10**5, "seconds": s, "success": min(value, s / 10)} for s in range(1, 21)]
            run.curve.write_text("".join(json.dumps(line) + "\n" for line in lines))
            result = {"success": value, "steps": run.config.steps, "seconds": 20.0, "commit": "abc1234", "tests": {}}
            whole_result = result | {"machine": {"device": "a <GPU>"}, "config": grid.to_json(run.config)}
            run.result.write_text(json.dumps(whole_result))
    grid.cell_of(at, of, of.condition("LSTM"), 2, tmp_path).result.write_text("{")
    return tmp_path


def test_a_mixtures_curve_is_of_its_levels_and_not_of_their_episodes(tmp_path):
    of = experiment("fast_slow")
    run = grid.cell_of(scale("desk"), of, of.conditions[1], 0, tmp_path)
    weights = run.config.weights
    first, second, third = (f"{level.name}/success" for level in weights)
    log = [
        {"steps": 10, "success": 0.9, first: 1.0, second: 0.0, third: 1.0},
        {"steps": 20, "success": 1.0, first: 1.0, third: 1.0},
    ]
    run.curve.parent.mkdir(parents=True)
    run.curve.write_text("".join(json.dumps(line) + "\n" for line in log))
    share = list(weights.values())[1] / sum(weights.values())
    assert findings.in_training(run) == [
        log[0] | {"success": pytest.approx(1 - share)},
        {"steps": 20, first: 1.0, third: 1.0},
    ]


def test_a_report_of_partial_results(made_up):
    found = report.build([scale("desk")], made_up)
    one = found["desk"][0]
    rows = {row.name: row for row in one.rows}
    assert rows["DCEM mem=1024 + R"].verdict == findings.REPRODUCED
    assert rows["LSTM"].verdict == findings.REPRODUCED
    assert rows["DNC mem=1024"].verdict == findings.NOT_RUN
    assert rows["DCEM mem=1024"].verdict == findings.FEW
    assert [said for *_, said in one.orders] == [findings.REPRODUCED, findings.FEW, findings.NOT_RUN]
    assert one.orders[0][1] == 1
    assert len(one.refused) == 1
    assert "no result" in one.refused[0]
    page = report.page(found, made_up)
    for text in ("Table 1", "0.980", "not yet run", "seed-0.jsonl", "data:image/png;base64,", "no result"):
        assert text in page
    assert "src='http" not in page
    assert re.search(r"<td>abc1234</td><td>a &lt;GPU&gt;</td>.*seed-1\.json'.*seed-1\.jsonl'", page)
    assert "5 runs, with commits and machines" in page
    assert "1.10 M, 11 s" in page


def test_what_an_object_picked_at_random_comes_to_is_played_once_and_told(made_up, monkeypatch):
    at, of = scale("desk"), experiment("corridor")
    rows = [row for row in findings.finding(at, of, made_up).rows if row.name == findings.CHANCE]
    assert [(row.test, row.told.value, row.mean) for row in rows] == [("", 0.5, None), ("novel objects", 0.5, None)]
    monkeypatch.setattr(chance, "EPISODES", 60)
    said = []
    chance.play(at, of, made_up, said.append)
    assert len(said) == 2
    chance.play(at, of, made_up, said.append)
    assert len(said) == 2
    found = findings.finding(at, of, made_up)
    for row in (row for row in found.rows if row.name == findings.CHANCE):
        assert row.mean.low < 0.5 < row.mean.high
        assert row.mean.high - row.mean.low == pytest.approx(2 * 1.96 * np.sqrt(0.25 / 60), rel=0.1)
        assert row.verdict == ""
        assert "60 episodes" in report.columns(row, found)[5]
    assert findings.CHANCE in report.page({"desk": [found]}, made_up)


def test_an_agent_of_ours_is_told_from_the_papers():
    of = experiment("memory")
    agents = {
        at: {row.name: row.agent for row in findings.finding(scale(at), of, Path("nowhere")).rows} for at in SCALES
    }
    assert {told["DCEM, mem=20"] for told in agents.values()} == {"dcem_match", "dcem + R"}
    assert agents["paper"]["TransformerXL, mem=20"] == agents["desk"]["TransformerXL, mem=20"] == "gtrxl + R"


def test_the_tables_go_between_the_marks_of_a_page(made_up, tmp_path):
    doc = tmp_path / "results.md"
    doc.write_text("before\n")
    found = report.build([scale("desk")], made_up)
    with pytest.raises(DaxlabError, match="once each"):
        report.write_doc(doc, found)
    assert doc.read_text() == "before\n"
    doc.write_text(f"before\n{report.BEGIN}\nstale\n{report.END}\nafter\n")
    report.write_doc(doc, found)
    text = doc.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "stale" not in text
    assert "| LSTM | lstm | training | 0.33 (0.05) | 0.340 (" in text
    assert "| DCEM mem=1024 | dcem | training | 0.33 (0.02) | 0.300 | 0.300 |" in text
    assert "abc1234; a <GPU>" in text
    assert "Not yet run: number, novel," in text
    assert "](figures/desk-architectures.png)" in text
    pictures = [path.name for path in (tmp_path / "figures").iterdir()]
    assert pictures == ["desk-architectures.png"]
    assert (tmp_path / "figures" / pictures[0]).read_bytes().startswith(b"\x89PNG")


def test_commands_that_only_look(made_up, tmp_path, capsys):
    main(["paper", "list", "--results", str(made_up), "--json"])
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["architectures"]["desk"] == "5 of 33"
    main(["paper", "status", "architectures", "--results", str(made_up), "--work", str(tmp_path / "w"), "--json"])
    states = [row["state"] for row in json.loads(capsys.readouterr().out)]
    assert (states.count("finished"), states.count("refused"), states.count("new")) == (5, 1, 27)
    main(["paper", "report", "--results", str(made_up), "--out", str(tmp_path / "r.html"), "--scale", "desk"])
    assert "reproduced" in capsys.readouterr().out
    assert (tmp_path / "r.html").stat().st_size > 10_000


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_picture_shows_every_condition_and_every_test(name, made_up):
    of = experiment(name)
    picture = figures.draw(findings.finding(scale("desk"), of, made_up))
    assert picture.startswith(b"\x89PNG")
    shown = {condition for panel in of.panels for condition, _ in panel.shown}
    asked = {test for panel in of.panels for test in panel.tests}
    if of.panels:
        assert shown == {condition.name for condition in of.conditions}
        assert asked == {test.name for condition in of.conditions for test in condition.tests}


@pytest.mark.parametrize("name", ["architectures", "categories", "corridor"])
def test_the_papers_values_are_named_once(name, made_up, monkeypatch):
    """Also where it has none for the first of several tests."""
    seen = []
    monkeypatch.setattr(figures, "_head", lambda axes, panel: seen.append(axes))
    figures.draw(findings.finding(scale("desk"), experiment(name), made_up))
    assert [axes.get_legend_handles_labels()[1].count("the paper") for axes in seen] == [0, 1]


def test_a_panels_bars_are_its_own_conditions(made_up, monkeypatch):
    """Which bar is drawn where, and how high."""
    of = dataclasses.replace(
        experiment("architectures"),
        panels=(
            claims.Panel("one", (("LSTM", "short"), ("DCEM mem=1024 + R", "long")), (claims.TRAINING,)),
            claims.Panel("two", (("DNC mem=1024", "none"),), (claims.TRAINING,)),
        ),
    )
    seen = []
    monkeypatch.setattr(figures, "_head", lambda axes, panel: seen.append(axes))
    figures.draw(findings.finding(scale("desk"), of, made_up))
    assert [bar.get_height() for bar in seen[0].patches] == pytest.approx([0.34, 0.98])
    assert [text.get_text() for text in seen[0].get_xticklabels()] == ["short", "long"]
    assert [tuple(line.get_ydata()) for line in seen[0].lines if line.get_marker() == "D"] == [(0.33, 0.98)]
    assert not seen[1].patches


def test_orders_are_between_conditions_that_exist():
    of = experiment("slow")
    wrong = dataclasses.replace(of, orders=(claims.Order("LSTM", "GRU"),))
    with pytest.raises(DaxlabError, match="unknown condition"):
        findings.finding(scale("desk"), wrong)
