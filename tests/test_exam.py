"""What a run does by itself when it is done: new episodes with frozen weights, within its budget."""

import json
import math

import jax
import numpy as np
import pytest

from daxlab.cli import main
from daxlab.cli_train import Train
from daxlab.errors import DaxlabError
from daxlab.learning import evaluate, exam, run
from daxlab.learning.config import change
from daxlab.learning.loop import new_agent
from daxlab.levels.env import Env
from tests.small import DESK, small


@pytest.fixture
def trains_small(monkeypatch):
    monkeypatch.setattr(Train, "config", lambda self: change(small("lstm"), steps=48))
    monkeypatch.setattr(exam, "AT_ONCE", 3)


def test_a_run_evaluates_itself_and_says_how_it_went(trains_small, tmp_path, capsys):
    main(["train", DESK, "--evaluate", "6", "--out", str(tmp_path / "run")])
    said = capsys.readouterr().out
    [told] = json.loads((tmp_path / "run/evaluation.json").read_text())
    assert (told["episodes"], told["level"], told["seed"], told["trained_steps"]) == (6, DESK, exam.SEED, 48)
    assert f"success   {told['success']:.3f}" in said
    assert str(tmp_path / "run/curve.png") in said
    again = evaluate.evaluate(tmp_path / "run", episodes=6, seed=exam.SEED)
    assert again["success"] == told["success"]
    assert again["length"] == pytest.approx(told["length"])


def test_none_are_played_if_none_are_asked_for_or_somebody_stopped_it(trains_small, monkeypatch, tmp_path, capsys):
    main(["train", DESK, "--evaluate", "0", "--out", str(tmp_path / "none")])
    assert not (tmp_path / "none/evaluation.json").exists()
    monkeypatch.setattr(run.Run, "go", lambda *_: {"steps": 24, "ended": run.STOPPED})
    main(["train", DESK, "--out", str(tmp_path / "stopped")])
    assert not (tmp_path / "stopped/evaluation.json").exists()
    assert "frozen" not in capsys.readouterr().out
    with pytest.raises(SystemExit) as refused:
        main(["train", DESK, "--evaluate", "-1"])
    assert refused.value.code == 2


def test_who_stops_the_evaluation_keeps_the_run(trains_small, monkeypatch, tmp_path, capsys):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(exam, "examine", stop)
    main(["train", DESK, "--out", str(tmp_path / "run")])
    assert f"daxlab evaluate {tmp_path / 'run'} plays again" in capsys.readouterr().out
    assert run.latest(tmp_path / "run").exists()


def test_the_budget_is_of_training_and_evaluation(trains_small, monkeypatch, tmp_path):
    given = {}
    monkeypatch.setattr(run.Run, "go", lambda self, deadline, until: given.update(end=deadline) or {"ended": "done"})
    monkeypatch.setattr(exam, "examine", lambda folder, episodes, deadline: given.update(left=deadline) or [])
    main(["train", DESK, "--budget", "10m", "--out", str(tmp_path / "run")])
    assert given["left"] - given["end"] == pytest.approx(exam.reserve(600), abs=30)
    assert [exam.reserve(budget) for budget in (None, 30, 240, 1200)] == [0, 10, 40, 120]


def test_when_time_is_up_fewer_episodes_are_played_and_they_are_the_first(tmp_path):
    env = Env(DESK)
    agent = new_agent(small("lstm"), env, jax.random.key(0))
    keys = jax.random.split(jax.random.key(3), 6)
    whole = evaluate.play(env, agent, keys)
    for deadline, count in ((math.inf, 6), (-math.inf, 2)):
        some = evaluate.play(env, agent, keys, at_once=2, deadline=deadline)
        np.testing.assert_array_equal(some.outcome, whole.outcome[:count])
        np.testing.assert_array_equal(some.steps, whole.steps[:count])


def test_a_run_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(DaxlabError, match="is no run"):
        exam.examine(tmp_path, 5)
