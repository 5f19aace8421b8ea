"""Seeds that train in one program learn what each learns alone, and are runs like any other."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from daxlab.errors import DaxlabError
from daxlab.learning import checkpoint
from daxlab.learning.logs import read
from daxlab.learning.run import latest, train
from daxlab.learning.together import train_together
from tests.tiny import UPDATES, tiny, world

TIMES = ("seconds", "steps_per_second")
SEEDS = (0, 3)


@pytest.fixture(scope="module", autouse=True)
def tiny_world():
    with world():
        yield


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    folders = [tmp_path_factory.mktemp("alone") / str(seed) for seed in SEEDS]
    for seed, folder in zip(SEEDS, folders, strict=True):
        train(tiny(seed=seed), folder, quiet=True)
    return folders


@pytest.fixture(scope="module")
def together(tmp_path_factory):
    folders = [tmp_path_factory.mktemp("together") / str(seed) for seed in SEEDS]
    train_together([tiny(seed=seed) for seed in SEEDS], folders, quiet=True)
    return folders


def assert_same(one, other):
    for line, same in zip(read(one / "log.jsonl"), read(other / "log.jsonl"), strict=True):
        assert line.keys() == same.keys()
        for name in line.keys() - set(TIMES):
            assert line[name] == pytest.approx(same[name], abs=5e-6), name
    mine, others = (checkpoint.load(latest(folder)) for folder in (one, other))
    assert mine.updates == others.updates == UPDATES
    assert mine.config == others.config
    for name, x in mine.tensors.items():
        if not any(time in name for time in TIMES):
            np.testing.assert_allclose(x, others.tensors[name], atol=2e-5, err_msg=name)


def test_together_each_learns_what_it_learns_alone(alone, together):
    for one, other in zip(alone, together, strict=True):
        assert_same(one, other)
        assert (other / "curve.png").exists()
    lines = [read(folder / "log.jsonl")[-1]["loss"] for folder in together]
    assert lines[0] != lines[1]


def before_the_end(folders, to):
    """Copies of runs as they were before their last update."""
    copies = []
    for folder in folders:
        copies.append(shutil.copytree(folder, to / folder.name))
        shutil.rmtree(latest(copies[-1]))
    return copies


def test_what_was_alone_goes_on_together_and_the_other_way_round(alone, together, tmp_path):
    met = before_the_end(alone, tmp_path / "met")
    train_together(None, met, quiet=True)
    parted = before_the_end(together, tmp_path / "parted")
    for folder in parted:
        train(None, folder, quiet=True)
    for one, *others in zip(alone, met, parted, strict=True):
        for other in others:
            assert_same(one, other)


def test_a_budget_ends_all_of_them_saved(tmp_path):
    folders = [tmp_path / str(seed) for seed in SEEDS]
    train_together([tiny(seed=seed, steps=24 * 10**6) for seed in SEEDS], folders, budget=8, quiet=True)
    reached = [checkpoint.load(latest(folder)).updates for folder in folders]
    assert reached[0] == reached[1] > 0


def test_what_cannot_be_together_is_refused(together, tmp_path):
    folders = [tmp_path / "a", tmp_path / "b"]
    with pytest.raises(DaxlabError, match="seeds only"):
        train_together([tiny(), tiny(unroll=4)], folders)
    with pytest.raises(DaxlabError, match="2 configs and 1 folders"):
        train_together([tiny(), tiny(seed=1)], folders[:1])
    with pytest.raises(DaxlabError, match="exists already"):
        train_together([tiny(), tiny(seed=1)], [folders[0], together[0]])
    with pytest.raises(DaxlabError, match="trained to their end"):
        train_together(None, together, quiet=True)
    (behind,) = before_the_end(together[:1], tmp_path / "behind")
    with pytest.raises(DaxlabError, match="as many steps behind them"):
        train_together(None, [behind, together[1]], quiet=True)
    assert not any(folder.exists() for folder in folders)
