"""The protocol's extension for properties: which levels there are, and how many worlds. They are read, not written."""

from __future__ import annotations

from typing import Any

from daxlab.adapters.rpc_messages import RefusedError, code_pb2, messages
from daxlab.errors import need, unknown
from daxlab.levels import registry

try:
    from dm_env_rpc.v1 import tensor_utils
    from dm_env_rpc.v1.extensions import properties_pb2
except ImportError:
    raise need("dm_env_rpc", "rpc") from None

KINDS = {"levelNames": messages.STRING, "maxWorlds": messages.INT32}
ABOUT = {"levelNames": "What CreateWorld takes as levelName.", "maxWorlds": "Worlds at a time."}


def answer(request: Any, response: Any, most: int) -> None:
    """Read or list properties: an Any in, an Any out."""
    asked = properties_pb2.PropertyRequest()
    if not request.Is(asked.DESCRIPTOR):
        raise RefusedError(
            f"there is no extension {request.type_url[:80]!r}; properties are the only one", code_pb2.UNIMPLEMENTED
        )
    try:
        request.Unpack(asked)
    except Exception as error:
        raise RefusedError("the extension is no PropertyRequest") from error
    told = properties_pb2.PropertyResponse()
    match asked.WhichOneof("payload"):
        case "read_property":
            key = _known(asked.read_property.key)
            values = {"levelNames": list(registry.levels()), "maxWorlds": most}
            told.read_property.value.CopyFrom(tensor_utils.pack_tensor(values[key], dtype=KINDS[key]))
        case "list_property":
            if asked.list_property.key:
                _known(asked.list_property.key)
            else:
                told.list_property.values.extend(_spec(key) for key in KINDS)
            told.list_property.SetInParent()
        case "write_property":
            raise RefusedError("properties are read only", code_pb2.PERMISSION_DENIED)
        case _:
            raise RefusedError("the property request is empty; read_property or list_property is needed")
    response.Pack(told)


def _known(key: str) -> str:
    if key not in KINDS:
        raise RefusedError(str(unknown("property", key[:80], KINDS)), code_pb2.NOT_FOUND)
    return key


def _spec(key: str) -> Any:
    spec = properties_pb2.PropertySpec(is_readable=True, description=ABOUT[key])
    spec.spec.name, spec.spec.dtype = key, KINDS[key]
    if key == "levelNames":
        spec.spec.shape.append(len(registry.levels()))
    return spec
