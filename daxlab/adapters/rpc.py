"""Levels behind dm_env_rpc, so that clients of the released environment play ours unchanged.

    async with Server(port=10000) as server: ...       # or from a shell: daxlab serve --port 10000
    with serving() as port: ...                        # in a thread of its own

One event loop answers all clients; a step takes a fraction of a millisecond, so nobody waits long for another. Only the
compiler has a thread of its own.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from daxlab.adapters.rpc_messages import RefusedError, code_pb2, failure, messages, parse
from daxlab.adapters.rpc_room import Program, alike, program
from daxlab.adapters.rpc_worlds import Session, Worlds
from daxlab.errors import DaxlabError, need
from daxlab.levels.spec import Level

try:
    import grpc
except ImportError:
    raise need("grpc", "rpc") from None

SERVICE, METHOD = "dm_env_rpc.v1.Environment", "Process"
LOG = logging.getLogger(__name__)
OPTIONS = (
    # A second server on the same port would share its clients with the first.
    ("grpc.so_reuseport", 0),
    # A client whose machine is gone does not say goodbye.
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.max_receive_message_length", 1 << 20),
    ("grpc.max_send_message_length", -1),
    # It would remember every connection that there ever was.
    ("grpc.enable_channelz", 0),
)


class Server:
    """A server on a port; `async with` starts and ends it."""

    def __init__(
        self,
        port: int = 0,
        host: str = "localhost",
        max_worlds: int = 64,
        plain: bool = False,
        say: Callable[[str], None] = LOG.info,
    ) -> None:
        """Port 0 takes a free one. ``plain`` is without credentials; without it, only this machine can connect."""
        if not 0 <= port < 2**16:
            raise DaxlabError(f"port is {port}; 0…{2**16 - 1} are allowed (0: any that is free)")
        if max_worlds < 1:
            raise DaxlabError(f"max-worlds is {max_worlds}; at least 1 is needed")
        if not plain and not is_loopback(host):
            raise DaxlabError(
                f"host is {host!r}, which other machines may reach, and the protocol asks nobody who they are; "
                "say --plain if that is meant"
            )
        self.host, self.port, self.plain = host, port, plain
        self.worlds = Worlds(max_worlds, self._compiled)
        self._say = say
        self._programs: dict[Level, Program] = {}
        # One thread: two compilers at a time would only leave less for those who play.
        self._compiler = ThreadPoolExecutor(1, "compile")
        self._clients: set[asyncio.Task[Any]] = set()
        self._stopping = False
        self._server: Any = None

    async def __aenter__(self) -> Server:
        # Each connection holds memory, so there is an end to them, too.
        most = 2 * self.worlds.most + 16
        self._server = grpc.aio.server(options=OPTIONS, maximum_concurrent_rpcs=most)
        handler = grpc.stream_stream_rpc_method_handler(
            self._process, response_serializer=messages.EnvironmentResponse.SerializeToString
        )
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, {METHOD: handler}),))
        host = f"[{self.host}]" if ":" in self.host else self.host
        address = f"{host}:{self.port}"
        try:
            if self.plain:
                self.port = self._server.add_insecure_port(address)
            else:
                self.port = self._server.add_secure_port(address, grpc.local_server_credentials())
        except RuntimeError:
            raise DaxlabError(
                f"cannot listen at {address}; another program may be there, or the host is not ours"
            ) from None
        await self._server.start()
        return self

    async def __aexit__(self, *_: Any) -> None:
        # Told one by one; gRPC would cut them off, and say so on standard error.
        self._stopping = True
        for task in self._clients:
            task.cancel()
        if self._clients:
            await asyncio.wait(self._clients, timeout=1.0)
        await self._server.stop(grace=None)
        self._compiler.shutdown(wait=False, cancel_futures=True)

    async def _process(self, _: Any, context: Any) -> None:
        """One client, from its first message to its last."""
        session, task = Session(self.worlds), asyncio.current_task()
        assert task is not None
        self._clients.add(task)
        try:
            while (data := await context.read()) is not grpc.aio.EOF:
                await context.write(await self._answer(session, data))
        except asyncio.CancelledError:
            # Of a client that is gone gRPC must hear, or it keeps the connection's memory.
            if not self._stopping:
                raise
            context.set_code(grpc.StatusCode.UNAVAILABLE)
        finally:
            self._clients.discard(task)
            session.end()

    async def _answer(self, session: Session, data: bytes) -> Any:
        try:
            return await session.answer(parse(data))
        except RefusedError as refused:
            return failure(refused.code, str(refused))
        except Exception:
            LOG.exception("a request failed")
            return failure(code_pb2.INTERNAL, "the server failed at this request; its log says more")

    async def _compiled(self, level: Level) -> Program:
        """The level's program; the first client of a level waits for the compiler, the others play on meanwhile."""
        kind = alike(level)
        if kind not in self._programs:
            loop = asyncio.get_running_loop()
            self._programs[kind] = await loop.run_in_executor(self._compiler, self._compile, level)
        return self._programs[kind]

    def _compile(self, level: Level) -> Program:
        if alike(level) in self._programs:
            return self._programs[alike(level)]
        self._say(f"{level.name}: compiling; its first client waits some seconds, later ones do not")
        begin = time.perf_counter()
        made = program(alike(level))
        self._say(f"{level.name}: ready after {time.perf_counter() - begin:.1f} s")
        return made


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a host of that name."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@contextmanager
def serving(**options: Any) -> Iterator[Server]:
    """A server in a thread of its own, for notebooks and tests; options as for `Server`."""
    server = Server(**options)
    loop = asyncio.new_event_loop()
    started, stop = threading.Event(), asyncio.Event()
    failed: list[BaseException] = []

    async def run() -> None:
        try:
            async with server:
                started.set()
                await stop.wait()
        except BaseException as error:
            failed.append(error)
            started.set()

    thread = threading.Thread(target=loop.run_until_complete, args=(run(),), daemon=True)
    thread.start()
    started.wait()
    try:
        if failed:
            raise failed[0]
        yield server
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()
