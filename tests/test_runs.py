"""Run folders: what is in them, exact and light resume, and what happens to damaged or foreign ones."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from daxlab.errors import DaxlabError
from daxlab.learning import checkpoint, loop
from daxlab.learning.config import change
from daxlab.learning.evaluate import evaluate, export, load_agent
from daxlab.learning.logs import draw_curve, read
from daxlab.learning.progress import Progress
from daxlab.learning.run import STOPPED, Run, latest, train
from tests.disk import full_disk
from tests.small import small_preset

UPDATES = 7
TIMES = ("seconds", "steps_per_second")


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    """Equal programs are compiled once."""
    before = os.environ.get("DAXLAB_CACHE")
    os.environ["DAXLAB_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    yield
    os.environ.pop("DAXLAB_CACHE")
    if before is not None:
        os.environ["DAXLAB_CACHE"] = before


@pytest.fixture(scope="module")
def config():
    small = small_preset(rooms=4, unroll=6, minibatch=2)
    return change(small, log_steps=2 * 24, steps=UPDATES * 24)


@pytest.fixture(scope="module")
def whole(config, tmp_path_factory):
    """A run that nobody interrupted."""
    folder = tmp_path_factory.mktemp("runs") / "whole"
    train(config, folder, quiet=True)
    return folder


def tensors(folder):
    return checkpoint.load(latest(folder)).tensors


def log(folder):
    return [{k: v for k, v in line.items() if k not in TIMES} for line in read(folder / "log.jsonl")]


def copy(folder, tmp_path):
    return shutil.copytree(folder, tmp_path / "copy")


def same(a, b):
    a, b = tensors(a), tensors(b)
    assert a.keys() == b.keys()
    for name in a:
        if "seconds" not in name:
            np.testing.assert_array_equal(a[name], b[name], err_msg=name)


def test_what_a_run_leaves(whole):
    assert {"config.json", "log.jsonl", "curve.png", "checkpoints"} <= {path.name for path in whole.iterdir()}
    lines = log(whole)
    assert [line["updates"] for line in lines] == [2, 4, 6]
    assert {"entropy_discovery", "loss", "value_error", "gradient", "rho"} <= lines[0].keys()
    assert not [path for path in whole.rglob("*") if path.suffix in (".pkl", ".pickle", ".npy", ".npz")]


def test_the_log_says_how_far_learning_is_from_acting(config, whole):
    """Later minibatches move away from the policy that acted; the first has its weights and must have its policy."""
    assert config.rooms > config.minibatch
    for line in log(whole):
        assert 0 <= line["apart"] < 1e-4


def test_a_device_that_computes_wrongly_is_reported_once(config, tmp_path, capsys, monkeypatch):
    def act(*given, right=loop.act):
        actor, trajectory, told = right(*given)
        return actor, trajectory._replace(logits=trajectory.logits.at[..., 0].add(2.0)), told

    monkeypatch.setattr(loop, "act", act)
    train(change(config, steps=4 * 24), tmp_path / "run")
    assert len(log(tmp_path / "run")) == 2
    assert capsys.readouterr().out.count("warning: acting and learning differ by 0.") == 1


def test_resume_is_exact(config, whole, tmp_path):
    stop = random.randint(1, UPDATES - 1)
    folder = tmp_path / "stopped"
    train(change(config, steps=stop * 24), folder, quiet=True)
    assert log(folder) == log(whole)[: stop // 2]
    train(None, folder, steps=config.steps, quiet=True)
    same(folder, whole)
    assert log(folder) == log(whole)


def test_a_signal_saves_and_the_run_goes_on_exactly(config, whole, tmp_path, capsys):
    folder = tmp_path / "stopped"

    def interrupt():
        while not (folder / "log.jsonl").exists() or not (folder / "log.jsonl").stat().st_size:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=interrupt)
    thread.start()
    assert train(change(config, steps=10**6), folder)["ended"] == STOPPED
    thread.join()
    assert f"daxlab train --resume {folder}" in capsys.readouterr().out
    reached = checkpoint.load(latest(folder)).updates
    assert 2 <= reached < 10**6 // 24
    if reached < UPDATES:
        train(None, folder, steps=config.steps, quiet=True)
        same(folder, whole)


def test_a_log_that_ran_ahead_of_its_checkpoint_is_cut(config, whole, tmp_path):
    folder = tmp_path / "killed"
    train(change(config, steps=5 * 24), folder, quiet=True)
    with (folder / "log.jsonl").open("a") as file:
        file.write(json.dumps({"steps": 144, "success": 0.9}) + '\n{"steps": 1')
    (folder / "checkpoints" / ".unfinished-1").mkdir()
    (folder / "checkpoints" / ".unfinished-1" / "part-00.safetensors").write_bytes(b"half a fi")
    train(None, folder, steps=config.steps, quiet=True)
    same(folder, whole)
    assert log(folder) == log(whole)
    assert not list((folder / "checkpoints").glob(".unfinished*"))


def test_light_checkpoints_are_small_and_go_on(config, whole, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "PART_BYTES", 40_000)
    folder = tmp_path / "light"
    train(change(config, steps=2 * 24), folder, light=True, quiet=True)
    parts = sorted(latest(folder).iterdir())
    assert len(parts) > 1
    assert all(part.stat().st_size <= 16 * 2**20 for part in parts)
    loaded = checkpoint.load(latest(folder))
    assert not any(name.startswith(".actor") and "averages" not in name for name in loaded.tensors)
    for name in (".agent.statistics.mean", ".key", ".updates"):
        assert name in loaded.tensors
    train(None, folder, light=True, steps=4 * 24, quiet=True)
    assert [line["updates"] for line in log(folder)] == [2, 4]


def test_a_save_keeps_lifetime_averages_in_a_light_checkpoint_and_draws_the_curve(config, tmp_path):
    def run(resuming):
        return Run(config, tmp_path, "light", Progress(config.steps, quiet=True), "", resuming)

    first = run(resuming=False)
    means = [np.float32(3.5), np.float32(0.25)]
    averages = tuple(a._replace(mean=m, terms=m + 1) for a, m in zip(first.state.actor.averages, means, strict=True))
    first.state = first.state._replace(actor=first.state.actor._replace(averages=averages))
    first.save()
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert [(a.mean, a.terms) for a in run(resuming=True).state.actor.averages] == [(m, m + 1) for m in means]


def test_a_curve_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "curve.png"
    draw_curve([{"steps": 5, "success": 0.5}], path, "a", 0.3)
    before = path.read_bytes()
    with full_disk(), pytest.raises(OSError, match="File too large"):
        draw_curve([], path, "b", 0.3)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_ends_a_run_and_takes_nothing_that_it_had_saved(config, whole, tmp_path):
    folder = tmp_path / "run"
    with full_disk(), pytest.raises(DaxlabError, match=r"cannot be written to .*; there is no checkpoint yet"):
        train(config, folder, quiet=True)
    assert not list((folder / "checkpoints").iterdir())
    folder = tmp_path / "again"
    train(change(config, steps=3 * 24), folder, quiet=True)
    saved = latest(folder)
    with full_disk(), pytest.raises(DaxlabError, match=rf"cannot be written to .*checkpoint is {saved}"):
        train(None, folder, steps=config.steps, quiet=True)
    assert list((folder / "checkpoints").iterdir()) == [saved]
    train(None, folder, steps=config.steps, quiet=True)
    same(folder, whole)
    assert log(folder) == log(whole)


def test_a_full_disk_leaves_no_half_weights_file(whole, tmp_path):
    out = tmp_path / "weights.safetensors"
    export(whole, out)
    before = out.read_bytes()
    with full_disk(), pytest.raises(OSError, match="cannot be written"):
        export(whole, out)
    assert out.read_bytes() == before
    assert list(tmp_path.iterdir()) == [out]


def test_a_budget_ends_the_run(config, tmp_path):
    # A busy machine may need longer than the budget to compile: one update is the least that a run does.
    train(change(config, steps=10**9), tmp_path / "short", budget=15, quiet=True)
    assert checkpoint.load(latest(tmp_path / "short")).updates < 10**9 // 24


def test_a_reader_that_leaves_does_not_end_a_run(monkeypatch):
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as gone:
        monkeypatch.setattr(sys, "stdout", gone)
        progress = Progress(1)
        progress.say("to nobody")
        assert progress.quiet
        print("nor does this", flush=True)


def test_an_existing_folder_is_refused(config, whole):
    before = sorted((path.name, path.stat().st_mtime_ns) for path in whole.rglob("*"))
    with pytest.raises(DaxlabError, match="exists already"):
        train(config, whole)
    assert before == sorted((path.name, path.stat().st_mtime_ns) for path in whole.rglob("*"))


def test_a_finished_run_says_so(whole):
    with pytest.raises(DaxlabError, match="trained to its end"):
        train(None, whole, quiet=True)


@pytest.mark.parametrize("where", ["header", "middle", "cut", "empty"])
def test_damaged_weights_are_refused(whole, tmp_path, where):
    folder = copy(whole, tmp_path)
    part = latest(folder) / "part-00.safetensors"
    data = bytearray(part.read_bytes())
    if where == "header":
        data[20] ^= 0xFF
    elif where == "middle":
        data[len(data) * 3 // 4] ^= 0x01
    part.write_bytes({"cut": bytes(data[: len(data) // 2]), "empty": b""}.get(where, bytes(data)))
    for use in (lambda: load_agent(folder), lambda: train(None, folder, steps=10**4, quiet=True)):
        with pytest.raises(DaxlabError) as error:
            use()
        assert str(part) in str(error.value)


def test_a_missing_part_is_refused(config, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "PART_BYTES", 40_000)
    some = {f"x{i}": np.zeros(8_000, np.float32) for i in range(3)}
    path = checkpoint.save(tmp_path, "light", some, config, 1)
    assert len(list(path.iterdir())) == 3
    (path / "part-01.safetensors").unlink()
    with pytest.raises(DaxlabError, match="incomplete"):
        checkpoint.load(path)


def test_a_large_tensor_lies_in_several_files(config, tmp_path):
    rng = np.random.default_rng(0)
    saved = {
        "before": np.arange(5),
        "large": rng.random((3, 5, 2**19 + 1), np.float32),
        "bits": rng.integers(0, 2**16, (2**13, 2**11 + 3), np.uint16),
        "nothing": np.zeros((0, 4), np.float32),
        "after": np.array(0.1),
    }
    path = checkpoint.save(tmp_path, "light", saved, config, 1)
    files = list(path.iterdir())
    assert len(files) >= 5
    assert all(file.stat().st_size <= 16 * 2**20 for file in files)
    loaded = checkpoint.load(path).tensors
    assert loaded.keys() == saved.keys()
    for name, x in saved.items():
        assert loaded[name].dtype == x.dtype
        np.testing.assert_array_equal(loaded[name], x)


@pytest.mark.parametrize("damage", ["cut", "missing", "tampered", "another save", "another shape", "no shape"])
def test_a_damaged_piece_of_a_large_tensor_is_refused(config, tmp_path, monkeypatch, damage):
    monkeypatch.setattr(checkpoint, "PART_BYTES", 40_000)
    path, other = (checkpoint.save(tmp_path, "light", {"x": np.full((300, 100), n)}, config, n) for n in (1, 2))
    files = sorted(path.iterdir())
    assert len(files) == 6
    middle = files[2]
    data = middle.read_bytes()
    if damage == "cut":
        middle.write_bytes(data[:-1])
    elif damage == "missing":
        middle.unlink()
    elif damage == "tampered":
        middle.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    elif damage == "another save":
        shutil.copy(other / middle.name, middle)
    else:
        shape = {"another shape": '{"x": [300, 101]}', "no shape": '{"x": '}[damage]
        for file in files:
            notes = checkpoint._read(file)[1]
            save_file(load_file(file), file, metadata=notes | {"cut": shape})
    with pytest.raises(DaxlabError) as error:
        checkpoint.load(path)
    assert str(path) in str(error.value)
    assert len(str(error.value).splitlines()) == 1


SAVE_FOR_EVER = """
import itertools, pathlib, sys
import numpy as np
from daxlab.learning import checkpoint
from daxlab.learning.config import preset

