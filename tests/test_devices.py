"""One run on several devices is the run on one: two CPU devices of one process, and two processes on this machine."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from types import SimpleNamespace

import jax
import numpy as np
import pytest

from daxlab.cli import main
from daxlab.errors import DaxlabError
from daxlab.learning import checkpoint, devices, loop
from daxlab.learning.devices import AXIS, Devices, check_parts, joined, take
from daxlab.learning.logs import read
from daxlab.learning.run import BY_ROOM, latest, train
from daxlab.levels.env import Env, Rooms
from daxlab.levels.mixture import Mixture
from tests.tiny import MIXED, NAMES, UPDATES, pictures, tiny, world

TIMES = ("seconds", "steps_per_second")


@pytest.fixture(scope="module", autouse=True)
def tiny_world():
    with world():
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


def begin(*commands: str, **environment: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.tiny", *" then ".join(commands).split()]
    return subprocess.Popen(
        command, env=os.environ | environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def end(*processes: subprocess.Popen[str]) -> list[str]:
    said = [process.communicate()[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes), said
    return said


@pytest.fixture(scope="module")
def one(folder):
    """A run on one device."""
    train(tiny(), folder / "one", quiet=True)
    return folder / "one"


def unfinished(whole, folder, light=False):
    """A copy of a run that was stopped before its last update."""
    shutil.copytree(whole, folder)
    shutil.rmtree(latest(folder))
    before = checkpoint.load(latest(folder))
    assert before.updates == UPDATES - 1
    if light:
        shutil.rmtree(latest(folder))
        kept = {name: x for name, x in before.tensors.items() if not name.startswith((*BY_ROOM, ".actor.rooms"))}
        checkpoint.save(folder / "checkpoints", "light", kept, before.config, before.updates)
    return folder


@pytest.fixture(scope="module")
def two(folder, one):
    """The same on two devices of one process; and there go on what one device began."""
    exact, light = unfinished(one, folder / "one_then_two"), unfinished(one, folder / "light_then_two", light=True)
    end(
        begin(
            f"train {MIXED} --devices 2 --out {folder}/two",
            f"train --resume {exact} --devices 2",
            f"train --resume {light} --devices 2 --light",
            PICTURES=str(folder / "pictures.npy"),
        )
    )
    return folder / "two"


def same(a, b):
    """The same curve and the same end, but for rounding: what is whole is equal."""
    lines, others = (
        [{k: v for k, v in line.items() if k not in TIMES} for line in read(x / "log.jsonl")] for x in (a, b)
    )
    assert len(lines) == UPDATES
    for line, other in zip(lines, others, strict=True):
        assert line == pytest.approx(other, abs=5e-6), "another curve"
    ends = [checkpoint.load(latest(x)).tensors for x in (a, b)]
    assert ends[0].keys() == ends[1].keys()
    for name, x in ends[0].items():
        if "seconds" not in name:
            np.testing.assert_allclose(x, ends[1][name], atol=2e-5 if x.dtype.kind == "f" else 0, err_msg=name)


def test_two_devices_are_as_one(one, two):
    same(one, two)


def test_two_processes_are_as_one(folder, one):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = f"train {MIXED} --out {folder}/pair --coordinator 127.0.0.1:{port} --processes 2 --process"
    said = end(begin(f"{command} 0"), begin(f"{command} 1"))
    same(one, folder / "pair")
    assert f"saved in {folder}/pair" in said[0]
    assert "saved" not in said[1]
    assert {path.name for path in (folder / "pair").iterdir()} == {path.name for path in one.iterdir()}


def test_a_run_goes_on_with_another_number_of_devices(folder, one, two):
    same(one, folder / "one_then_two")
    on_one = unfinished(two, folder / "two_then_one")
    train(None, on_one, quiet=True)
    same(one, on_one)


def test_a_light_checkpoint_goes_on_with_another_number_of_devices(folder, one, two):
    light = unfinished(one, folder / "light_then_one", light=True)
    train(None, light, light=True, quiet=True)
    same(light, folder / "light_then_two")
    assert latest(light).name.startswith("light")


def test_each_device_draws_its_own_rooms(folder, two):
    drawn = pictures(1)
    assert len(np.unique(drawn, axis=0)) == len(drawn)
    np.testing.assert_array_equal(np.load(folder / "pictures.npy"), drawn)


def mixed():
    """Twelve rooms of two levels, which have eight and four of them."""
    return Mixture({NAMES[0]: 2, NAMES[1]: 1}, 12)


@pytest.mark.parametrize("rooms", [mixed, lambda: Rooms(Env(NAMES[0]), 12)], ids=["mixture", "level"])
def test_minibatches_and_chance_do_not_depend_on_the_number_of_devices(rooms):
    """Each minibatch has the same rooms, an equal part on each device, and each room draws the same actions."""
    rooms = rooms()
    config, key = tiny(rooms=12, minibatch=4), jax.random.key(3)
    batches = loop.minibatches(config, rooms, key)
    assert sorted(np.ravel(batches)) == list(range(12))
    logits = jax.random.normal(key, (12, 5))
    actions = loop.choose(rooms, logits, key)
    for count in (2, 4):
        part, dealt = rooms.part(count), rooms.dealt(count).reshape(count, -1)
        assert part.count == 12 // count

        def device(logits, part=part):
            return loop.minibatches(config, part, key, AXIS), loop.choose(part, logits, key, AXIS)

        own, chosen = jax.vmap(device, axis_name=AXIS)(logits[dealt])
        assert own.shape == (count, 3, 4 // count)
        for i in range(3):
            together = np.concatenate([dealt[device][own[device, i]] for device in range(count)])
            assert sorted(together) == sorted(np.asarray(batches[i]))
        np.testing.assert_array_equal(chosen, actions[dealt])
    other = loop.minibatches(config, rooms, jax.random.key(4))
    assert [set(row) for row in np.asarray(other).tolist()] != [set(row) for row in np.asarray(batches).tolist()]


def test_numbers_of_devices_that_cannot_be_are_refused():
    with pytest.raises(
        DaxlabError, match=r"3 devices cannot have equal parts of 12 rooms of 2 levels .* 1, 2, 4 devices"
    ):
        check_parts(mixed(), 4, 3)
    with pytest.raises(DaxlabError, match=r"8 devices .* minibatches of 4; with these there may be 1, 2, 4 devices"):
        check_parts(Rooms(Env(NAMES[0]), 16), 4, 8)
    check_parts(mixed(), 4, 4)
    with pytest.raises(DaxlabError, match="devices is 0; at least 1"):
        take(0)
    here = len(jax.devices())  # JAX runs from here on, and can have no more of them
    with pytest.raises(DaxlabError, match=f"devices is {here + 1}, but there are only {here} of kind"):
        take(here + 1)


def test_the_command_refuses_them_before_it_makes_a_folder(folder, capsys, monkeypatch):
    monkeypatch.setattr(devices, "take", lambda count: Devices(SimpleNamespace(size=count)))
    with pytest.raises(SystemExit) as stop:
        main(["train", MIXED, "--devices", "3", "--out", str(folder / "never")])
    assert stop.value.code == 2
    assert "3 devices cannot have equal parts of 8 rooms of 2 levels" in capsys.readouterr().err
    assert not (folder / "never").exists()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((None, 2, 0), "need --coordinator"),
        (("127.0.0.1", 2, 0), "it is HOST:PORT of process 0, or auto"),
        (("127.0.0.1:7007", 2, 2), "process is 2 of 2; give --processes N and --process 0…N-1"),
        (("127.0.0.1:7007", 2, None), "process is None of 2"),
    ],
)
def test_processes_that_cannot_meet_are_refused(given, words):
    with pytest.raises(DaxlabError, match=words), joined(*given):
        pass


def test_where_there_is_no_cluster_it_is_said(monkeypatch):
    def initialize():
        raise ValueError("coordinator_address should be defined.")

    monkeypatch.setattr(jax.distributed, "initialize", initialize)
    with pytest.raises(DaxlabError, match=r"JAX finds no cluster here .* give --coordinator HOST:PORT"), joined("auto"):
        pass
