"""Requests that no honest client sends."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from dm_env_rpc.v1 import dm_env_rpc_pb2 as messages
from dm_env_rpc.v1.extensions import properties_pb2
from google.protobuf import any_pb2

from tests.wire import LEVEL, double, pack, settings

PROPERTY = f"a/{properties_pb2.PropertyRequest.DESCRIPTOR.full_name}"


def any_tensor(rng: random.Random) -> Any:
    """Of any type, with any values, of any claimed shape."""
    kind = rng.choice([field.name for field in messages.Tensor.DESCRIPTOR.fields if field.name != "shape"])
    tensor, count = messages.Tensor(), rng.choice((0, 1, 1, 1, 2, 50))
    array = getattr(tensor, kind)
    array.SetInParent()
    if kind in ("int8s", "uint8s"):
        array.array = rng.randbytes(count)
    elif kind == "strings":
        array.array.extend(rng.choice((LEVEL, "", "\0", "é" * 99, "/etc/passwd", "{}")) for _ in range(count))
    elif kind == "protos":
        array.array.extend(any_pb2.Any(type_url="x/y", value=rng.randbytes(9)) for _ in range(count))
    else:
        wild = {"bools": (True,), "floats": (0.5, np.nan, -np.inf), "doubles": (0.5, 1.0, -1.0, np.nan, 1e308)}
        array.array.extend(rng.choice(wild.get(kind, (0, 1, 96, 127))) for _ in range(count))
    tensor.shape.extend(rng.choice(((), (), (1,), (-1, -1), (2**31 - 1,) * 4, (0,))))
    return tensor


def message(rng: random.Random, names: list[str]) -> bytes:
    """A request that is well-formed and mostly nonsense; sometimes with a few bytes changed."""
    keys = ("seed", "episodeId", "levelName", "width", "height", "EpisodeLengthSeconds", "ShowReachabilityHUD", "é", "")
    world = rng.choice((*names, "", "x", "\n" * 500))
    some = {rng.choice(keys): any_tensor(rng) for _ in range(rng.randrange(4))}
    good = {"settings": pack(**settings(seed=rng.randrange(99)))}
    numbers = (*range(12), 2**64 - 1)
    kinds = {
        "create_world": lambda: messages.CreateWorldRequest(**rng.choice((good, {"settings": some}))),
        "join_world": lambda: messages.JoinWorldRequest(world_name=world, settings=rng.choice(({}, some))),
        "step": lambda: messages.StepRequest(
            actions={rng.choice(numbers): rng.choice((double(0.5), any_tensor(rng))) for _ in range(rng.randrange(4))},
            requested_observations=rng.choices(numbers[1:4] if rng.random() < 0.7 else numbers, k=rng.randrange(4)),
        ),
        "reset": lambda: messages.ResetRequest(settings=rng.choice(({}, some))),
        "reset_world": lambda: messages.ResetWorldRequest(world_name=world, settings=rng.choice(({}, some))),
        "leave_world": messages.LeaveWorldRequest,
        "destroy_world": lambda: messages.DestroyWorldRequest(world_name=world),
        "extension": lambda: any_pb2.Any(type_url=rng.choice(("", PROPERTY)), value=rng.randbytes(rng.randrange(20))),
    }
    kind = rng.choice(("step", *kinds))
    data = bytearray(messages.EnvironmentRequest(**{kind: kinds[kind]()}).SerializeToString())
    if rng.random() < 0.2:
        for _ in range(3):
            at = rng.randrange(len(data) + 1)
            data[at : at + rng.randrange(9)] = rng.randbytes(rng.randrange(4))
    return bytes(data)
