"""The viewer's page in a real browser: it is played with its own keys, stepped, rewound, and its names are swapped."""

from __future__ import annotations

import contextlib
import threading

import numpy as np
import pytest

from daxlab.levels.episode import RIGHT
from daxlab.levels.vocabulary import WORDS
from daxlab.viewer.film import film
from daxlab.viewer.offers import YOU, Offers
from daxlab.viewer.programs import Wait
from daxlab.viewer.server import Server
from daxlab.viewer.sessions import Sessions
from daxlab.world.control import CONTROLS, action_table
from tests import browser
from tests.small import DESK

KEYS = {
    "MOVE_RIGHT": ("d", "a"),
    "MOVE_FORWARD": ("w", "s"),
    "LOOK_RIGHT": ("\ue014", "\ue012"),
    "LOOK_DOWN": ("\ue015", "\ue013"),
    "SPIN_RIGHT": ("i", "k"),
    "SPIN_UP": ("l", "j"),
    "SPIN_FORWARD": ("o", "u"),
    "PULL": ("r", "f"),
    "GRAB": (" ",),
}
"""The keys of each control, for + and −; those with odd codes are WebDriver's arrows."""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    page = browser.start(tmp_path_factory.mktemp("profile"))
    yield page
    page.driver.quit()


@pytest.fixture(scope="module")
def server():
    server = Server(Sessions(Offers("expert", DESK, seed=4, runs=None)))
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def session(server, page):
    """The session of the page, which has just been opened."""
    for token in list(server.sessions._places):
        server.sessions.close(token)
    page.open(server.address)
    (place,) = server.sessions._places.values()
    yield place.session
    # A refusal that the page shows as a sentence, the browser notes as well.
    assert [line for line in page.errors() if "400" not in line] == []


def press(page, keys: str) -> None:
    """Hold keys, take one step, let go."""
    from selenium.webdriver import ActionChains

    before = int(page["drawn"])
    chain = ActionChains(page.driver, duration=0)
    for key in keys:
        chain.key_down(key)
    chain.send_keys(".")
    for key in keys:
        chain.key_up(key)
    chain.perform()
    page.until("drawn", lambda drawn: int(drawn) > before)


def chosen(page, id: str, value: str) -> None:
    before = int(page["drawn"])
    page.choose(id, value)
    page.until("drawn", lambda drawn: int(drawn) > before)


def clicked(page, id: str) -> None:
    before = int(page["drawn"])
    page.click(id)
    page.until("drawn", lambda drawn: int(drawn) > before)


def test_the_page_opens_with_a_picture_and_plays_the_expert_to_success(page, session):
    assert page.picture("view") == [480, 360]
    assert page.picture("seen") == list(session.env.level.picture)
    assert page.text("phase") == "discovery"
    assert "script" in page.text("bars")
    assert "script" in page.text("strip")
    page.choose("speed", "1000")
    page.click("play")
    page.until("outcome", lambda outcome: outcome != "")
    assert page["outcome"] == "right"
    assert session.frames[-1].shot.text in page.text("text")


def test_steps_go_on_and_back_to_the_same_picture(page, session):
    def shown():
        return page.driver.execute_script("return document.getElementById('view').src"), page.text("count")

    pictures = [shown()]
    for i in range(1, 5):
        clicked(page, "step")
        assert page["index"] == str(i)
        pictures.append(shown())
    assert len(set(pictures)) == 5
    for i in (3, 2):
        clicked(page, "back")
        assert (page["index"], page["length"]) == (str(i), "5")
        assert shown() == pictures[i]
    clicked(page, "first")
    assert shown() == pictures[0]
    page.driver.execute_script("const s = document.getElementById('slider'); s.value = 4; s.oninput({target: s})")
    page.until("index", lambda index: index == "4")
    assert shown() == pictures[4]


def test_every_degree_of_freedom_has_its_keys(page, session):
    chosen(page, "actor", YOU)
    press(page, "")
    assert session.frames[-1].shot.action == "NOOP"
    for name, keys in KEYS.items():
        for key, sign in zip(keys, ("", "-"), strict=False):
            press(page, key)
            assert session.frames[-1].shot.action == (name if name == "GRAB" else f"{name}({sign}1)")
    press(page, "wd ")
    assert session.frames[-1].shot.action == "GRAB + MOVE_RIGHT(1) + MOVE_FORWARD(1)"
    press(page, "\ue008w")
    assert session.frames[-1].shot.action == "MOVE_FORWARD(0.2)"
    assert set(KEYS) == set(CONTROLS)


