"""The viewer's server: many pages at once, pages that vanish, and requests that it must refuse."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from daxlab.cli import main
from daxlab.errors import DaxlabError
from daxlab.viewer import programs as making
from daxlab.viewer.offers import Offers
from daxlab.viewer.server import MOST_BYTES, Server
from daxlab.viewer.sessions import IDLE_SECONDS, Full, Gone, Sessions
from daxlab.viewer.web import FOLDER, page
from tests.small import DESK

VIEWERS = 20


@pytest.fixture(scope="module")
def made():
    """What was compiled, in order: (kind, of what)."""
    return []


@pytest.fixture(scope="module")
def server(made):
    patch = pytest.MonkeyPatch()
    for kind in ("_stage", "_motion", "_script"):
        make = getattr(making, kind)
        patch.setattr(making, kind, lambda *of, kind=kind, make=make: (made.append((kind, *of)), make(*of))[1])
    server = Server(Sessions(Offers("expert", DESK, runs=None)))
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()
    patch.undo()


def port(server: Server) -> int:
    return server.server_address[1]


def request(server, method="POST", path="/api/open", body="{}", **headers):
    """One request on a connection of its own: status and what was said."""
    connection = http.client.HTTPConnection("127.0.0.1", port(server), timeout=60)
    given = {"Content-Type": "application/json"} | {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body, {name: value for name, value in given.items() if value is not None})
    answer = connection.getresponse()
    said = answer.read()
    connection.close()
    return answer.status, said if path == "/" and method == "GET" else json.loads(said)


def ask(server, session, command, **fields):
    """As a page asks: again until it is compiled."""
    status = 202
    while status == 202:
        status, told = request(server, path=f"/api/{command}", body=json.dumps({**fields, "session": session}))
    assert status == 200, told
    return told


def opened(server) -> str:
    return request(server)[1]["session"]


def test_twenty_pages_at_once_each_see_their_own_episode_and_share_the_programs(server, made):
    def watch(seed: int) -> list[str]:
        session = opened(server)
        texts = [ask(server, session, "choose", seed=seed % 5)["text"]]
        texts += [ask(server, session, "step")["text"] for _ in range(12)]
        request(server, path="/api/close", body=json.dumps({"session": session}))
        return texts

    with ThreadPoolExecutor(VIEWERS) as pool:
        seen = list(pool.map(watch, range(VIEWERS)))
    assert all(seen[i] == seen[i % 5] for i in range(VIEWERS))
    assert len({tuple(texts) for texts in seen}) == 5
    assert len(made) == len({kind for kind, *_ in made}) == 3
    assert len(server.sessions) == 0


def test_pages_that_vanish_at_any_moment_leave_the_server_healthy(server):
    session = opened(server)
    body = json.dumps({"session": session}).encode()
    head = b"POST /api/step HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    whole = head % len(body) + body
    for cut in (0, 10, len(whole) - 3, len(whole), len(whole)):
        with socket.create_connection(("127.0.0.1", port(server))) as gone:
            gone.sendall(whole[:cut])
            if cut == len(whole):
                gone.recv(100)
            # Nothing more is read, and the other side is told so as rudely as possible.
            gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
    assert ask(server, session, "step")["length"] > 1
    assert ask(server, opened(server), "show")["clock"] == 0


def test_the_page_is_one_file_that_loads_nothing(server):
    status, html = request(server, "GET", "/", None)
    assert status == 200
    text = html.decode()
    for part in ("style.css", "panels.js", "live.js"):
        assert (FOLDER / part).read_text() in text
    assert "/*data*/" not in text
    assert text.replace("http://www.w3.org/2000/svg", "").count("http") == 0
    assert 'src="' not in text.replace('src="data:', "")
    assert page("replay.js", "const X = 1;").count("const X = 1;") == 1


REFUSED = [
    ({"method": "GET", "path": "/../../etc/passwd", "body": None}, 404, "nothing at this address"),
    ({"method": "GET", "path": "//etc/passwd", "body": None}, 404, "nothing at this address"),
    ({"method": "GET", "path": "/%2e%2e/%2e%2e/etc/passwd", "body": None}, 404, "nothing at this address"),
    ({"method": "GET", "path": "/web/live.js", "body": None}, 404, "nothing at this address"),
    ({"path": "/open"}, 404, "/api/"),
    ({"method": "PUT"}, 405, "only GET / and POST"),
    ({"method": "DELETE", "path": "/"}, 405, "only GET / and POST"),
    ({"body": "x" * (MOST_BYTES + 1)}, 413, f"at most {MOST_BYTES}"),
    ({"body": None, "Content_Length": "1000000000000"}, 413, f"at most {MOST_BYTES}"),
    ({"body": None, "Content_Length": "-5"}, 413, "bytes"),
    ({"body": None, "Content_Length": "many"}, 411, "length"),
    ({"body": "{"}, 400, "not JSON"),
    ({"body": "\xff\xfe".encode("latin1")}, 400, "not JSON"),
    ({"body": "[" * 9000}, 400, "not JSON"),
    ({"body": "[1]"}, 400, "JSON object"),
    ({"Content_Type": "text/plain"}, 415, "application/json"),
    ({"Content_Type": None}, 415, "application/json"),
    ({"Host": "evil.example"}, 403, "this server is not"),
    ({"Host": "127.0.0.1.evil.example:80"}, 403, "this server is not"),
    ({"Host": "10.1.2.3"}, 403, "this server is not"),
    ({"Host": "[::1"}, 403, "this server is not"),
    ({"Origin": "http://evil.example"}, 403, "another site"),
    ({"Origin": "null"}, 403, "another site"),
    ({"Origin": "http://["}, 403, "another site"),
    ({"path": "/api/show", "body": '{"session": "nobody"}'}, 410, "has ended"),
    ({"path": "/api/show", "body": '{"session": ["x"]}'}, 400, "no session"),
    ({"path": "/api/show"}, 400, "no session"),
]


@pytest.mark.parametrize(("given", "status", "says"), REFUSED, ids=lambda x: str(x)[:60])
def test_what_is_no_request_of_the_page_is_refused_with_a_sentence(server, given, status, says):
    got, said = request(server, **given)
    assert got == status
    assert says in said["error"]
    assert set(said) == {"error"}


@pytest.mark.parametrize(
    ("command", "fields", "says"),
    [
        ("stp", {}, "did you mean step"),
        ("seek", {}, "index must be a whole number"),
        ("seek", {"index": 1.5}, "index must be a whole number"),
        ("seek", {"index": True}, "index must be a whole number"),
        ("seek", {"index": 10**30}, "index must be a whole number"),
        ("seek", {"index": 99}, "there is no moment 99"),
        ("choose", {"actor": 3}, "actor must be a text"),
        ("choose", {"actor": "x" * 1000}, "actor must be a text"),
        ("choose", {"actor": "../../etc/passwd"}, "unknown actor"),
        ("choose", {"actor": "pretrained:../room"}, "unknown actor"),
        ("choose", {"level": "/etc/passwd"}, "unknown level"),
        ("choose", {"level": '{"name": "mine"}'}, "unknown level"),
        ("choose", {"level": "desk/fast_map_three_obj"}, f"did you mean {DESK}"),
        ("act", {"controls": [0] * 8 + ["1"]}, "controls must be a list"),
        ("act", {"controls": {"GRAB": 1}}, "controls must be a list"),
        ("act", {"controls": [float("nan")] * 9}, "finite"),
        ("rename", {"slot": 0, "word": "<script>"}, "unknown word"),
    ],
)
def test_a_message_that_makes_no_sense_is_refused_and_changes_nothing(server, command, fields, says):
    session = opened(server)
    before = ask(server, session, "show", fresh=True)
    status, said = request(server, path=f"/api/{command}", body=json.dumps({**fields, "session": session}))
    assert status == 400
    assert says in said["error"]
    assert ask(server, session, "show", fresh=True) == before
    server.sessions.close(session)


def test_what_is_not_http_at_all_is_refused_too(server):
    for noise in (
        b"\x16\x03\x01 hello\r\n\r\n",
        b"GET /\xff HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 200,
    ):
        with socket.create_connection(("127.0.0.1", port(server)), timeout=20) as talk:
            talk.sendall(noise)
            said = talk.recv(4000)
        assert b" 4" in said[:14] or b" 5" in said[:14] or b'"error"' in said
        assert b"Traceback" not in said
    assert request(server, "GET", "/", None)[0] == 200


def test_a_mistake_of_ours_is_not_shown_to_the_page(server, monkeypatch, capfd):
    def fail() -> dict:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(server.sessions, "open", fail)
    status, said = request(server)
    assert status == 500
    assert "secret" not in json.dumps(said)
    assert "secret" in capfd.readouterr().err


def test_it_listens_on_loopback_only_and_knows_its_own_names(server):
    assert server.server_address[0] == "127.0.0.1"
    assert server.address == f"http://127.0.0.1:{port(server)}/"
    for host in ("127.0.0.1", "localhost", f"localhost:{port(server)}", "[::1]:80", "127.0.0.1:9"):
        assert server.knows(host)
    with Server(server.sessions, "0.0.0.0") as open_to_all:
        assert all(open_to_all.knows(host) for host in ("10.1.2.3:80", socket.gethostname(), "localhost"))
        assert not open_to_all.knows("evil.example")
    assert request(server, Origin=f"http://localhost:{port(server)}", Host=f"localhost:{port(server)}")[0] == 200
    with pytest.raises(DaxlabError, match=f"cannot listen on 127.0.0.1 port {port(server)}"):
        Server(server.sessions, port=port(server))


def test_there_are_so_many_places_and_those_that_are_left_are_freed():
    now = [0.0]
    sessions = Sessions(Offers("expert", DESK, runs=None), most=2, clock=lambda: now[0])
    first, second = (sessions.open()["session"] for _ in range(2))
    with pytest.raises(Full, match="2 pages are open"):
        sessions.open()
    now[0] = IDLE_SECONDS - 1
    sessions.get(second)
    now[0] = IDLE_SECONDS + 1
    third = sessions.open()["session"]
    assert len({first, second, third}) == 3
    sessions.get(second)
    with pytest.raises(Gone):
        sessions.get(first)
    sessions.close(third)
    sessions.close(third)
    sessions.open()


def test_a_page_is_told_what_it_waits_for_and_is_served_once_it_is_there(server, monkeypatch):
    go = threading.Event()
    stage = making._stage
    monkeypatch.setattr(making, "_stage", lambda level: (go.wait(60), stage(level))[1])
    monkeypatch.setattr(server, "sessions", Sessions(server.sessions.offers))
    session = opened(server)
    body = json.dumps({"session": session})
    status, said = request(server, path="/api/show", body=body)
    assert (status, said) == (202, {"wait": "building the room"})
    go.set()
    assert ask(server, session, "show")["clock"] == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("view", "--actor", "exprt"), "did you mean expert"),
        (("view", "--actor", "runs/nothing"), "no run, checkpoint or weights file at runs/nothing"),
        (("view", "--actor", "pretrained:rom"), "did you mean room"),
        (("view", "--level", "desk/fast_map"), "unknown level"),
        (("view", "--follow", "nowhere"), "there is no run at nowhere"),
        (("view", "--port", "99999"), "cannot listen on 127.0.0.1 port 99999"),
        (("view", "--actor", "pretrained:room", "--level", DESK), "8 actions"),
        (("human", "--episodes", "0"), "at least 1"),
        (("human", "--level", "desk/fast_map"), "unknown level"),
        (("vew",), "did you mean view"),
        (("bench", "veiw"), "did you mean view"),
        (("bench", "view", "--seconds", "0"), "more than 0"),
        (("completion", "bassh"), "did you mean bash"),
    ],
)
def test_bad_input_of_the_commands_is_one_sentence_and_exit_code_2(capsys, arguments, says):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    said = capsys.readouterr().err.strip()
    assert says in said
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize("command", ["view", "human", "completion", "film"])
def test_help_reads_like_a_manual_with_an_example(capsys, command):
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert not stop.value.code
    said = capsys.readouterr().out
    assert f"Example: daxlab {command}" in said


def test_the_shell_completes_commands_and_flags(capsys):
    main(["completion", "bash"])
    said = capsys.readouterr().out
    assert "complete" in said
    assert "--follow" in said


def test_the_bench_starts_the_command_and_counts_its_frames(capsys):
    main(["bench", "view", "--actor", "expert", "--level", DESK, "--seconds", "0.2", "--json"])
    report = json.loads(capsys.readouterr().out)
    assert report["view"] == [480, 360]
    assert report["agent_view"] == [24, 24]
    assert report["frames"] > 0
    assert 0 < report["first_picture_seconds"] <= report["first_step_seconds"]
    assert report["bytes_a_frame"] > 5_000