checkpoint.PART_BYTES = 2**18
for n in itertools.count(int(sys.argv[2])):
    state = {name: np.full(2**19, n, np.float32) for name in "ab"}
    checkpoint.save(pathlib.Path(sys.argv[1]), "light", state, preset("desk"), n)
    print(n, flush=True)
"""


def test_kill_9_during_a_save_loses_at_most_that_save(tmp_path):
    reached = 0
    for _ in range(4):
        command = [sys.executable, "-c", SAVE_FOR_EVER, str(tmp_path), str(reached + 1)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            told = [process.stdout.readline()]
            while not list(tmp_path.glob(".unfinished-*")):
                assert process.poll() is None
            time.sleep(random.uniform(0, 0.03))
            process.kill()
            told += process.stdout.readlines()
        loaded = checkpoint.load(checkpoint.every(tmp_path)[-1])
        reached = loaded.updates
        assert int(told[-1]) <= reached <= int(told[-1]) + 1
        assert loaded.tensors.keys() == {"a", "b"}
        for x in loaded.tensors.values():
            np.testing.assert_array_equal(x, np.full(2**19, reached))


def test_a_checkpoint_of_another_config_is_refused(whole, tmp_path):
    folder = copy(whole, tmp_path)
    data = json.loads((folder / "config.json").read_text())
    data["agent"]["lstm"] = 17
    (folder / "config.json").write_text(json.dumps(data))
    with pytest.raises(DaxlabError, match="another config"):
        train(None, folder, steps=10**4, quiet=True)


def test_no_run_no_checkpoint_no_json(whole, tmp_path):
    with pytest.raises(DaxlabError, match="is no run"):
        train(None, tmp_path, quiet=True)
    with pytest.raises(DaxlabError, match="no run, checkpoint or weights"):
        load_agent(tmp_path / "nothing")
    folder = copy(whole, tmp_path)
    shutil.rmtree(folder / "checkpoints")
    with pytest.raises(DaxlabError, match="no checkpoint"):
        load_agent(folder)
    (folder / "config.json").write_text("{")
    with pytest.raises(DaxlabError, match="no config"):
        train(None, folder, quiet=True)


def test_a_loss_that_is_not_finite_stops_the_run(config, whole, tmp_path):
    folder = copy(whole, tmp_path)
    path = latest(folder)
    loaded = checkpoint.load(path)
    broken = dict(loaded.tensors)
    broken[".agent.heads.value.bias"] = np.full_like(broken[".agent.heads.value.bias"], np.inf)
    shutil.rmtree(path)
    checkpoint.save(folder / "checkpoints", "exact", broken, config, loaded.updates)
    with pytest.raises(DaxlabError, match=f"not finite at step .* last good checkpoint is {path}"):
        train(None, folder, steps=10**4, quiet=True)


def test_evaluation_is_fixed_and_reports(whole):
    first, again, other = (evaluate(whole, episodes=20, seed=seed) for seed in (3, 3, 4))
    assert first == again
    assert first["length"] != other["length"]
    low, high = first["interval"]
    assert 0 <= low <= first["success"] <= high <= 1
    assert first["trained_steps"] == UPDATES * 24


def test_evaluation_refuses_a_level_with_other_actions(whole):
    with pytest.raises(DaxlabError, match="46 actions"):
        evaluate(whole, level="architecture_comparison/fast_map_three_objs", episodes=2)
