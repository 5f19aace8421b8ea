"""Clients of a server for tests: the protocol's own adaptor, the bare protocol, and bare bytes."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import grpc
import numpy as np
from dm_env_rpc.v1 import connection, dm_env_adaptor, tensor_utils
from dm_env_rpc.v1 import dm_env_rpc_pb2 as messages

from daxlab.adapters.rpc import Server

LEVEL = "architecture_comparison/fast_map_three_objs"
"""One level for all tests: it is compiled once."""
WIDTH, HEIGHT = 24, 18


def pack(**settings: Any) -> dict[str, Any]:
    return {name: tensor_utils.pack_tensor(value) for name, value in settings.items()}


def double(value: Any, shape: tuple[int, ...] | list[int] = ()) -> Any:
    """A tensor of doubles that claims to have a shape."""
    tensor = tensor_utils.pack_tensor(value, dtype=np.float64)
    tensor.shape[:] = shape
    return tensor


def settings(seed: int = 1, **more: Any) -> dict[str, Any]:
    return {"seed": seed, "levelName": LEVEL, **more}


def channel_to(port: int, plain: bool = False) -> Any:
    """A channel of its own; gRPC would share a connection between channels that look alike."""
    options = [("grpc.use_local_subchannel_pool", 1)]
    if plain:
        return grpc.insecure_channel(f"localhost:{port}", options=options)
    return grpc.secure_channel(f"localhost:{port}", grpc.local_channel_credentials(), options=options)


@contextmanager
def connected(port: int) -> Iterator[Any]:
    with channel_to(port) as channel:
        yield connection.Connection(channel)


@contextmanager
def joined(port: int, world: dict[str, Any] | None = None, **agent: Any) -> Iterator[Any]:
    """An environment in a world of its own."""
    with connected(port) as line:
        agent = {"width": WIDTH, "height": HEIGHT} | agent
        env, _ = dm_env_adaptor.create_and_join_world(line, world or settings(), agent)
        yield env


class Wire:
    """Bytes in, the response or gRPC's own status out."""

    def __init__(self, channel: Any) -> None:
        self._out: queue.Queue[bytes | None] = queue.Queue()
        self._in = channel.stream_stream("/dm_env_rpc.v1.Environment/Process")(iter(self._out.get, None))

    def send(self, data: bytes) -> Any:
        self._out.put(data)
        return messages.EnvironmentResponse.FromString(next(self._in))

    def ask(self, **request: Any) -> Any:
        return self.send(messages.EnvironmentRequest(**request).SerializeToString())

    def close(self) -> None:
        self._out.put(None)


def world_of(server: Server) -> Any:
    """The only world there is."""
    (world,) = server.worlds.by_name.values()
    return world


def state_of(server: Server) -> Any:
    """All there is to know about the only world; clients cannot look there."""
    room = world_of(server).room
    return room._program.states.unpack(room.state)


def eventually(condition: Callable[[], bool]) -> bool:
    """Wait for what another thread is about to do."""
    deadline = time.monotonic() + 60
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return condition()


MOST = 6
"""Worlds that the tests' servers allow."""


def ended(thread: threading.Thread) -> bool:
    """Whether it comes to its end."""
    return eventually(lambda: not thread.is_alive())


def create(line: Any, **more: Any) -> str:
    """A new world's name."""
    return line.send(messages.CreateWorldRequest(settings=pack(**settings(**more)))).world_name


def join(line: Any, name: str) -> Any:
    """Its specs."""
    return line.send(messages.JoinWorldRequest(world_name=name, settings=pack(width=WIDTH, height=HEIGHT))).specs
