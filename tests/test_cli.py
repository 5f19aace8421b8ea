"""The command line: what it prints, and how it refuses."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest

from daxlab.cli import main
from daxlab.cli_table import show

DESK = "desk/fast_map_three_objs"


def refused(capsys, *arguments: str) -> str:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    said = capsys.readouterr().err.strip()
    assert said
    return said


def test_levels_lists_every_level(capsys):
    main(["levels", "--json"])
    rows = json.loads(capsys.readouterr().out)
    assert DESK in {row["level"] for row in rows}


def test_expert_prints_both_actors_as_json(capsys):
    # As many episodes as in test_levels: the same program.
    main(["expert", DESK, "--episodes", "600", "--seed", "3", "--json"])
    rows = {row["actor"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["expert"]["success"] > 0.9
    assert rows["random-object"]["success"] < 0.7
    assert rows["expert"]["seed"] == 3


def test_assets_and_film_write_what_they_say(tmp_path, capsys):
    sheet, episode = tmp_path / "new" / "sheet.png", tmp_path / "episode.gif"
    level = tmp_path / "mine.toml"
    level.write_text(f'base = "{DESK}"')
    main(["assets", "--out", str(sheet)])
    main(["film", str(level), "--out", str(episode)])
    assert sheet.stat().st_size > 10_000
    assert episode.stat().st_size > 10_000


def test_bench_world_reports_both_modes_also_of_a_level_s_file(tmp_path, capsys):
    path = tmp_path / "mine.toml"
    path.write_text(f'base = "{DESK}"\nnum_objects = 2')
    short = ["--rooms", "4", "--seconds", "0.1", "--repeats", "1", "--no-peers", "--json"]
    main(["bench", "world", "--level", str(path), *short])
    report = json.loads(capsys.readouterr().out)
    assert report["step"]["steps_per_second"] > report["step + pixels"]["steps_per_second"] > 0
    assert report["rooms"] == 4


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("expert", "desk/fast_map_three_objects"), "did you mean desk/fast_map_three_objs"),
        (("expert", DESK, "--episodes", "0"), "at least 1"),
        (("film", DESK, "--actor", "exprt"), "unknown actor"),
        (("film", DESK, "--out", "episode.webm"), ".gif"),
        (("bench", "world", "--rooms", "0"), "at least 1"),
        (("bench", "world", "--width", "0"), "at least 1 pixel"),
        (("bench", "world", "--seconds", "0"), "more than 0"),
        (("bench",), "daxlab bench world"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(capsys, monkeypatch, tmp_path, arguments, says):
    monkeypatch.chdir(tmp_path)
    said = refused(capsys, *arguments)
    assert says in said
    assert len(said.splitlines()) == 1
    assert not list(tmp_path.rglob("*.*"))


@pytest.mark.parametrize("arguments", [("levels", "--json"), ("--help",)])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_leaves_is_no_error(arguments, unbuffered):
    command = [sys.executable, "-m", "daxlab.cli", *arguments]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=os.environ | {"PYTHONUNBUFFERED": unbuffered}, **pipes) as process:
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 1


def test_an_unknown_command_exits_with_2():
    done = subprocess.run([sys.executable, "-m", "daxlab.cli", "dance"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "dance" in done.stderr + done.stdout


@pytest.mark.parametrize("width", [60, 80, 100, 300])
def test_a_table_fits_and_says_what_it_left_out(width, capsys, monkeypatch):
    fields = [f"field_{i}" for i in range(8)]
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(width))
    show([{"name": "n" * 40, **dict.fromkeys(fields, 0.125)}], False, "title")
    table, *left_out = re.sub("\x1b.*?m", "", capsys.readouterr().out).split("in a wider window also: ")
    assert max(map(len, table.splitlines())) <= width
    assert ("n" * 24 in table, "n" * 40 in table) == (True, width == 300)
    shown = [field for field in fields if field.replace("_", " ") in table]
    assert shown
    assert shown + (left_out[0].strip().split(", ") if left_out else []) == fields
