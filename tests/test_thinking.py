"""Films of trained agents: the memory strip shows what was written and how it is read."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from PIL import Image, ImageSequence

from daxlab.agents.agent import Agent, Observation
from daxlab.agents.core import Reads
from daxlab.agents.dnc import DNCState
from daxlab.agents.lstm import LSTMState
from daxlab.agents.memory import empty, write
from daxlab.cli import DEFAULT_LEVEL, main
from daxlab.errors import DaxlabError
from daxlab.learning import checkpoint
from daxlab.learning.loop import new_agent
from daxlab.learning.run import new_folder
from daxlab.levels.env import Env
from daxlab.viewer import film, mind, thinking
from daxlab.viewer.mind import PLACES, Memory, Moment, Thought
from daxlab.viewer.page import INK, fit
from daxlab.viewer.thinking import _held, film_agent, read_shares, record, remember
from tests.small import DESK, ROWS, WINDOW, small

SEED = 0


@cache
def env():
    return Env(DESK)


@cache
def agent(core):
    return new_agent(small(core), env(), jax.random.key(1))


@cache
def moments(core):
    return record(env(), agent(core), SEED)


@cache
def replayed(core):
    """The same episode once more: what was observed and what the agent put out."""

    @jax.jit
    def look(memory, room):
        seen = env().observe(room)
        return agent(core).step(memory, Observation(*seen), room.clock == 0), seen.rgb

    memory, outputs = agent(core).initial_state(), []
    for moment in moments(core):
        (memory, output), rgb = look(memory, moment.shot.state)
        outputs.append(jax.device_get((rgb, output)))
    return outputs


def written(texts: list[str], selective: bool) -> list[int]:
    """Selective writing of words, in plain Python; or every step."""
    steps, since = [], 0
    for i, text in enumerate(texts):
        since = 0 if i == 0 or text != texts[i - 1] else since + 1
        if not selective or (since < WINDOW and text):
            steps.append(i)
    return steps


@pytest.mark.parametrize("core", ["dcem_match", "gtrxl"])
def test_the_strip_shows_the_views_that_were_written(core):
    told = moments(core)
    steps = written([moment.shot.text for moment in told], selective=core == "dcem_match")
    assert len(steps) > ROWS, "in this episode nothing is forgotten: choose another seed"
    for i, moment in enumerate(told):
        wanted = [step for step in steps if step <= i][-ROWS:]
        shown = {memory.step: memory for memory in moment.memories if memory is not None}
        assert moment.written == len(wanted)
        assert set(shown) <= set(wanted)
        if len(steps) <= PLACES:
            assert sorted(shown) == wanted
        for step, memory in shown.items():
            np.testing.assert_array_equal(memory.rgb, replayed(core)[step][0])
            assert memory.text == told[step].shot.text


def test_a_view_keeps_its_place():
    told = moments("dcem_match")
    for place in zip(*(moment.memories for moment in told), strict=True):
        assert len({memory.step for memory in place if memory is not None}) == 1


@pytest.mark.parametrize("core", ["dcem_match", "dnc", "gtrxl"])
def test_lit_by_what_is_read(core):
    lit = 0
    for moment, (_, output) in zip(moments(core), replayed(core), strict=True):
        weights, times = output.reads
        for memory in filter(None, moment.memories):
            share = weights[times == memory.step].sum() / max(weights.sum(), 1e-9)
            assert memory.share == pytest.approx(share, abs=1e-5)
            lit += share > 0.05
        if weights.any():
            assert sum(moment.thought.shares.values()) == pytest.approx(1)
    assert lit > 10


@pytest.mark.parametrize("core", ["dcem_match", "lstm"])
def test_thoughts_are_the_agents_outputs(core):
    for moment, (rgb, output) in zip(moments(core), replayed(core), strict=True):
        np.testing.assert_array_equal(moment.thought.rgb, rgb)
        np.testing.assert_allclose(moment.thought.probabilities, jax.nn.softmax(output.logits), atol=1e-5)
        assert moment.thought.value == pytest.approx(float(output.value), abs=1e-5)
    actions = [moment.thought.action for moment in moments(core)]
    assert actions[-1] == -1
    names = [env().level.actions[action] for action in actions[:-1]]
    assert [moment.shot.action for moment in moments(core)] == ["", *names]


def test_only_written_rows_are_held():
    ring, row = empty(4, (2,), "float32"), (jnp.ones(2),)
    for wanted in (False, True, True):
        ring = write(ring, row, jnp.array(wanted), after=row[0])
    assert _held(DNCState(None, ring, None)).tolist() == [1, 2, -1, -1]
    assert _held(LSTMState(None, None)) is None


def test_heads_add_up_and_what_was_not_read_is_left_out():
    reads = Reads(np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]), np.array([[4, 7, -1], [7, -1, -1]]))
    assert read_shares(reads) == {4: 0.25, 7: 0.75}
    assert read_shares(Reads(np.zeros((1, 2)), np.full((1, 2), -1))) == {}
    assert read_shares(Reads(np.zeros((0, 0)), np.zeros((0, 0), int))) == {}


def test_of_too_many_views_the_most_read_have_a_place():
    shots = [moments("dcem_match")[0].shot] * (PLACES + 2)
    picture = np.zeros((2, 2, 3), np.uint8)
    shares = {step: 1.0 / PLACES for step in range(PLACES + 2) if step not in (3, 8)}
    held = frozenset(range(PLACES + 2))
    told = remember(shots, [Thought(picture, np.ones(1), 0, 0.0, shares, held)] * len(shots))
    assert [memory.step for memory in told[-1].memories] == sorted(shares)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_a_thumbnail_is_the_view_in_a_frame_as_bright_as_its_share(share):
    rgb = moments("dcem_match")[0].thought.rgb
    one = Memory(0, rgb, "This is a dax", share)
    moment = Moment(moments("dcem_match")[0].shot, moments("dcem_match")[0].thought, (one, None), 1)
    view = Image.new("RGB", (mind.VIEW_WIDTH, mind.VIEW_HEIGHT))
    frame = np.asarray(mind.draw(view, moment, env().level.actions, mind.WIDTH, mind.TOP + mind.MEMORY), int)
    side, pitch = 64, (mind.WIDTH - 24) / PLACES
    x, y = round(12 + pitch / 2 - side / 2), mind.TOP + 34
    edge = frame[y + side // 2, x - 2]
    assert edge[0] == pytest.approx(62 + share**0.5 * (255 - 62), abs=1)
    # Its step is written over the corner; the rest is the view, brighter the more it is read.
    inside, want = frame[y + 20 : y + side, x : x + side], np.asarray(fit(Image.fromarray(rgb), side, side), int)[20:]
    dark = 0.4 * (1 - share**0.5)
    np.testing.assert_allclose(inside, (1 - dark) * want + dark * np.array(INK), atol=1)


class Saved(NamedTuple):
    agent: Agent


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The run folder of an agent that learned nothing and has no memory."""
    folder = tmp_path_factory.mktemp("runs") / "lstm"
    new_folder(folder, small("lstm"))
    checkpoint.save(folder / "checkpoints", "light", checkpoint.tensors_of(Saved(agent("lstm"))), small("lstm"), 1)
    return folder


