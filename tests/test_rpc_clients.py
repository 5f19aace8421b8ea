"""The server behind `daxlab serve`: many clients, vanished ones, and ones that mean harm."""

from __future__ import annotations

import gc
import random
import socket
import struct
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

pytest.importorskip("dm_env_rpc")

import grpc
from dm_env_rpc.v1 import connection, error
from dm_env_rpc.v1 import dm_env_rpc_pb2 as messages
from google.rpc import code_pb2

from daxlab.adapters import rpc, rpc_room
from daxlab.adapters.rpc_messages import ACTIONS, LARGEST
from daxlab.adapters.rpc_room import Room
from daxlab.adapters.rpc_worlds import Session
from daxlab.levels import registry
from tests.nonsense import message
from tests.wire import LEVEL, MOST, Wire, channel_to, connected, create, double, ended, eventually, join, joined

pytestmark = pytest.mark.usefixtures("no_world_is_left")

# --- many clients ------------------------------------------------------------------------------------------------


def test_clients_of_the_same_seed_do_not_share_a_world(server):
    with joined(server.port) as one, joined(server.port) as other, joined(server.port) as alone:
        for env in (one, other, alone):
            env.reset()
        for _ in range(3):
            one.step({"LOOK_LEFT_RIGHT": 1.0})
            seen = [env.step({}).observation["RGB_INTERLEAVED"] for env in (other, alone)]
        assert np.array_equal(*seen)
        assert not np.array_equal(one.step({}).observation["RGB_INTERLEAVED"], seen[0])


def test_a_world_has_one_agent(server):
    with connected(server.port) as one, connected(server.port) as other:
        name = create(one)
        join(one, name)
        for refused in (lambda: join(other, name), lambda: other.send(messages.DestroyWorldRequest(world_name=name))):
            with pytest.raises(error.DmEnvRpcError, match="another client is"):
                refused()
        one.send(messages.LeaveWorldRequest())
        assert join(other, name)


def test_no_more_worlds_than_allowed(server):
    with connected(server.port) as line, connected(server.port) as other:
        names = [create(line) for _ in range(MOST)]
        assert len(set(names)) == MOST
        with pytest.raises(error.DmEnvRpcError, match=f"{MOST} worlds") as refused:
            create(other)
        assert refused.value.code == code_pb2.RESOURCE_EXHAUSTED
        line.send(messages.DestroyWorldRequest(world_name=names[0]))
        assert create(other)


def test_worlds_of_a_client_that_vanishes_are_freed(server):
    channel = channel_to(server.port)
    line = connection.Connection(channel)
    names = [create(line), create(line)]
    join(line, names[0])
    line.send(messages.StepRequest())
    kept = [weakref.ref(server.worlds.by_name[name]) for name in names]
    kept.append(weakref.ref(server.worlds.by_name[names[0]].room))
    channel.close()
    assert eventually(lambda: not server.worlds.by_name)
    assert eventually(lambda: gc.collect() >= 0 and not any(ref() for ref in kept))


def test_a_killed_client_s_world_is_freed(server):
    code = (
        "import sys, time; from daxlab.bench.serve import connect, join; "
        f"env, _ = join(connect(int(sys.argv[1]))[0], {LEVEL!r}, 8, 6, 0); "
        "env.reset(); print('in', flush=True); time.sleep(600)"
    )
    child = subprocess.Popen([sys.executable, "-c", code, str(server.port)], stdout=subprocess.PIPE, text=True)
    with child:
        assert child.stdout.readline() == "in\n"
        assert len(server.worlds.by_name) == 1
        child.kill()
    assert eventually(lambda: not server.worlds.by_name)


def test_a_world_outlives_its_creator_while_somebody_is_in_it(server):
    with connected(server.port) as agent:
        with connected(server.port) as host:
            name = create(host)
            join(agent, name)
            unused = create(host)
        assert eventually(lambda: unused not in server.worlds.by_name)
        assert list(server.worlds.by_name) == [name]
        assert agent.send(messages.StepRequest()).state == messages.RUNNING
        agent.send(messages.LeaveWorldRequest())
        assert not server.worlds.by_name


def test_a_world_reset_by_another_is_interrupted_at_its_agent_s_next_step(server):
    with connected(server.port) as agent, connected(server.port) as host:
        name = create(host)
        join(agent, name)
        agent.send(messages.StepRequest())
        agent.send(messages.StepRequest(actions={1: double(1.0)}))
        done = threading.Event()

        def reset():
            host.send(messages.ResetWorldRequest(world_name=name))
            done.set()

        thread = threading.Thread(target=reset, daemon=True)
        thread.start()
        assert eventually(lambda: server.worlds.by_name[name].resets)
        assert not done.is_set()
        last = agent.send(messages.StepRequest(requested_observations=[3]))
        assert last.state == messages.INTERRUPTED
        assert list(last.observations[3].doubles.array) == [0.0]
        assert ended(thread)
        assert done.is_set()
        assert agent.send(messages.StepRequest()).state == messages.RUNNING
        # One that leaves instead does not keep the other waiting, either.
        thread = threading.Thread(target=reset, daemon=True)
        thread.start()
        assert eventually(lambda: server.worlds.by_name[name].resets)
        agent.send(messages.LeaveWorldRequest())
        assert ended(thread)


