"""Figures of the scripted actors: kept, never of another spec than the level's, and what the page and the list say."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from daxlab.cli import main
from daxlab.errors import DaxlabError
from daxlab.levels import measured
from daxlab.levels.catalogue import GROUPS
from daxlab.levels.play import Results
from daxlab.levels.registry import choose, get, levels
from daxlab.viewer import levels_page
from daxlab.viewer.levels_page import BEGIN, END, tables, write_page

DESK = get("desk/fast_map_three_objs")
PAGE = Path(__file__).parent.parent / "docs" / "levels.md"


def test_every_level_is_solved_by_the_expert_and_at_chance_without_knowledge():
    """As measured: `daxlab levels --measure`."""
    kept = measured.read()
    assert set(kept) == set(levels())
    for name, level in levels().items():
        found = measured.figures(level, kept)
        assert found is not None, f"{name} has changed since it was measured"
        assert found["episodes"] >= 500, name
        assert found["expert"]["success"] >= 0.98, name
        spread = np.sqrt(level.chance * (1 - level.chance) / found["episodes"])
        assert abs(found["random-object"]["success"] - level.chance) < 3 * spread, name


def test_no_level_takes_more_than_twice_the_room_s_time_for_an_object():
    """As measured: `daxlab bench levels --keep`."""
    rates = measured.read(measured.RATES)
    assert set(rates) == set(levels())
    for name, level in levels().items():
        found = measured.figures(level, rates)
        assert found is not None, f"{name} has changed since it was timed"
        assert found["per_object"] == pytest.approx(found["ratio"] * level.num_objects / 3, abs=2e-3)
        assert found["per_object"] >= 0.5, name


def test_figures_of_another_spec_are_not_shown():
    kept, rates = ({DESK.name: measured.read(file)[DESK.name]} for file in (measured.FILE, measured.RATES))
    row = measured.row(DESK, kept, rates)
    assert row["expert"] == kept[DESK.name]["expert"]["success"]
    assert (row["rate"], row["rate_per_object"]) == tuple(rates[DESK.name][name] for name in ("ratio", "per_object"))
    changed = dataclasses.replace(DESK, linger=3)
    assert measured.figures(changed, kept) is None
    row = measured.row(changed, kept, rates)
    assert [row[name] for name in ("expert", "rate", "rate_per_object")] == [None] * 3


def test_measuring_keeps_what_is_current_and_replaces_what_is_not(tmp_path, monkeypatch):
    file, played = tmp_path / "measured.json", []

    def play(env, episodes, seed):
        played.append((env.level.name, episodes))
        ones, half = np.ones(episodes, int), np.arange(episodes) % 2
        return {
            "expert": Results(ones, 5 * ones, ones, ones > 0),
            "random-object": Results(1 + half, ones, half, ones > 0),
        }

    monkeypatch.setattr(measured, "play_both", play)
    monkeypatch.setattr(measured, "commit", lambda: "abc")
    for episodes in (4, 4, 8):
        measured.measure([DESK], episodes, 0, lambda line: None, file)
    assert played == [(DESK.name, 4), (DESK.name, 8)]
    found = measured.figures(DESK, measured.read(file))
    assert (found["episodes"], found["commit"], found["seed"]) == (8, "abc", 0)
    assert (found["expert"]["success"], found["expert"]["median_steps"]) == (1.0, 5)
    assert found["random-object"]["success"] == 0.5


def test_the_list_has_all_that_is_to_be_known(capsys):
    main(["levels", "--json"])
    rows = {row["level"]: row for row in json.loads(capsys.readouterr().out)}
    assert set(rows) == set(levels())
    row = rows["with_distractors/eval_fast_map_two_episodes_three_objs_five_distractor"]
    assert (row["objects"], row["of"], row["regime"], row["phases"], row["actions"]) == (3, 30, "fast", 13, 46)
    assert rows["bed_box/slow_learn_three_objs_putting"]["phases"] == 1
    assert row["chance"] == pytest.approx(1 / 3, abs=1e-3)
    assert {"expert", "steps", "random_object", "measured"} <= row.keys()
    main(["levels", "desk"])
    assert "desk/fast_map_three_objs" in capsys.readouterr().out


def test_groups_and_names_choose():
    assert [level.name.split("/")[0] for level in choose(("bed_box/", "desk"))] == ["bed_box"] * 5 + ["desk"]
    assert choose((DESK.name, DESK.name)) == [DESK]
    with pytest.raises(DaxlabError, match="unknown level 'fast_slo'"):
        choose(("fast_slo",))


def test_the_page_says_what_was_measured():
    """If not: daxlab levels --doc docs/levels.md"""
    made = PAGE.read_text().split(BEGIN)[1].split(END)[0]
    assert made.strip() == tables("levels").strip()
    assert {path.stem for path in (PAGE.parent / "levels").glob("*.png")} == {group.__name__ for group in GROUPS}


def test_the_page_is_written_between_its_marks_as_often_as_one_likes(tmp_path, monkeypatch):
    monkeypatch.setattr(levels_page, "picture", lambda levels: Image.new("RGB", (4, 3)))
    page = tmp_path / "levels.md"
    page.write_text(f"before\n{BEGIN}\nyesterday\n{END}\nafter\n")
    for _ in range(2):
        write_page(page)
        text = page.read_text()
        assert text.startswith(f"before\n{BEGIN}\n")
        assert text.endswith(f"{END}\nafter\n")
        assert tables("levels") in text
        assert "yesterday" not in text
    assert len([*(tmp_path / "levels").iterdir()]) == len(GROUPS)
    assert text.count("| `") == len(levels())


def test_a_page_without_marks_is_left_alone(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("mine")
    with pytest.raises(DaxlabError, match="must have the lines"):
        write_page(page)
    assert page.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [page]
