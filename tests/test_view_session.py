"""A session of the viewer: it plays what an evaluation plays, goes back, and goes on with something changed."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np
import pytest

from daxlab import cli_view
from daxlab.agents.agent import Agent
from daxlab.cli import main
from daxlab.errors import DaxlabError
from daxlab.learning import checkpoint
from daxlab.learning.loop import new_agent
from daxlab.learning.run import new_folder
from daxlab.levels import registry
from daxlab.levels.env import Env
from daxlab.levels.episode import RIGHT, WRONG
from daxlab.levels.vocabulary import WORDS
from daxlab.viewer import programs as making
from daxlab.viewer import recollection, whatif
from daxlab.viewer.film import rules
from daxlab.viewer.frame import first_keys
from daxlab.viewer.human import Scores
from daxlab.viewer.offers import DEFAULT_LEVEL, YOU, Offers
from daxlab.viewer.programs import Programs, Wait
from daxlab.viewer.session import MOST_SEED, Session
from daxlab.viewer.thinking import record
from daxlab.world.control import ACTIONS, action_table, controls, spoken
from tests.small import DESK, THOROUGH, small

SEED = 4


class Saved(NamedTuple):
    agent: Agent


@cache
def programs():
    return Programs()


@cache
def agent():
    return new_agent(small("dcem_match"), Env(DESK), jax.random.key(1))


def save(folder: Path, updates: int, agent: Agent) -> None:
    checkpoint.save(folder / "checkpoints", "light", checkpoint.tensors_of(Saved(agent)), small("dcem_match"), updates)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The run folder of an agent that learned nothing."""
    folder = tmp_path_factory.mktemp("runs") / "dcem"
    new_folder(folder, small("dcem_match"))
    save(folder, 1, agent())
    return folder


def ready(do, *given, **options):
    """Ask until it is compiled."""
    while True:
        try:
            return do(*given, **options)
        except Wait:
            pass


def begin(actor="expert", seed=SEED, scores=None, **offers) -> Session:
    session = Session(programs(), Offers(str(actor), DESK, seed, None, **offers), scores)
    ready(session.choose)
    return session


def play(session: Session, steps: int | None = None) -> Session:
    before = len(session.frames)
    while not session.frames[-1].shot.ended and len(session.frames) - before != steps:
        ready(session.step)
    return session


def now(session: Session) -> str:
    """All that the page shows of this moment, pictures included."""
    frame = ready(session.tell, fresh=True)
    return json.dumps({name: frame[name] for name in frame if name not in ("changes", "fair", "length")})


def told(session: Session) -> list[str]:
    """The same of every moment."""
    return [(session.seek(i), now(session))[1] for i in range(len(session.frames))]


def test_a_trained_agent_plays_the_episode_that_evaluation_and_film_play(run):
    moments = record(Env(DESK), agent(), SEED)
    session = play(begin(run))
    assert len(session.frames) == len(moments)
    for i, (frame, moment) in enumerate(zip(session.frames, moments, strict=True)):
        session.seek(i)
        panels = ready(session.tell)
        assert frame.shot.text == moment.shot.text
        np.testing.assert_array_equal(frame.state.world.agent, moment.shot.state.world.agent)
        np.testing.assert_array_equal(frame.state.world.heading, moment.shot.state.world.heading)
        assert panels["mind"]["value"] == round(moment.thought.value, 3)
        taken = [bar["action"] for bar in panels["mind"]["bars"] if bar["taken"]]
        assert taken == ([Env(DESK).level.actions[moment.thought.action]] if moment.thought.action >= 0 else [])
        groups = panels["mind"]["memory"]["groups"]
        shares = {row["step"]: row["share"] for group in groups for row in group["rows"]}
        assert panels["mind"]["memory"]["rows"] == moment.written
        for step, share in moment.thought.shares.items():
            if step in shares:
                assert shares[step] == round(share, 4)
        for group in groups:
            assert all(session.frames[row["step"]].shot.text == group["text"] for row in group["rows"])


def test_the_expert_succeeds_and_the_page_is_told_of_it():
    session = play(begin())
    panels = ready(session.tell)
    assert panels["outcome"] == "right"
    assert panels["total"] == pytest.approx(1.3)
    assert panels["mind"] is None
    asked = [o for o in panels["map"]["objects"] if o["asked"]]
    assert panels["text"] == f"Pick up a {asked[0]['name']}"
    assert [o["held"] for o in asked] == [True]
    before = len(session.frames)
    ready(session.step)
    assert len(session.frames) == before, "an ended episode stays as it is"


