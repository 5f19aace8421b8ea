"""The page's server: a fixed set of addresses, small JSON messages, loopback unless told otherwise.

A page asks and is answered; nothing is pushed. So a page that is gone costs nothing but its session, which is freed in
time, and a slow page slows only itself. What is still being compiled is answered with 202 and a sentence to wait by.
"""

from __future__ import annotations

import ipaddress
import json
import socket
import sys
import threading
from collections.abc import Callable
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from daxlab.errors import DaxlabError
from daxlab.viewer.programs import Wait
from daxlab.viewer.sessions import Full, Gone, Sessions
from daxlab.viewer.web import page

MOST_BYTES = 16 * 1024
"""Of a message."""
PATIENCE_SECONDS = 60.0
"""How long a connection may say nothing."""
MOST_CONNECTIONS = 256

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'"
"""The page loads nothing from anywhere."""


@cache
def live_page() -> bytes:
    """The page that asks this server."""
    return page("live.js").encode()


class Refused(Exception):
    """A request that is not answered: its status and one sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class Server(ThreadingHTTPServer):
    """Listens at once; `serve_forever` in a thread of your own, `shutdown` to end it."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, sessions: Sessions, host: str = "127.0.0.1", port: int = 0) -> None:
        self.sessions, self.host = sessions, host
        self._places = threading.BoundedSemaphore(MOST_CONNECTIONS)
        if ":" in host:
            self.address_family = socket.AF_INET6
        try:
            super().__init__((host, port), Handler)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or error
            raise DaxlabError(f"cannot listen on {host} port {port}: {reason}; port 0 takes any free one") from error

    @property
    def address(self) -> str:
        """Where the page is."""
        host = "127.0.0.1" if self.host in ("0.0.0.0", "::", "") else self.host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.server_address[1]}/"

    def process_request(self, request: Any, client_address: Any) -> None:
        """One thread a connection, up to so many."""
        if not self._places.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer a connection until it ends."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A page that left in the middle is no error; anything else is one line here and nothing there."""
        error = sys.exception()
        if not isinstance(error, ConnectionError | TimeoutError):
            print(f"daxlab: a page's request failed: {error!r}", file=sys.stderr)

    def knows(self, host: str) -> bool:
        """Whether a request's Host is ours: a name that others can point at this machine is not (DNS rebinding)."""
        name = _host_name(f"//{host}")
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            own = {"localhost", self.host.lower(), "" if self._alone else socket.gethostname().lower()}
            return bool(name) and name in own
        return address.is_loopback or not self._alone

    @property
    def _alone(self) -> bool:
        """Whether only this machine can reach it."""
        return ipaddress.ip_address(str(self.server_address[0])).is_loopback


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    timeout = PATIENCE_SECONDS
    server: Server
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_GET(self) -> None:
        """The page."""
        self._answer(self._get)

    def do_POST(self) -> None:
        """A message."""
        self._answer(self._post)

    def do_HEAD(self) -> None:
        """Not needed."""
        self._answer(self._neither)

    do_PUT = do_DELETE = do_OPTIONS = do_PATCH = do_TRACE = do_CONNECT = do_HEAD

    def _answer(self, respond: Callable[[], tuple[int, str, bytes]]) -> None:
        try:
            self._check_origin()
            status, kind, body = respond()
        except Refused as refused:
            status, kind, body = refused.status, "json", _say(str(refused))
        except (ConnectionError, TimeoutError):
            raise
        except Exception as error:
            print(f"daxlab: a page's request failed: {error!r}", file=sys.stderr)
            status, kind, body = 500, "json", _say("something went wrong here; the terminal says what")
        self._send(status, kind, body)

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        types = {"html": "text/html; charset=utf-8", "json": "application/json"}
        self.send_header("Content-Type", types[kind])
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Content-Security-Policy", f"{POLICY}; frame-ancestors 'none'")
        if status >= 400:
            # Part of a refused body may not have been read: what follows on this connection would be nonsense.
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        self.wfile.flush()

    def _check_origin(self) -> None:
        host, origin = self.headers.get("Host", ""), self.headers.get("Origin")
        if not self.server.knows(host):
            raise Refused(403, f"this server is not {host[:100]!r}; open {self.server.address}")
        if origin is not None and origin.lower() not in {f"http://{host.lower()}", f"https://{host.lower()}"}:
            raise Refused(403, "a page of another site may not use this server")

    def _get(self) -> tuple[int, str, bytes]:
        if urlsplit(self.path).path != "/":
            raise Refused(404, f"there is nothing at this address; the page is {self.server.address}")
        return 200, "html", live_page()

    def _neither(self) -> tuple[int, str, bytes]:
        raise Refused(405, "only GET / and POST /api/… are answered")

    def _post(self) -> tuple[int, str, bytes]:
        sessions, path = self.server.sessions, self.path
        if not path.startswith("/api/"):
            raise Refused(404, "messages go to /api/…")
        message = self._message()
        command = path.removeprefix("/api/")
        try:
            if command == "open":
                return 200, "json", json.dumps(sessions.open()).encode()
            token = message.get("session")
            if not isinstance(token, str):
                raise Refused(400, "the message has no session; begin with /api/open")
            if command == "close":
                sessions.close(token)
                return 200, "json", b"{}"
            return 200, "json", json.dumps(sessions.ask(token, command, message)).encode()
        except Wait as wait:
            return 202, "json", json.dumps({"wait": str(wait)}).encode()
        except Gone as error:
            raise Refused(410, str(error)) from error
        except Full as error:
            raise Refused(503, str(error)) from error
        except DaxlabError as error:
            raise Refused(400, str(error)) from error

    def _message(self) -> dict[str, Any]:
        if self.headers.get_content_type() != "application/json":
            raise Refused(415, "a message is application/json")
        try:
            length = int(self.headers["Content-Length"])
        except (KeyError, TypeError, ValueError):
            raise Refused(411, "a message says its length") from None
        if not 0 <= length <= MOST_BYTES:
            raise Refused(413, f"the message has {length} bytes; at most {MOST_BYTES} are allowed")
        try:
            message = json.loads(self.rfile.read(length))
        except (ValueError, RecursionError):
            raise Refused(400, "the message is not JSON") from None
        if not isinstance(message, dict):
            raise Refused(400, "a message is a JSON object")
        return message

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Requests that are not even HTTP are answered as briefly."""
        self.command = getattr(self, "command", None) or ""
        self._send(code, "json", _say(message or "this is no request that is answered here"))

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""

    def version_string(self) -> str:
        """What the server says it is."""
        return "daxlab"


def _host_name(address: str) -> str:
    """The name in an address; nothing if it is none."""
    try:
        return (urlsplit(address).hostname or "").lower()
    except ValueError:
        return ""


def _say(sentence: str) -> bytes:
    return json.dumps({"error": sentence}, ensure_ascii=False).encode()
