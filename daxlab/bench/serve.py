"""`daxlab serve` over loopback: how fast, how lasting, and whether the expert succeeds through the wire as at home.

The server is a process of its own, and so is every client that is timed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from daxlab.bench import peers
from daxlab.errors import DaxlabError, need

FEW = 4
"""Worlds that the server holds while it is worn out: one that is not freed is soon missed."""
AS_THE_RELEASE = ("RGB_INTERLEAVED", "TEXT")
"""What the release's own client asks for."""


def bench_serve(
    level: str,
    clients: int,
    width: int,
    height: int,
    seconds: float,
    repeats: int,
    joins: int = 0,
    episodes: int = 0,
) -> dict[str, Any]:
    """Steps a second of one client and of several; then joins and leaves; then the expert."""
    if min(clients, repeats) < 1 or min(seconds, joins, episodes) < 0:
        raise DaxlabError(
            "clients and repeats must be at least 1, seconds, joins and episodes at least 0; got "
            f"clients={clients}, repeats={repeats}, seconds={seconds}, joins={joins}, episodes={episodes}"
        )
    report: dict[str, Any] = {"level": level, "width": width, "height": height}
    report |= {"cores": len(os.sched_getaffinity(0)), "load_before": [round(load, 2) for load in os.getloadavg()]}
    if seconds:
        with server(clients) as (port, _):
            asked = {"port": port, "level": level, "width": width, "height": height}
            for count in dict.fromkeys((1, clients)):
                named = f"{count} client{'s' if count > 1 else ''}"
                report[named] = peers.rate("served", asked, ["any"] * count, seconds, repeats)
    if joins:
        with server(FEW) as (port, pid):
            report["joins"] = wear_out(port, pid, level, width, height, joins)
    if episodes:
        with server(FEW) as (port, _):
            report["expert"] = expert_over_the_wire(port, level, width, height, episodes)
    return report


@contextmanager
def server(max_worlds: int) -> Iterator[tuple[int, int]]:
    """A server in a process of its own: its port and its process."""
    command = [sys.executable, "-m", "daxlab.cli", "serve", "--port", "0", "--max-worlds", str(max_worlds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            found = re.search(r" at localhost:(\d+);", process.stdout.readline())
            if found is None:
                raise DaxlabError("the server did not start (its error is above)")
            # Whatever else it says must not fill the pipe.
            threading.Thread(target=process.stdout.read, daemon=True).start()
            yield int(found[1]), process.pid
        finally:
            process.terminate()
            process.wait()


def connect(port: int) -> tuple[Any, Callable[[], None]]:
    """A connection as the release's client makes it, and a way to hang up."""
    try:
        import grpc
        from dm_env_rpc.v1 import connection
    except ImportError:
        raise need("dm_env_rpc", "rpc") from None

    channel = grpc.secure_channel(f"localhost:{port}", grpc.local_channel_credentials())
    line = connection.Connection(channel)
    requests = line._stream

    def hang_up() -> None:
        channel.close()
        # The client's thread that waits for something to send would wait for ever.
        requests.write(None)

    return line, hang_up


def join(line: Any, level: str, width: int, height: int, seed: int) -> tuple[Any, str]:
    """A world of its own, joined with what the release's client sends: the environment and the world's name."""
    from dm_env_rpc.v1 import dm_env_adaptor

    world = {"seed": seed, "episodeId": 0, "levelName": level}
    agent = {"width": width, "height": height, "ShowReachabilityHUD": False}
    return dm_env_adaptor.create_and_join_world(line, world, agent, requested_observations=AS_THE_RELEASE)


def wear_out(port: int, pid: int, level: str, width: int, height: int, joins: int) -> dict[str, Any]:
    """Join, play two steps, leave and destroy, many times; then a tenth as many clients that vanish in mid-episode.

    The memory is read ten times while worlds are joined and left, and once when the vanished are gone.
    """
    from dm_env_rpc.v1 import dm_env_rpc_pb2 as messages

    sizes = []
    line, hang_up = connect(port)
    for done in range(1, joins + 1):
        env, name = join(line, level, width, height, seed=done)
        env.reset()
        env.step({})
        env.close()
        line.send(messages.DestroyWorldRequest(world_name=name))
        if done % max(1, joins // 10) == 0:
            sizes.append(resident_bytes(pid))
    hang_up()
    for done in range(joins // 10):
        line, hang_up = connect(port)
        env, _ = join(line, level, width, height, seed=done)
        env.reset()
        hang_up()
    megabytes = [round(size / 2**20, 2) for size in (*sizes, resident_bytes(pid))]
    return {"joins": joins, "megabytes": megabytes[:-1], "vanished": joins // 10, "megabytes_then": megabytes[-1]}


def resident_bytes(pid: int) -> int:
    """The memory that a process holds now."""
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def expert_over_the_wire(
    port: int, level: str, width: int, height: int, episodes: int, seed: int = 0
) -> dict[str, Any]:
    """Episodes of the scripted expert through the wire, and what they earn there.

    The expert sees the state, which no client does. So a twin of the world, of the same seed, is kept in step with it
    here, and the expert looks at that. It succeeds only while both stay the same, which is checked in every step.
    """
    import jax
    import numpy as np

    from daxlab.adapters.rpc_messages import ACTIONS
    from daxlab.adapters.rpc_room import Room, alike, first_key, program
    from daxlab.levels import registry
    from daxlab.levels.expert import expert
    from daxlab.world.control import action_table

    spec = registry.get(level)
    table = action_table(spec.actions)
    made = program(alike(spec))
    act = jax.jit(lambda state: expert(spec, made.states.unpack(state)))
    twin = Room(made, first_key(seed, 0), width, height, spec.episode_steps)
    line, hang_up = connect(port)
    env, _ = join(line, level, width, height, seed)
    right = steps = differ = 0
    for _ in range(episodes):
        timestep = env.reset()
        twin.begin()
        while True:
            seen = timestep.observation
            alike_now = np.array_equal(seen["RGB_INTERLEAVED"], twin.picture()) and str(seen["TEXT"]) == twin.text
            differ += not (alike_now and (timestep.first() or timestep.reward == twin.reward))
            if timestep.last():
                break
            values = table[int(act(twin.state))].astype(float).tolist()
            timestep = env.step(dict(zip(ACTIONS, values, strict=True)))
            twin.step(dict(enumerate(values)))
            steps += 1
        right += timestep.reward == 1.0
    env.close()
    hang_up()
    return {"episodes": episodes, "success": right / episodes, "steps": steps, "steps_that_differ": differ}