@pytest.mark.parametrize("actor", ["expert", "random", "run"])
def test_going_back_and_on_again_shows_the_same(actor, run):
    session = play(begin(run if actor == "run" else actor), 12)
    first = told(session)
    session.seek(3)
    assert now(session) == first[3]
    for i in range(4, len(first)):
        ready(session.step)
        assert now(session) == first[i]
    ready(session.step)
    assert len(session.frames) == len(first) + 1


def test_a_change_that_is_taken_back_leaves_no_trace(run, monkeypatch):
    # Memories are kept at few moments, so that they must be worked out again, and edits lie between.
    monkeypatch.setattr(recollection, "KEPT", 4)
    session = play(begin(run))
    first = told(session)
    session.seek(6)
    ready(session.swap, 0, 1)
    ready(session.swap, 1, 0)
    assert len(session.frames) == 7
    play(session)
    assert told(session) == first
    assert not session.fair


def test_swapped_names_change_what_is_said_and_what_is_right():
    session = play(begin())
    state = session.frames[0].state
    target = int(state.target)
    other = (target + 1) % 3
    word = WORDS[int(state.names[target])]
    session.seek(0)
    ready(session.swap, target, other)
    play(session)
    after = session.frames[-1].state
    assert int(after.outcome) == RIGHT
    assert int(after.lifted) == other, "the expert follows the word, not the object"
    assert session.frames[-1].shot.text == f"Pick up a {word}"
    heard = {frame.shot.text for frame in session.frames if int(frame.state.fixated) == target}
    assert f"This is a {WORDS[int(state.names[other])]}" in heard
    assert f"This is a {word}" not in heard


def test_a_renamed_object_is_called_so_and_asked_for_so():
    session = begin()
    target = int(session.frames[0].state.target)
    ready(session.rename, target, "yok")
    play(session)
    assert session.frames[-1].shot.text == "Pick up a yok"
    assert int(session.frames[-1].state.outcome) == RIGHT
    assert session.changes == [f"object {target + 1} is now the yok at step 0"]


def written(session: Session) -> list[int]:
    """Steps of the rows that the agent can read as it comes to this moment, oldest first."""
    ring = session.memories.at(session.cursor).core.ring
    slots = np.asarray(whatif.newest_first(ring))[: int(ring.written)]
    return np.asarray(ring.time)[slots][::-1].tolist()


def full(session: Session) -> list[int]:
    """Moments at which the memory holds a few rows."""
    return [i for i, frame in enumerate(session.frames) if frame.thought is not None and len(frame.thought.held) >= 3]


def test_a_cleared_row_is_read_no_more_and_the_others_stay(run):
    session = play(begin(run))
    session.seek(full(session)[3])
    before, thought = written(session), session.frames[session.cursor].thought
    gone = max((step for step in thought.shares if step in before), key=lambda step: thought.shares[step])
    ring = session.memories.at(session.cursor).core.ring
    keep = [row for step, row in zip(before, range(len(before)), strict=True) if step != gone]
    old = [np.asarray(column)[np.asarray(whatif.newest_first(ring))] for column in ring.columns]
    ready(session.forget, [gone])
    assert written(session) == [step for step in before if step != gone]
    ring = session.memories.at(session.cursor).core.ring
    for was, column in zip(old, ring.columns, strict=True):
        rows = was[: len(before)][::-1][keep]
        np.testing.assert_array_equal(np.asarray(column)[: len(rows)], rows)
    panels = ready(session.tell)
    again = session.frames[session.cursor].thought
    assert gone not in again.shares
    assert gone not in again.held
    assert panels["changes"] == [f"the row of step {gone} cleared at step {session.cursor}"]
    with pytest.raises(DaxlabError, match="no row of that step"):
        session.forget([gone])
    play(session)


def test_a_cleared_memory_is_empty_and_is_written_again(run):
    session = play(begin(run))
    at = full(session)[2]
    session.seek(at)
    ready(session.forget)
    assert written(session) == []
    ready(session.tell)
    assert session.frames[session.cursor].thought.shares == {}
    play(session)
    ready(session.tell)
    assert all(step >= at for step in session.frames[-1].thought.held)