def test_a_run_folder_becomes_a_film_and_without_a_memory_there_is_no_strip(run, tmp_path):
    out = tmp_path / "episode.gif"
    film_agent(run, out=out, seed=SEED, width=mind.WIDTH // 4)
    with Image.open(out) as picture:
        assert picture.size == (mind.WIDTH // 4, mind.TOP // 4)
        assert sum(1 for _ in ImageSequence.Iterator(picture)) == len(moments("lstm"))


def test_the_command_films_names_and_runs(run, tmp_path, monkeypatch):
    filmed = []
    monkeypatch.setattr(thinking, "film_agent", lambda *given, **options: filmed.append(given))
    monkeypatch.setattr(film, "film", lambda *given, **options: filmed.append(given))
    out = tmp_path / "episode.gif"
    for arguments in (["--actor", str(run)], [DESK, "--actor", str(run)], [DESK, "--actor", "random"], []):
        main(["film", *arguments, "--out", str(out)])
    assert filmed == [
        (str(run), None, out),
        (str(run), DESK, out),
        (DESK, "random", out),
        (DEFAULT_LEVEL, "expert", out),
    ]


def test_bad_input_is_one_sentence_and_leaves_no_film(run, tmp_path):
    nothing, out = run / "nothing", tmp_path / "episode.gif"
    for options, sentence in (
        ({"where": nothing}, "no run, checkpoint or weights file"),
        ({"level": "architecture_comparison/fast_map_three_objs"}, "46 actions"),
        ({"level": "desk/fast"}, "unknown level"),
        ({"episodes": 0}, "at least 1"),
        ({"out": tmp_path / "episode.avi"}, ".gif, .mp4 or .html"),
    ):
        with pytest.raises(DaxlabError, match=sentence):
            film_agent(**{"where": run, "out": out, **options})
    with pytest.raises(SystemExit):
        main(["film", "--actor", str(nothing), "--out", str(out)])
    assert not list(tmp_path.iterdir())
