"""Speeds of levels: what is compared with what, kept while it is current, and how mixtures and files are timed."""

from __future__ import annotations

import dataclasses
import json

import jax
import jax.numpy as jnp
import pytest

from daxlab.bench import levels as bench
from daxlab.bench import world
from daxlab.bench.levels import ROOM, bench_levels, compare
from daxlab.cli import main
from daxlab.levels import measured
from daxlab.levels.registry import get
from tests.small import DESK, MIXTURE


def clock(*rates: float):
    """Turns of these speeds, one after another."""
    given = iter(rates)
    return lambda seconds: next(given)


def test_a_ratio_is_of_neighbouring_turns():
    """Something else slows the machine down to a tenth for the last two pairs: the ratio stays."""
    row = compare(clock(200, 200, 20, 20), clock(100, 50, 10, 10), 1.0, 4)
    assert row["ratio"] == 2.0
    assert row["spread"] == [2.0, 4.0]
    assert (row["steps_per_second"], row["beside_steps_per_second"]) == (110, 30)


def test_a_level_s_speed_is_the_room_s_share_of_it_for_each_object(monkeypatch, tmp_path):
    timed = []

    def turns(level, rooms):
        timed.append(level.name)
        return lambda seconds: 3000.0 if level.name == ROOM else 1000.0

    monkeypatch.setattr(bench, "turns", turns)
    monkeypatch.setattr(measured, "commit", lambda: "abc")
    file, eight = tmp_path / "rates.json", get("num_generalization/fast_map_eight_objs")
    for repeats in (2, 2, 3):
        table = bench_levels([eight], 4, 0.1, repeats, file=file)
    assert timed == [ROOM, eight.name] * 2
    assert table[0]["ratio"] == 0.333
    assert table[0]["per_object"] == pytest.approx(8 / 9, abs=1e-3)
    found = measured.figures(eight, measured.read(file))
    assert found["per_object"] == table[0]["per_object"]
    assert (found["commit"], found["repeats"], found["rooms"]) == ("abc", 3, 4)
    assert measured.figures(dataclasses.replace(eight, gap=0.4), measured.read(file)) is None


@pytest.fixture
def mix(tmp_path):
    path = tmp_path / "mix.toml"
    path.write_text(MIXTURE)
    (tmp_path / "short.toml").write_text(f'base = "{DESK}"\nepisode_steps = 60\n[physics]\nsubsteps = 1\npasses = 2')
    return path


def test_bench_world_times_a_mixture_from_a_file(mix, capsys, monkeypatch):
    """By shapes alone: a chunk of play has all rooms in it, with and without pictures."""
    timed = []

    def measure(rooms, pixels, seconds, repeats):
        states = [room.clock.shape for room in jax.eval_shape(rooms.start, jax.random.key(0))]
        before = jax.eval_shape(lambda: (rooms.start(jax.random.key(0)), jax.random.key(1), jnp.zeros(())))
        assert jax.eval_shape(world.chunk(rooms, pixels), before) == before
        assert jax.eval_shape(rooms.pictures, before[0]).shape == (8, 72, 96, 3)
        timed.append((states, pixels))
        return {"steps_per_second": 1, "spread": [1, 1]}

    monkeypatch.setattr(world, "measure", measure)
    main(["bench", "world", "--level", str(mix), "--rooms", "8", "--no-peers", "--json"])
    report = json.loads(capsys.readouterr().out)
    assert timed == [([(6,), (2,)], False), ([(6,), (2,)], True)]
    assert (report["rooms"], report["level"]) == (8, str(mix))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("bench", "levels", "desk", "--repeats", "0"), "more than 0"),
        (("bench", "levels", "desk", "--rooms", "0"), "at least 1"),
        (("bench", "levels", "dsk"), "unknown level 'dsk'"),
        (("bench", "levels", "MIX", "--keep"), "our own levels only"),
        (("bench", "world", "--level", "MIX", "--rooms", "1"), "rooms is 1; a mixture of 2 levels"),
        (("bench", "world", "--level", "no.toml"), "there is no level file no.toml"),
        (("bench", "train", "--level", "MIX", "--preset", "desk", "--parts"), "is a mixture; choose one"),
        (("film", "MIX"), "'mine/both' is a mixture; choose one of its levels: desk/fast_map_three_objs, user/short"),
        (("expert", "MIX"), "is a mixture; choose one"),
    ],
)
def test_what_cannot_be_timed_or_played_is_one_sentence(mix, capsys, arguments, says):
    with pytest.raises(SystemExit) as stop:
        main([str(mix) if argument == "MIX" else argument for argument in arguments])
    assert stop.value.code == 2
    said = capsys.readouterr().err.strip()
    assert says in said
    assert len(said.splitlines()) == 1
