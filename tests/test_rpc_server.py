"""The server behind `daxlab serve`: the protocol's own checks, one client, where it listens, and the command."""

from __future__ import annotations

import importlib
import json
import os
import signal
import socket
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("dm_env_rpc")

import grpc
from absl.testing import absltest
from dm_env_rpc.v1 import compliance, connection, dm_env_adaptor, error, tensor_utils
from dm_env_rpc.v1 import dm_env_rpc_pb2 as messages
from dm_env_rpc.v1.extensions import properties
from google.protobuf import any_pb2, struct_pb2
from google.rpc import code_pb2

from daxlab.adapters import rpc
from daxlab.adapters.rpc import serving
from daxlab.bench.serve import bench_serve, wear_out
from daxlab.cli import main
from daxlab.errors import DaxlabError
from daxlab.levels import registry
from tests.wire import (
    HEIGHT,
    LEVEL,
    MOST,
    WIDTH,
    Wire,
    channel_to,
    connected,
    create,
    double,
    join,
    pack,
    settings,
)

pytestmark = pytest.mark.usefixtures("no_world_is_left")

# --- the protocol's own checks -----------------------------------------------------------------------------------


class Connected(absltest.TestCase):
    """A connection of its own for every check."""

    joins = creates = True

    @pytest.fixture(autouse=True)
    def _server(self, server):
        self.port = server.port

    def setUp(self):
        super().setUp()
        self._channel = channel_to(self.port)
        self.addCleanup(self._channel.close)
        self._connection = connection.Connection(self._channel)
        self._world = create(self._connection) if self.creates else None
        self._specs = join(self._connection, self._world) if self.joins else None

    @property
    def connection(self):
        return self._connection

    @property
    def world_name(self):
        return self._world

    @property
    def specs(self):
        return self._specs


class TestCreateDestroyWorld(Connected, compliance.CreateDestroyWorld):
    joins = creates = False
    has_multiple_world_support = True

    @property
    def required_world_settings(self):
        return pack(**settings())

    @property
    def invalid_world_settings(self):
        return pack(colour="red", Seed=1, level=3)


class TestJoinLeaveWorld(Connected, compliance.JoinLeaveWorld):
    joins = False

    @property
    def invalid_join_settings(self):
        return pack(width=0, height=-1, EpisodeLengthSeconds=0.0, ShowReachabilityHUD=2, depth=3)


class TestReset(Connected, compliance.Reset):
    joins = False

    def join_world(self):
        return join(self.connection, self.world_name)


class TestResetWorld(Connected, compliance.ResetWorld):
    joins = False


class TestStep(Connected, compliance.Step):
    pass


# --- one client --------------------------------------------------------------------------------------------------


def test_a_client_of_the_release_gets_in(server):
    """Its way: local credentials, a step that must be refused to see if anyone is there, then what it always sends."""
    with channel_to(server.port) as channel:
        grpc.channel_ready_future(channel).result(timeout=60)
        line = connection.Connection(channel)
        with pytest.raises(error.DmEnvRpcError):
            line.send(messages.StepRequest())
        world = {"seed": 123, "episodeId": 0, "levelName": LEVEL}
        agent = {"width": 96, "height": 72, "EpisodeLengthSeconds": 120.0, "ShowReachabilityHUD": False}
        env, _ = dm_env_adaptor.create_and_join_world(
            line, world, agent, requested_observations=["RGB_INTERLEAVED", "TEXT"]
        )
        step = env.reset()
        assert step.observation["RGB_INTERLEAVED"].shape == (72, 96, 3)
        rng = np.random.default_rng(0)
        draws = {name: rng.uniform(spec.minimum, spec.maximum) for name, spec in env.action_spec().items()}
        assert env.step(draws).mid()
        env.close()


def test_a_plain_channel_is_served_if_that_is_asked_for():
    with serving(plain=True, max_worlds=1) as plain, channel_to(plain.port, plain=True) as channel:
        assert create(connection.Connection(channel))


def test_properties_are_listed_and_read_but_not_written(server):
    with connected(server.port) as line:
        known = properties.PropertiesExtension(line)
        assert set(known.specs()) == {"levelNames", "maxWorlds"}
        assert list(known["levelNames"]) == list(registry.levels())
        assert known["maxWorlds"] == MOST
        assert all(spec.readable and not spec.writable for spec in known.specs().values())
        with pytest.raises(PermissionError):
            known["maxWorlds"] = 7
        with pytest.raises(KeyError):
            known["levels"]
        other = any_pb2.Any()
        other.Pack(struct_pb2.Struct())
        with pytest.raises(error.DmEnvRpcError, match="no extension"):
            line.send(other)


def step(*numbers: int, **values) -> dict:
    """A request for a step; `a3` is the third action."""
    actions = {int(name[1:]): tensor for name, tensor in values.items()}
    return {"step": messages.StepRequest(actions=actions, requested_observations=numbers)}


def new(**given) -> dict:
    return {"create_world": messages.CreateWorldRequest(settings=pack(**given))}


def reset(**given) -> dict:
    return {"reset": messages.ResetRequest(settings=pack(**given))}


