"""The demo from end to end with a small agent, and `--until`, which ends its training."""

from __future__ import annotations

import jax
import pytest
from PIL import Image, ImageSequence

from daxlab import cli, cli_demo, pretrained
from daxlab.cli import main
from daxlab.cli_train import Train
from daxlab.errors import DaxlabError
from daxlab.learning import config, evaluate, run
from daxlab.learning.logs import read
from daxlab.learning.run import UNTIL_LINES, reached, train
from daxlab.viewer import mind, thinking
from tests.small import small

CLIMB = (0.2, 0.9, 0.93, 1.0, 0.94, 1.0, 1.0)
"""Success in the lines of a log; three in a row have 0.95 on average for the first time at the fifth."""


@pytest.fixture
def climbing(monkeypatch):
    """A run that learns nothing, which is quickly compiled, and is told of success in this order."""
    told = iter(CLIMB)

    def update(state):
        return state._replace(updates=state.updates + 1), {"loss": 0.0, "gradient": 0.0}

    monkeypatch.setattr(run, "make_update", lambda *given: jax.jit(update))
    monkeypatch.setattr(
        run, "summarise_all", lambda sums, levels, chance: {"success": next(told), "lift_rate": 1.0, "length": 9.0}
    )


@pytest.fixture
def results(monkeypatch):
    """What functions return, by their names."""
    kept = {}

    def keep(module, name):
        function = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *given, **options: kept.setdefault(name, function(*given, **options)))

    keep(evaluate, "play")
    keep(thinking, "record")
    return kept


def test_the_demo_trains_evaluates_and_films(climbing, results, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(config, "preset", lambda name: small("dcem_match"))
    monkeypatch.setattr(cli_demo, "EPISODES", 8)
    monkeypatch.setattr(cli_demo, "UNTIL", 0.95)
    monkeypatch.setattr(cli_demo, "TRAINED", str(tmp_path / "out" / "run"))
    monkeypatch.setattr(cli_demo, "TRAINED_EPISODES", 8)
    monkeypatch.setenv("DAXLAB_CACHE", str(tmp_path / "cache"))
    main(["demo", "--out", str(tmp_path / "out"), "--minutes", "5"])
    said = capsys.readouterr().out
    folder = tmp_path / "out" / "run"
    assert [line["success"] for line in read(folder / "log.jsonl")] == list(CLIMB[:5])
    assert "success has reached 0.95 at 120 steps" in said
    assert "on 8 new episodes" in said
    assert said.count("chance 0.333") == 2
    for made in (folder / "curve.png", tmp_path / "out" / "episode.gif", tmp_path / "out" / "room.gif"):
        assert made.stat().st_size > 1000
        assert str(made) in said
    assert all(command in said for command in cli_demo.NEXT)
    # The episode that is filmed is the first of those that are evaluated.
    with Image.open(tmp_path / "out" / "episode.gif") as film:
        assert film.size == (mind.WIDTH, mind.TOP + mind.MEMORY)
        assert sum(1 for _ in ImageSequence.Iterator(film)) == len(results["record"])
    played, filmed = results["play"], results["record"][-1].shot
    assert filmed.state.outcome == played.outcome[0]
    assert filmed.state.clock == played.steps[0]
    assert filmed.total == pytest.approx(played.reward[0])


@pytest.mark.parametrize("command", cli_demo.NEXT)
def test_what_the_demo_suggests_can_be_run(command):
    wanted = cli._parse(command.split())
    if isinstance(wanted, Train):
        wanted.config()
    else:
        pretrained.resolve(wanted.weights)


def test_the_runs_of_earlier_demos_stay(tmp_path):
    for name in ("run", "run-2", "run-3"):
        assert cli_demo.new_run(tmp_path / "out") == tmp_path / "out" / name
        (tmp_path / "out" / name).mkdir()


def test_a_success_is_reached_by_the_last_lines_on_average():
    lines = [{"success": success} for success in CLIMB]
    assert [reached(lines[:n], 0.95) for n in range(len(CLIMB) + 1)] == [False] * 5 + [True] * 3
    assert not reached([{"success": 1.0}] * (UNTIL_LINES - 1), 0.5)
    # A line in which no episode ended says nothing of success.
    assert not reached([{"success": 1.0}, {"steps": 1}, {"success": 1.0}], 0.9)


@pytest.mark.parametrize("until", [0.0, -1.0, 1.5, float("nan")])
def test_a_success_that_cannot_be_is_refused(tmp_path, until):
    with pytest.raises(DaxlabError, match="above 0 and at most 1"):
        train(small("dcem_match"), tmp_path / "run", until=until)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("demo", "--minutes", "0"), "minutes is 0"),
        (("demo", "--out", "taken"), "cannot make the folder 'taken'"),
        (("train", "--until", "95"), "until is 95"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(capsys, monkeypatch, tmp_path, arguments, says):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").write_text("before")
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    said = capsys.readouterr().err
    assert says in said
    assert len(said.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]
