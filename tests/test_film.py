import subprocess
import sys

import jax
import numpy as np
import pytest
from PIL import Image, ImageSequence

from daxlab.errors import DaxlabError
from daxlab.levels import registry
from daxlab.levels.env import Env
from daxlab.viewer.film import END_SECONDS, _actor, film, frames, record

DESK = "desk/fast_map_three_objs"
SIZE = {"width": 320, "height": 240}


def shots(actor="expert", seed=0, episodes=1):
    return record(registry.get(DESK), _actor(actor), seed, episodes)


def test_gif_has_a_frame_for_each_state_and_stands_still_at_the_end(tmp_path):
    out = film(DESK, "expert", tmp_path / "episode.gif", fps=20, **SIZE)
    wanted = list(frames(DESK, "expert", **SIZE))
    assert len(wanted) == len(shots())
    with Image.open(out) as picture:
        got = [
            (frame.info["duration"], np.asarray(frame.convert("RGB"), int)) for frame in ImageSequence.Iterator(picture)
        ]
    assert [duration for duration, _ in got] == [50] * (len(wanted) - 1) + [1000 * END_SECONDS]
    for (_, frame), want in zip(got, wanted, strict=True):
        assert frame.shape == (240, 320, 3)
        # A palette of 256 colours is near the true ones everywhere.
        assert np.abs(frame - np.asarray(want, int)).mean() < 4
    assert [path.name for path in tmp_path.iterdir()] == ["episode.gif"]


def test_mp4_has_a_frame_for_each_state_and_stands_still_at_the_end(tmp_path):
    ffmpeg = pytest.importorskip("imageio_ffmpeg").get_ffmpeg_exe()
    out = film(DESK, "expert", tmp_path / "episode.mp4", fps=10, **SIZE)
    raw = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    decoded = subprocess.run([ffmpeg, "-loglevel", "error", "-i", out, *raw], capture_output=True, check=True).stdout
    got = np.frombuffer(decoded, np.uint8).reshape(-1, 240, 320, 3).astype(int)
    wanted = list(frames(DESK, "expert", **SIZE))
    assert len(got) == len(wanted) - 1 + 10 * END_SECONDS
    assert all(np.abs(a - np.asarray(b, int)).mean() < 6 for a, b in zip(got, wanted, strict=False))
    assert [path.name for path in tmp_path.iterdir()] == ["episode.mp4"]


@pytest.mark.parametrize("suffix", [".gif", ".mp4"])
def test_a_seed_gives_one_film(tmp_path, suffix):
    if suffix == ".mp4":
        pytest.importorskip("imageio_ffmpeg")
    a, b, c = (film(DESK, "random-object", tmp_path / f"{i}{suffix}", seed=s, **SIZE) for i, s in enumerate((1, 1, 2)))
    assert a.read_bytes() == b.read_bytes()
    assert a.read_bytes() != c.read_bytes()


def test_shots_tell_what_happens():
    told = shots()
    assert told[0].action == ""
    assert {int(shot.state.phase) for shot in told} == {0, 1}
    assert any(shot.text.startswith("This is a ") for shot in told)
    assert told[-1].text.startswith("Pick up a ")
    assert told[-1].earned == 1.0
    assert told[-1].total == pytest.approx(1.3)
    assert [int(shot.state.clock) for shot in told] == list(range(len(told)))
    assert all(shot.action in registry.get(DESK).actions for shot in told[1:])


def test_episodes_follow_one_another_and_differ():
    both, first = shots(episodes=2), shots()
    starts = [shot for shot in both if int(shot.state.clock) == 0]
    assert len(starts) == 2
    assert [shot.text for shot in both[: len(first)]] == [shot.text for shot in first]
    assert not np.array_equal(starts[0].state.names, starts[1].state.names)


def test_the_random_actor_uses_every_action():
    level = registry.get(DESK)
    state = Env(level).start(jax.random.key(0))
    act = jax.jit(jax.vmap(lambda clock: _actor("random")(level, state._replace(clock=clock))))
    counts = np.bincount(np.asarray(act(np.arange(800))), minlength=len(level.actions))
    assert len(counts) == len(level.actions)
    assert counts.min() > 50


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        ("episode.avi", {}, r"'episode.avi': a film's name ends in .gif, .mp4 or .html"),
        ("episode", {}, r".gif, .mp4 or .html"),
        ("nowhere/episode.gif", {}, r"there is no folder"),
        ("episode.gif", {"actor": "expart"}, r"unknown actor 'expart'; did you mean expert"),
        ("episode.gif", {"level": "desk/fast"}, r"unknown level 'desk/fast'"),
        ("episode.gif", {"width": 0}, r"at least 120"),
        ("episode.gif", {"fps": 0}, r"fps is 0; 1…50 is allowed"),
        ("episode.gif", {"episodes": 0}, r"episodes is 0; at least 1"),
        ("episode.mp4", {"width": 321}, r"needs even numbers"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_no_file(tmp_path, name, options, sentence):
    with pytest.raises(DaxlabError, match=sentence):
        film(**{"level": DESK, "out": tmp_path / name, **options})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", [".gif", ".mp4"])
def test_a_failing_write_leaves_what_was_there(tmp_path, suffix, monkeypatch):
    if suffix == ".mp4":
        pytest.importorskip("imageio_ffmpeg")
    out = tmp_path / f"episode{suffix}"
    out.write_text("before")
    drawn = []

    def draw(self, shot):
        if len(drawn) == 5:
            raise KeyboardInterrupt
        drawn.append(shot)
        return Image.new("RGB", (320, 240))

    monkeypatch.setattr("daxlab.viewer.film._Camera.draw", draw)
    with pytest.raises(KeyboardInterrupt):
        film(DESK, out=out, **SIZE)
    assert out.read_text() == "before"
    assert list(tmp_path.iterdir()) == [out]


def test_a_name_that_is_taken_by_a_folder_is_one_sentence(tmp_path):
    (tmp_path / "episode.gif").mkdir()
    with pytest.raises(DaxlabError, match=r"cannot write .*episode.gif"):
        film(DESK, out=tmp_path / "episode.gif", **SIZE)
    assert len(list(tmp_path.iterdir())) == 1


def test_a_missing_imageio_names_its_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(DaxlabError, match=r"imageio is not installed; .*daxlab\[film\]"):
        film(DESK, out=tmp_path / "episode.mp4", **SIZE)
    assert not list(tmp_path.iterdir())