def test_an_object_is_added_to_the_same_episode_of_a_level_of_ones_own(tmp_path):
    path = tmp_path / "two.toml"
    path.write_text(f'base = "{DESK}"\nnum_objects = 2\nobjects = ["boat", "cake", "chair"]\n')
    session = Session(programs(), Offers("expert", str(path), SEED, None).checked())
    ready(session.choose)
    ready(session.choose, seed=SEED + 1)
    assert session.tell()["level"] == str(path)
    before = session.frames[0].state
    ready(session.choose, another=True)
    after = session.frames[0].state
    assert (len(before.names), len(after.names)) == (2, 3)
    np.testing.assert_array_equal(before.names, after.names[:2])
    np.testing.assert_array_equal(before.layout.mesh, after.layout.mesh[:2])
    assert int(before.target) == int(after.target)
    assert session.changes == ["object 3 added"]
    assert not session.fair
    with pytest.raises(DaxlabError, match="allows 1…3"):
        session.choose(another=True)


@pytest.mark.parametrize(
    ("do", "says"),
    [
        (lambda s: s.rename(0, "daks"), "did you mean dax"),
        (lambda s: s.rename(0, WORDS[int(s.frames[0].state.names[1])]), "another object here is the"),
        (lambda s: s.rename(7, "dax"), "this room has 0…2"),
        (lambda s: s.swap(1, 1), "two different objects"),
        (lambda s: s.swap(-1, 1), "this room has 0…2"),
        (lambda s: s.seek(1), "there is no moment 1"),
        (lambda s: s.forget(), "has no memory to clear"),
        (lambda s: s.act([0.0] * 9), "choose 'you' to play"),
        (lambda s: s.choose(seed=-1), "seed is -1"),
        (lambda s: s.choose(actor="exprt"), "did you mean expert"),
        (lambda s: s.choose(actor="/etc/passwd"), "unknown actor"),
        (lambda s: s.choose(level="desk/fast_map"), "unknown level"),
        (lambda s: s.choose(actor="pretrained:room", level=DESK), "8 actions"),
    ],
)
def test_what_cannot_be_is_one_sentence_and_changes_nothing(do, says):
    session = begin()
    before = told(session)
    with pytest.raises(DaxlabError, match=says):
        ready(do, session)
    assert told(session) == before
    assert session.changes == []
    assert session.fair


def test_an_agent_that_cannot_play_the_level_is_shown_in_its_own():
    session = begin()
    ready(session.choose, actor=YOU)
    assert session.tell()["level"] == DESK
    path = session.offers.weights("pretrained:room")
    assert session._env(None, path)[1] == registry.get("architecture_comparison/fast_map_three_objs").name
    assert session._env(None, None)[1] == DESK


def test_a_followed_run_shows_its_newest_checkpoint_from_the_next_episode_on(run):
    session = play(begin(run), 2)
    ready(session.tell)
    other = new_agent(small("dcem_match"), Env(DESK), jax.random.key(2))
    before = session._agent().steps
    save(run, 2, other)
    assert session._agent().steps == before
    ready(session.choose, seed=SEED + 1)
    assert ready(session._agent).steps == 2 * before
    assert len([key for key in programs()._jobs if key[0] == "mind"]) == 1, "other weights need no other program"


def test_a_run_without_a_checkpoint_is_waited_for(tmp_path):
    new_folder(tmp_path / "young", small("dcem_match"))
    offers = Offers(str(tmp_path / "young")).checked()
    with pytest.raises(Wait, match="first checkpoint of young"):
        offers.weights(offers.actor)


def test_a_weights_file_is_read_once_until_it_is_another(tmp_path, monkeypatch):
    path, read = tmp_path / "mine.safetensors", []
    load = checkpoint.load
    monkeypatch.setattr(checkpoint, "load", lambda path: (read.append(path), load(path))[1])
    offers = Offers(str(path), None, 0, tmp_path)
    for level in (DESK, DEFAULT_LEVEL):
        config = replace(small("dcem_match"), level=level)
        checkpoint.export(checkpoint.tensors_of(Saved(agent())), config, 1, path)
        assert {offers.env(None, path).level.name for _ in range(5)} == {level}
    assert read == [path, path]


@pytest.mark.parametrize("seed", [0, SEED, MOST_SEED])
def test_the_keys_of_an_episode_are_those_of_an_evaluation(seed):
    key = jax.random.split(jax.random.key(seed), 1)[0]
    np.testing.assert_array_equal(first_keys(seed), jax.random.key_data(jax.random.split(key)))


def test_the_first_picture_is_there_before_the_agent_and_stays_as_it_is(run, monkeypatch):
    looked, mind = threading.Event(), making._mind
    # However fast the machine compiles, the mind is not there until the first look was taken.
    monkeypatch.setattr(making, "_mind", lambda *given: (looked.wait(30), mind(*given))[1])
    session = Session(Programs(), Offers(str(run), DESK, SEED, None))
    ready(session.choose)
    first = session.tell(fresh=True)
    looked.set()
    assert first["pending"]
    assert first["mind"] is None
    play(session, 3).seek(0)
    later = ready(session.tell, fresh=True)
    assert later["mind"] is not None
    assert later["view"] == first["view"]
    assert later["pictures"] == first["pictures"]