def test_the_mouse_looks_grips_and_pulls(page, session):
    from selenium.webdriver import ActionChains

    chosen(page, "actor", YOU)
    press(page, "")
    view = page.find("view")
    ActionChains(page.driver, duration=0).move_to_element(view).click().perform()
    page.until("playing", lambda _: page.driver.execute_script("return document.pointerLockElement !== null"))
    ActionChains(page.driver, duration=0).move_by_offset(40, 0).perform()
    press(page, "")
    turned = session.frames[-1].shot.action
    assert turned.startswith("LOOK_RIGHT(0.")
    press(page, "")
    assert session.frames[-1].shot.action == "NOOP", "a movement counts once"
    ActionChains(page.driver, duration=0).click_and_hold().perform()
    press(page, "")
    assert session.frames[-1].shot.action == "GRAB"
    ActionChains(page.driver, duration=0).release().scroll_by_amount(0, 100).perform()
    press(page, "")
    assert session.frames[-1].shot.action == "PULL(0.5)"
    page.driver.execute_script("document.exitPointerLock()")


def test_the_experts_keys_lead_to_success(page, session):
    level = session.env.level
    chosen(page, "actor", YOU)
    chosen(page, "seed", "5")
    press(page, "")
    expert = None
    while expert is None:
        with contextlib.suppress(Wait):
            expert = session.programs.script(level, "expert")
    while page["outcome"] == "":
        controls = action_table(level.actions)[expert(session.frames[-1].state)]
        keys = [KEYS[name][0 if x > 0 else 1] for name, x in zip(CONTROLS, controls, strict=True) if x]
        press(page, "".join(keys))
        np.testing.assert_array_equal(session.frames[-1].shot.state.clock, int(page["clock"]))
    assert page["outcome"] == "right"
    assert page.text("about") == "played as an agent plays"
    assert session.frames[-1].shot.total == pytest.approx(1.3)


def test_the_shipped_agent_follows_a_swap_of_names(page, session):
    chosen(page, "actor", "pretrained:room")
    page.until("minded", lambda minded: minded == "true")
    chosen(page, "seed", "0")
    state = session.frames[0].state
    target = int(state.target)
    other = (target + 1) % 3
    for slot in (target, other):
        page.driver.find_element("css selector", f"#objects input[value='{slot}']").click()
    clicked(page, "swap")
    assert "swapped at step 0" in page.text("changes")
    page.choose("speed", "1000")
    page.click("play")
    page.until("outcome", lambda outcome: outcome != "")
    end = session.frames[-1].state
    word = WORDS[int(state.names[target])]
    assert session.frames[-1].shot.text == f"Pick up a {word}"
    assert int(end.lifted) == other, "it lifts what bears the name now, not what bore it"
    assert int(end.outcome) == RIGHT
    # What it read to decide is what was keyed by the word it was told, and lit.
    lit = "return [...document.querySelectorAll('.group')].map(g => [g.dataset.word, g.style.getPropertyValue('--p')])"
    shares = {name: float(share) for name, share in page.driver.execute_script(lit) if float(share) > 0}
    assert max(shares, key=lambda name: shares[name]) == word
    clicked(page, "back")
    step = page.driver.execute_script(f"return document.querySelector('[data-word={word}] .thumb').dataset.step")
    page.driver.execute_script("document.querySelector(`.thumb[data-step='${arguments[0]}'] button`).click()", step)
    page.until("drawn", lambda _: f"the row of step {step} cleared" in page.text("changes"))
    assert int(step) not in session.frames[session.cursor].thought.held


def test_names_and_rows_are_changed_in_place_and_a_wrong_word_suggests_the_near_one(page, session):
    def write(word: str) -> None:
        script = "const x = document.querySelector('#objects input[type=text]'); x.value = arguments[0];"
        page.driver.execute_script(script + "x.dispatchEvent(new Event('change'))", word)

    write("daks")
    page.until("playing", lambda _: "did you mean dax" in page.text("toast"))
    assert session.changes == []
    write("Yok ")
    page.until("playing", lambda _: "object 1 is now the yok at step 0" in page.text("changes"))
    assert WORDS[int(session.frames[0].state.names[0])] == "yok"


def test_a_page_whose_session_was_freed_begins_again(page, session, server):
    clicked(page, "step")
    (token,) = server.sessions._places
    server.sessions.close(token)
    clicked(page, "step")
    assert "begins again" in page.text("toast")
    assert (page["index"], len(server.sessions)) == ("0", 1)
    # The browser notes that it was told so.
    assert all("410" in line for line in page.errors())


def test_a_replay_shows_every_moment_without_a_server(page, tmp_path):
    out = film(DESK, "expert", tmp_path / "episode.html", seed=4)
    assert out.stat().st_size < 4_000_000
    page.open(out.as_uri())
    length = int(page["length"])
    assert page.picture("view") == [480, 360]
    page.click("step")
    page.until("index", lambda index: index == "1")
    page.driver.execute_script(
        "const s = document.getElementById('slider'); s.value = arguments[0]; s.oninput({target: s})", length - 1
    )
    assert page["outcome"] == "right"
    assert page.text("text").startswith("“Pick up a ")
    assert page.driver.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert page.errors() == []
