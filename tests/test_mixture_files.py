"""Mixtures in files: what a file says is what is played and trained on; a bad one is one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from daxlab.cli import main
from daxlab.cli_train import Train
from daxlab.errors import DaxlabError
from daxlab.learning.config import TrainConfig, change, from_json, to_json
from daxlab.learning.evaluate import env_for
from daxlab.levels.mixture import make_rooms
from daxlab.levels.recipe import from_text
from daxlab.levels.registry import choose, find, get, levels, portable, weights
from tests.small import DESK, MIXTURE

SHORT = f'base = "{DESK}"\nepisode_steps = 60'


@pytest.fixture
def mix(tmp_path):
    (tmp_path / "short.toml").write_text(SHORT)
    path = tmp_path / "mix.toml"
    path.write_text(MIXTURE)
    return path


def test_a_mixture_is_what_its_file_says_and_files_in_it_lie_beside_it(mix, tmp_path, monkeypatch):
    short = get(str(tmp_path / "short.toml"))
    monkeypatch.chdir("/")
    assert weights(str(mix)) == {get(DESK): 3.0, short: 1.0}
    assert find(str(mix)).name == "mine/both"
    assert choose((str(mix),)) == [get(DESK), short]
    rooms = make_rooms(weights(str(mix)), 8)
    assert [room.count for room in rooms.rooms] == [6, 2]


def test_without_a_name_it_is_called_after_its_file_and_one_level_is_that_level(tmp_path):
    path = tmp_path / "alone.toml"
    path.write_text(f'[mixture]\n"{DESK}" = 0.5')
    assert find(str(path)).name == "user/alone"
    assert get(str(path)) == get(DESK)


def test_a_run_keeps_what_the_files_said_and_not_where_they_were(mix):
    config = Train(str(mix)).config()
    said = weights(str(mix))
    for path in mix.parent.iterdir():
        path.unlink()
    assert config.weights == said
    assert config.title == "mine/both"
    assert config.rooms == Train(DESK).config().rooms
    again = from_json(json.loads(json.dumps(to_json(config))))
    assert again == config
    assert again.weights == said
    assert again.fingerprint == config.fingerprint != change(config, level=DESK).fingerprint
    assert portable(config.level) == config.level


def test_an_agent_of_a_mixture_plays_any_level_of_it_by_name(mix):
    class Trained:
        config = Train(str(mix)).config()

    assert env_for(Trained, "user/short").level == get(str(mix.parent / "short.toml"))
    with pytest.raises(DaxlabError, match=r"mixture 'mine/both'; choose a level to play: desk/.*, user/short"):
        env_for(Trained)


def test_a_saved_mixture_cannot_run_a_file(tmp_path):
    """It comes with weights, perhaps someone else's."""
    script, trace = tmp_path / "level.py", tmp_path / "trace"
    script.write_text(f"open({str(trace)!r}, 'w')")
    for held in (str(script), {"base": str(script)}, {"name": "a", "mixture": {str(script): 1}}):
        text = json.dumps({"name": "mine/trap", "mixture": [[held, 1.0]]})
        with pytest.raises(DaxlabError, match="is no level"):
            from_json(to_json(TrainConfig()) | {"level": text})
    with pytest.raises(DaxlabError, match="is no level"):
        from_text('{"mixture": 3}')
    assert not trace.exists()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[mixture]", "mixture is {}; a table of at least one level and its weight is needed"),
        ("mixture = 3", "mixture is 3; a table of at least one level"),
        ("mixture = ['desk/fast_map_three_objs']", "a table of at least one level"),
        ("[mixture]\n'desk/fast_map' = 1", "unknown level of the mixture 'desk/fast_map'; did you mean desk/"),
        ("[mixture]\n'fast_slow/zero_shot' = 1", "unknown level of the mixture 'fast_slow/zero_shot'"),
        ("[mixture]\n'desk/fast_map_three_objs' = 0", "'desk/fast_map_three_objs' is 0; it must be a number above 0"),
        ("[mixture]\n'desk/fast_map_three_objs' = -1.5", "is -1.5; it must be a number above 0"),
        ("[mixture]\n'desk/fast_map_three_objs' = nan", "is nan; it must be a number above 0"),
        ("[mixture]\n'desk/fast_map_three_objs' = inf", "is inf; it must be a number above 0"),
        ("[mixture]\n'desk/fast_map_three_objs' = true", "is True; it must be a number above 0"),
        ("[mixture]\n'desk/fast_map_three_objs' = 'much'", "is 'much'; it must be a number above 0"),
        ("[mixture]\n'no.toml' = 1", "there is no level file"),
        ("[mixture]\n'self.toml' = 1", "is a mixture itself; name its levels"),
        ("[mixture]\n'short.toml' = 1\n'./short.toml' = 1", "two levels of the mixture are called 'user/short'"),
        (
            "shaping = 1\n[mixture]\n'desk/fast_map_three_objs' = 1",
            "unknown field of a mixture 'shaping'; allowed: name",
        ),
        ("name = 3\n[mixture]\n'desk/fast_map_three_objs' = 1", "name has 3 where a text is needed"),
        ("name = 'bed_box/zero_shot'\n[mixture]\n'short.toml' = 1", "daxlab's own; choose another"),
        ("[mixture]\n'desk/fast_map_three_objs' = 1\n'corridor/fast_map_train' = 1", "have different actions"),
        ("[mixture]\n'desk/fast_map_three_objs' = 1\n'large.toml' = 1", "has 48×36 pixels"),
        ("[mixture\n", "cannot be read"),
    ],
)
def test_a_bad_mixture_is_one_sentence_and_exit_code_2(tmp_path, capsys, monkeypatch, text, says):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "short.toml").write_text(SHORT)
    (tmp_path / "large.toml").write_text(f'base = "{DESK}"\npicture = [48, 36]')
    path = tmp_path / "self.toml"
    path.write_text(text)
    monkeypatch.setattr("daxlab.learning.run.train", lambda *arguments, **options: None)
    with pytest.raises(SystemExit) as stop:
        main(["train", str(path)])
    assert stop.value.code == 2
    said = capsys.readouterr().err.strip()
    assert says in said
    assert len(said.splitlines()) == 1
    assert not (tmp_path / "runs").exists()


def test_a_level_s_file_is_still_no_mixture(tmp_path):
    path = tmp_path / "short.toml"
    path.write_text(SHORT)
    assert weights(str(path)) == {get(str(path)): 1.0}
    assert find(DESK).weights == {levels()[DESK]: 1.0}


def test_the_docs_mixture_is_one(tmp_path):
    page = (Path(__file__).parent.parent / "docs" / "levels.md").read_text()
    blocks = {
        block.split("\n")[0].split()[1].rstrip(":"): block.split("```")[0] for block in page.split("```toml\n")[1:]
    }
    for name in ("bed.toml", "both.toml"):
        (tmp_path / name).write_text(blocks[name])
    found = find(str(tmp_path / "both.toml"))
    assert found.name == "mine/both"
    assert sorted(found.weights.values()) == [1.0, 2.0]
    TrainConfig(level=str(tmp_path / "both.toml"))
