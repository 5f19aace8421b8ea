"""Levels in files: what a file says is what is played, by its path wherever a name is; a bad one is one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from daxlab.cli import main
from daxlab.cli_train import Train
from daxlab.errors import DaxlabError
from daxlab.learning.config import TrainConfig, from_json, to_json
from daxlab.levels.env import Env
from daxlab.levels.files import from_table, to_table
from daxlab.levels.registry import get, levels, portable
from daxlab.levels.spec import Level

TOML = """
name = "mine/two_on_the_bed"
base = "fast_slow/fast_map_three_objs_bed_tray"
objects = ["cup", "duck", "hat", "boat"]
num_objects = 2
goals = [["on", "bed"]]
room = [4, 6, 2.5]
[physics]
reach = 2
"""
PYTHON = """
from dataclasses import replace
from daxlab.levels.registry import get
base = get("fast_slow/fast_map_three_objs_bed_tray")
level = replace(
    base,
    name="mine/two_on_the_bed",
    objects=("cup", "duck", "hat", "boat"),
    num_objects=2,
    goals=(("on", "bed"),),
    room=(4.0, 6.0, 2.5),
    physics=replace(base.physics, reach=2.0),
)
"""


@pytest.fixture
def toml(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(TOML)
    return path


def test_a_level_is_what_its_file_says(toml, tmp_path):
    level = get(str(toml))
    assert (level.name, level.num_objects, level.goals) == ("mine/two_on_the_bed", 2, (("on", "bed"),))
    assert level.furniture == ("bed", "tray")
    assert level.room == (4.0, 6.0, 2.5)
    assert (level.physics.reach, level.physics.near) == (2.0, 0.6)
    assert all(isinstance(size, float) for size in (*level.room, level.physics.reach))
    script = tmp_path / "mine.py"
    script.write_text(PYTHON)
    assert get(str(script)) == level
    assert Env(str(toml)).level == level


def test_without_a_name_it_is_called_after_its_file(tmp_path):
    path = tmp_path / "plain.toml"
    path.write_text("num_objects = 5")
    assert get(str(path)) == Level(name="user/plain", num_objects=5)


def test_every_level_survives_being_written_down():
    for level in levels().values():
        assert from_table(json.loads(json.dumps(to_table(level))), {}) == level


def test_a_run_keeps_what_the_file_said_and_not_where_it_was(toml):
    config = TrainConfig(level=str(toml))
    level = get(str(toml))
    toml.unlink()
    assert config.spec == level
    assert config.title == level.name
    again = from_json(json.loads(json.dumps(to_json(config))))
    assert again == config
    assert again.spec == level
    assert portable(config.level) == config.level


def test_a_saved_config_cannot_run_a_file(tmp_path):
    """It comes with weights, perhaps someone else's."""
    script, trace = tmp_path / "level.py", tmp_path / "trace"
    script.write_text(f"open({str(trace)!r}, 'w')\n{PYTHON}")
    with pytest.raises(DaxlabError, match="no file"):
        from_json(to_json(TrainConfig()) | {"level": str(script)})
    assert not trace.exists()


def test_training_takes_a_file_and_chooses_the_preset_by_its_setting(toml, tmp_path):
    assert Train(str(toml)).config().spec.name == "mine/two_on_the_bed"
    desk = tmp_path / "desk.toml"
    desk.write_text('base = "desk/fast_map_three_objs"\nnum_objects = 2')
    config = Train(str(desk)).config()
    assert config.rooms == Train("desk/fast_map_three_objs").config().rooms
    assert config.chance == 0.5


def test_levels_lists_a_file_too(toml, capsys):
    main(["levels", str(toml), "desk", "--json"])
    rows = json.loads(capsys.readouterr().out)
    assert [row["level"] for row in rows] == ["mine/two_on_the_bed", "desk/fast_map_three_objs"]
    assert rows[0]["task"] == "put on bed"
    assert rows[0]["expert"] is None


def test_figures_of_a_file_are_not_kept(toml, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["levels", str(toml), "--measure"])
    assert stop.value.code == 2
    assert "daxlab expert" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.toml", "num_objects = ", "cannot be read"),
        ("a.toml", b"\xff\xfe", "cannot be read"),
        ("a.toml", "num_objcts = 3", "unknown field of Level 'num_objcts'; did you mean num_objects"),
        ("a.toml", "num_objects = 'three'", "num_objects has 'three' where a whole number is needed"),
        ("a.toml", "num_objects = true", "num_objects has True where a whole number is needed"),
        ("a.toml", "num_objects = 3.0", "num_objects has 3.0 where a whole number is needed"),
        ("a.toml", "two_phase = 1", "two_phase has 1 where true or false is needed"),
        ("a.toml", "gap = nan", "gap has nan where a number is needed"),
        ("a.toml", "objects = 'cup'", "objects has 'cup' where a list"),
        ("a.toml", "room = [5, 5]", "room has [5, 5] where a list"),
        ("a.toml", "goals = ['on bed']", "goals has 'on bed' where a list"),
        ("a.toml", "objects = ['unicorn']", "unknown object 'unicorn'"),
        ("a.toml", "num_objects = 99", "num_objects is 99"),
        ("a.toml", "physics = 3", "physics has 3 where a table is needed"),
        ("a.toml", "[physics]\nreech = 3", "unknown field of Physics 'reech'; did you mean reach"),
        ("a.toml", "base = 'no/such'", "unknown base 'no/such'"),
        ("a.toml", "base = ['no']", "unknown base"),
        ("a.toml", "name = 'desk/fast_map_three_objs'", "daxlab's own"),
        ("a.toml", None, "there is no level file"),
        ("a.py", "levle = 3", "it must say level = Level"),
        ("a.py", "1 / 0", "ZeroDivisionError: division by zero"),
        ("a.py", "raise SystemExit(3)", "SystemExit: 3"),
        ("a.py", "def", "SyntaxError"),
        (
            "a.py",
            "from daxlab.levels.spec import Level\nlevel = Level('x', gap='wide')",
            "gap has 'wide' where a number",
        ),
    ],
)
def test_a_bad_file_is_one_sentence_and_exit_code_2(tmp_path, capsys, name, text, says):
    path = tmp_path / name
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(SystemExit) as stop:
        main(["expert", str(path)])
    assert stop.value.code == 2
    said = capsys.readouterr().err.strip()
    assert says in said
    assert str(path) in said
    assert len(said.splitlines()) == 1


def test_the_docs_make_one_from_scratch_in_under_thirty_lines(tmp_path):
    page = (Path(__file__).parent.parent / "docs" / "levels.md").read_text()
    for language, mark in (("toml", "num_objects"), ("python", "level = ")):
        blocks = [block.split("```")[0] for block in page.split(f"```{language}\n")[1:]]
        block = next(block for block in blocks if mark in block)
        assert len(block.splitlines()) < 30
        path = tmp_path / f"mine.{'py' if language == 'python' else 'toml'}"
        path.write_text(block)
        assert get(str(path)).name not in levels()