@pytest.mark.parametrize(
    ("request_", "code", "says"),
    [
        (step(a1=double(2.0)), "INVALID_ARGUMENT", "STRAFE_LEFT_RIGHT is 2.0; a number in -1…1"),
        (step(a9=double(-0.5)), "INVALID_ARGUMENT", "HAND_GRIP is -0.5; a number in 0…1"),
        (step(a10=double(0.0)), "INVALID_ARGUMENT", "no action 10"),
        (step(a1=double([0.0, 0.0], [2])), "INVALID_ARGUMENT", "one value"),
        (step(a1=double(0.0, [2**31 - 1] * 3)), "INVALID_ARGUMENT", "one value"),
        (step(a1=tensor_utils.pack_tensor("up")), "INVALID_ARGUMENT", "has strings; doubles"),
        (step(a1=messages.Tensor()), "INVALID_ARGUMENT", "has no values"),
        (step(4), "INVALID_ARGUMENT", "no observation 4"),
        (new(**settings(levelName=LEVEL[:-1])), "NOT_FOUND", "did you mean"),
        (new(**settings(seed=1.5)), "INVALID_ARGUMENT", "seed has doubles"),
        (new(seed=1), "INVALID_ARGUMENT", "levelName is needed"),
        ({"join_world": messages.JoinWorldRequest()}, "FAILED_PRECONDITION", "already joined"),
        (reset(width=4096), "INVALID_ARGUMENT", "width is 4096; 1…2048 pixels"),
        (reset(EpisodeLengthSeconds=np.inf), "INVALID_ARGUMENT", "above 0"),
        ({"reset_world": messages.ResetWorldRequest(world_name="it")}, "NOT_FOUND", "no world 'it'"),
        ({"destroy_world": messages.DestroyWorldRequest(world_name="it")}, "NOT_FOUND", "no world 'it'"),
        ({}, "INVALID_ARGUMENT", "is empty"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(server, request_, code, says):
    with channel_to(server.port) as channel:
        wire = Wire(channel)
        world = wire.ask(create_world=messages.CreateWorldRequest(settings=pack(**settings()))).create_world.world_name
        wire.ask(join_world=messages.JoinWorldRequest(world_name=world))
        wire.ask(step=messages.StepRequest())
        told = wire.ask(**request_).error
        assert code_pb2.Code.Name(told.code) == code
        assert says in told.message
        assert len(told.message.splitlines()) == 1
        assert wire.ask(step=messages.StepRequest()).step.state == messages.RUNNING


# --- where it listens, and the command ---------------------------------------------------------------------------


def test_only_this_machine_can_connect_unless_told_otherwise(server):
    # All of 127.0.0.0/8 is this machine; only who listens at every address hears this one.
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", server.port))
    for host in ("0.0.0.0", "::", "192.0.2.1", "example.org"):
        with pytest.raises(DaxlabError, match="say --plain"):
            rpc.Server(host=host)
    with serving(host="0.0.0.0", plain=True) as everywhere:
        socket.create_connection(("127.0.0.2", everywhere.port)).close()


def test_a_port_is_not_shared_with_another_server(server):
    with pytest.raises(DaxlabError, match="cannot listen"), serving(port=server.port):
        pass


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("serve", "--port", "70000"), "0…65535"),
        (("serve", "--port", "0", "--max-worlds", "0"), "at least 1"),
        (("serve", "--port", "0", "--host", "0.0.0.0"), "--plain"),
        (("bench", "serve", "--clients", "0"), "at least 1"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(capsys, arguments, says):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    said = capsys.readouterr().err.strip()
    assert stop.value.code == 2
    assert says in said
    assert len(said.splitlines()) == 1


def test_the_command_serves_and_the_bench_times_it():
    report = bench_serve(LEVEL, 1, WIDTH, HEIGHT, seconds=0.1, repeats=1)
    assert report["1 client"]["steps_per_second"] > 0
    json.dumps(report)


def test_the_command_ends_quietly_when_told_to():
    command = [sys.executable, "-m", "daxlab.cli", "serve", "--port", "0", "--max-worlds", "1"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as process:
        said = process.stdout.readline()
        with channel_to(int(said.split("localhost:")[1].split(";")[0])) as channel:
            assert create(connection.Connection(channel))
            process.send_signal(signal.SIGINT)
            assert process.stdout.read() == "stopped\n"
        assert process.stderr.read() == ""
    assert process.returncode == 0


def test_wearing_out_counts_joins_and_memory(server):
    report = wear_out(server.port, os.getpid(), LEVEL, WIDTH, HEIGHT, joins=20)
    assert (report["joins"], report["vanished"]) == (20, 2)
    assert len(report["megabytes"]) == 10


def test_a_missing_package_names_its_extra(monkeypatch):
    for name in [n for n in sys.modules if n == "dm_env_rpc" or n.startswith("dm_env_rpc.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "dm_env_rpc", None)
    monkeypatch.delitem(sys.modules, "daxlab.adapters.rpc_messages")
    with pytest.raises(DaxlabError, match=r"dm_env_rpc is not installed; .*daxlab\[rpc\]"):
        importlib.import_module("daxlab.adapters.rpc_messages")