def test_a_room_is_the_same_however_briefly_its_start_was_compiled():
    level, (key, _) = registry.get(DESK), first_keys(SEED)
    starts = rules(level).start, jax.jit(Env(level).start, compiler_options=THOROUGH)
    brief, thorough = (jax.tree.leaves(start(key)) for start in starts)
    for one, other in zip(brief, thorough, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_runs_in_the_folder_are_offered_and_nothing_else(run, tmp_path):
    offers = Offers(runs=run.parent)
    assert str(run) in offers.actors()
    for actor in (f"{run.parent}/../etc", str(tmp_path), str(run / "checkpoints"), f"{run}/", "pretrained:../room"):
        with pytest.raises(DaxlabError, match="unknown actor"):
            offers.weights(actor)


def test_controls_are_spoken_in_the_words_of_the_actions():
    assert [spoken(controls(action)) for action in ACTIONS] == list(ACTIONS)


def expert_controls(session: Session) -> list[float]:
    level = session.env.level
    return action_table(level.actions)[ready(programs().script, level, "expert")(session.frames[-1].state)].tolist()


def test_a_person_is_scored_as_an_agent_is(tmp_path):
    scores = Scores(tmp_path / "new" / "human.json", registry.get(DESK), 2, seed=7)
    session = begin(YOU, scores=scores, human=True)
    assert session.seed == 7
    panels = ready(session.tell)
    assert panels["map"] is None, "an agent has no map"
    with pytest.raises(DaxlabError, match="nothing can be changed"):
        session.swap(0, 1)
    with pytest.raises(DaxlabError, match="to its end first"):
        session.choose()
    while not session.frames[-1].shot.ended:
        session.seek(0)
        ready(session.act, expert_controls(session))
    kept = json.loads(scores.path.read_text())
    assert kept["success"] == 1.0
    shot = session.frames[-1].shot
    assert kept["played"] == [{"seed": 7, "outcome": "right", "steps": int(shot.state.clock), "return": 1.3}]
    assert not scores.done.is_set()
    ready(session.choose)
    assert session.seed == 8
    scores.add(7, WRONG, 5, 0.0)
    scores.add(8, WRONG, 5, 0.0)
    kept = json.loads(scores.path.read_text())
    assert [row["outcome"] for row in kept["played"]] == ["right", "wrong"]
    assert kept["success"] == 0.5
    assert scores.done.is_set()
    assert [path.name for path in scores.path.parent.iterdir()] == ["human.json"]
    later = Scores(scores.path, registry.get(DESK), 1, seed=7)
    assert later.next_seed() == 9
    assert len(later.played) == 2
    with pytest.raises(DaxlabError, match="keeps a person's score on"):
        Scores(scores.path, registry.get("corridor/fast_map_train"), 1)
    scores.path.write_text("[]")
    with pytest.raises(DaxlabError, match="no file of a person's score"):
        Scores(scores.path, registry.get(DESK), 1)


def test_free_play_may_go_back_but_says_so():
    session = begin(YOU)
    for _ in range(4):
        ready(session.act, [0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    assert session.frames[-1].shot.action == "GRAB + LOOK_RIGHT(0.5)"
    assert session.fair
    session.seek(1)
    ready(session.act, [0.0] * 9)
    assert len(session.frames) == 3
    assert not session.fair
    for given in ([0.0] * 8, [0.0] * 8 + [1.5], [float("nan")] * 9):
        with pytest.raises(DaxlabError, match="9 numbers in -1…1"):
            session.act(given)


def test_the_human_command_prints_the_line_that_agents_are_compared_with(tmp_path, monkeypatch, capsys):
    def two_episodes(server, done):
        assert server.server_address[0] == "127.0.0.1"
        assert server.sessions.offers.actors() == [YOU]
        for seed, outcome in ((1000, RIGHT), (1001, WRONG)):
            assert not done.is_set()
            server.sessions.scores.add(seed, outcome, 20, 1.3)
        assert done.is_set()
        server.server_close()

    monkeypatch.setattr(cli_view, "serve", two_episodes)
    out = tmp_path / "human.json"
    main(["human", "--level", DESK, "--episodes", "2", "--out", str(out)])
    said = capsys.readouterr().out
    assert f"you on {DESK}: success 0.500 (0.095…0.905; chance 0.333) in 2 of 2 episodes" in said
    assert json.loads(out.read_text())["interval"] == [0.0945, 0.9055]