def test_others_play_on_while_a_level_compiles(server, monkeypatch):
    go, compiling, compiled = (threading.Event() for _ in range(3))
    made = rpc.program

    def slowly(level):
        compiling.set()
        go.wait(60)
        compiled.set()
        return made(rpc.alike(registry.get(LEVEL)))

    monkeypatch.setattr(rpc, "program", slowly)
    other = "fast_slow/fast_map_three_objs_bed_tray"
    with joined(server.port) as player, connected(server.port) as newcomer, connected(server.port) as impatient:
        player.reset()
        name, given_up = create(newcomer, levelName=other), create(impatient, levelName=other)
        thread = threading.Thread(target=lambda: join(newcomer, name), daemon=True)
        thread.start()
        compiling.wait()
        assert player.step({}).mid()
        assert not compiled.is_set()
        late = impatient._stream
        late.write(messages.EnvironmentRequest(join_world=messages.JoinWorldRequest(world_name=given_up)))
        assert eventually(lambda: server.worlds.by_name[given_up].agent is not None)
        late._stream.cancel()
        assert eventually(lambda: given_up not in server.worlds.by_name)
        go.set()
        assert ended(thread)
        assert newcomer.send(messages.StepRequest()).state == messages.RUNNING
    server._programs.pop(rpc.alike(registry.get(other)))


def test_who_could_not_join_may_try_again(server, monkeypatch, caplog):
    other = "fast_slow/fast_map_three_objs_bed_tray"
    with connected(server.port) as line:
        name = create(line, levelName=other)
        monkeypatch.setattr(rpc, "program", lambda level: 1 / 0)
        with pytest.raises(error.DmEnvRpcError) as failed:
            join(line, name)
        assert failed.value.code == code_pb2.INTERNAL
        made = rpc_room.program(rpc.alike(registry.get(LEVEL)))
        monkeypatch.setattr(rpc, "program", lambda level: made)
        assert join(line, name)
    server._programs.pop(rpc.alike(registry.get(other)))


def test_joins_and_leaves_leave_nothing_behind(server):
    kept = []
    with connected(server.port) as line:
        for _ in range(100):
            name = create(line)
            join(line, name)
            line.send(messages.StepRequest(requested_observations=[1, 2, 3]))
            kept += [weakref.ref(server.worlds.by_name[name]), weakref.ref(server.worlds.by_name[name].room)]
            line.send(messages.LeaveWorldRequest())
            line.send(messages.DestroyWorldRequest(world_name=name))
    gc.collect()
    assert eventually(lambda: not any(ref() for ref in kept))
    assert eventually(lambda: not server._clients)


def test_connections_that_are_cut_leave_nothing_behind(server):
    def left() -> int:
        gc.collect()
        return sum(isinstance(item, Session) for item in gc.get_objects())

    for _ in range(100):
        with connected(server.port) as line:
            line.send(messages.LeaveWorldRequest())
    assert eventually(lambda: not left())


# --- ones that mean harm -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_no_message_harms_the_server_or_another_client(server, seed):
    rng = random.Random(seed)
    with joined(server.port) as honest, joined(server.port) as undisturbed, channel_to(server.port) as channel:
        wire, names, outcomes = Wire(channel), [], set()
        script = [{name: rng.uniform(0.0, 1.0) for name in ACTIONS} for _ in range(40)]
        expected = [undisturbed.reset(), *(undisturbed.step(actions) for actions in script)]
        played = [honest.reset()]
        for actions in script:
            for _ in range(15):
                told = wire.send(rng.randbytes(rng.randrange(60)) if rng.random() < 0.1 else message(rng, names))
                kind = told.WhichOneof("payload")
                assert kind is not None
                outcomes.add((kind, told.error.code))
                if kind == "error":
                    assert told.error.message
                    assert told.error.code not in (code_pb2.OK, code_pb2.INTERNAL), told.error.message
                if kind == "create_world":
                    names = [*names[-3:], told.create_world.world_name]
            played.append(honest.step(actions))
        for one, other in zip(played, expected, strict=True):
            assert one.reward == other.reward
            assert np.array_equal(one.observation["RGB_INTERLEAVED"], other.observation["RGB_INTERLEAVED"])
    # It was not all refused at the door.
    assert {"create_world", "join_world", "step", "reset", "leave_world", "error"} <= {kind for kind, _ in outcomes}


def test_a_large_message_is_refused_and_a_huge_one_ends_only_its_own_connection(server):
    with joined(server.port) as honest, channel_to(server.port) as channel:
        honest.reset()
        wire = Wire(channel)
        large = messages.JoinWorldRequest(world_name="x" * LARGEST)
        told = wire.ask(join_world=large)
        assert told.error.code == code_pb2.INVALID_ARGUMENT
        assert f"at most {LARGEST}" in told.error.message
        with pytest.raises(grpc.RpcError) as stop:
            wire.ask(join_world=messages.JoinWorldRequest(world_name="x" * (2 << 20)))
        assert stop.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        assert honest.step({}).mid()


def test_bytes_that_are_not_even_grpc_harm_nobody(server):
    with joined(server.port) as honest:
        honest.reset()
        rng = random.Random(0)
        for data in (
            b"GET / HTTP/1.1\r\n\r\n",
            rng.randbytes(4096),
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + rng.randbytes(99),
        ):
            with socket.create_connection(("127.0.0.1", server.port)) as line:
                line.sendall(data)
                # Cut off at once, as by a crash.
                line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        assert honest.step({}).mid()


def test_a_failure_of_our_own_is_an_error_and_no_end(server, monkeypatch, caplog):
    with joined(server.port) as env:
        env.reset()
        with monkeypatch.context() as broken:
            broken.setattr(Room, "picture", lambda self: 1 / 0)
            with pytest.raises(error.DmEnvRpcError, match="its log says more") as failed:
                env.step({})
        assert failed.value.code == code_pb2.INTERNAL
        assert "ZeroDivisionError" in caplog.text
        assert env.step({}).mid()
