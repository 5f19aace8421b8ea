"""The messages of dm_env_rpc: what a level offers, what a client may send, and how it is told no.

Every value from outside is looked at before anything is done with it. Tensors here are single values, so none is ever
unpacked to the shape that it claims to have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from daxlab.adapters.rpc_room import Room
from daxlab.errors import DaxlabError, need, unknown
from daxlab.levels import registry
from daxlab.levels.spec import Level

try:
    from dm_env_rpc.v1 import dm_env_rpc_pb2 as messages
    from dm_env_rpc.v1 import tensor_spec_utils
    from google.rpc import code_pb2
except ImportError:
    raise need("dm_env_rpc", "rpc") from None

__all__ = ["AgentSettings", "RefusedError", "WorldSettings", "changes", "check_requested", "code_pb2", "failure"]
__all__ += ["messages", "observe", "parse", "value"]

ACTIONS = (
    "STRAFE_LEFT_RIGHT",
    "MOVE_BACK_FORWARD",
    "LOOK_LEFT_RIGHT",
    "LOOK_DOWN_UP",
    "HAND_ROTATE_AROUND_RIGHT",
    "HAND_ROTATE_AROUND_UP",
    "HAND_ROTATE_AROUND_FORWARD",
    "HAND_PUSH_PULL",
    "HAND_GRIP",
)
"""The release's names of `daxlab.world.control.CONTROLS`, in the same order and with the same signs: positive is right,
forward, right, *down*, …, towards the eye, closed."""
OBSERVATIONS = ("RGB_INTERLEAVED", "TEXT", "reward")
"""`reward` is a name that the protocol's adaptor reserves. So is `discount`, which is not here: the adaptor makes it
from the state, with None at an episode's begin, as dm_env demands. An observation it would hand out there, too."""

RGB, TEXT, REWARD = (1 + place for place in range(len(OBSERVATIONS)))
"""Numbers of the observations. Those of the actions are their places in `ACTIONS`, plus one."""

SIDES = (1, 2048)
"""Allowed width and height of a picture, pixels."""
LONGEST = 86_400.0
"""Allowed length of an episode: a day, in seconds."""
LARGEST = 64 * 1024
"""Bytes of the largest message that is looked into; an honest one has less than a thousand."""

WHOLE = ("int8s", "int32s", "int64s", "uint8s", "uint32s", "uint64s")
NUMBERS = ("floats", "doubles", *WHOLE)


class RefusedError(DaxlabError):
    """A request that is answered with an error of the protocol: a code of google.rpc and a sentence."""

    def __init__(self, sentence: str, code: int = code_pb2.INVALID_ARGUMENT) -> None:
        super().__init__(sentence)
        self.code = code


def failure(code: int, sentence: str) -> Any:
    """The response to a request that failed."""
    response = messages.EnvironmentResponse()
    response.error.code = code
    response.error.message = sentence
    return response


def parse(data: bytes) -> Any:
    """The request in these bytes."""
    if len(data) > LARGEST:
        raise RefusedError(f"the message has {len(data)} bytes; at most {LARGEST} are allowed")
    try:
        request = messages.EnvironmentRequest.FromString(data)
    except Exception as error:
        raise RefusedError("the message is no EnvironmentRequest of dm_env_rpc.v1") from error
    if request.WhichOneof("payload") is None:
        raise RefusedError("the request is empty; one of create_world, join_world, step, … is needed")
    return request


def value(name: str, tensor: Any, kinds: tuple[str, ...]) -> Any:
    """The single value of a tensor of one of these kinds."""
    kind = tensor.WhichOneof("payload")
    if kind not in kinds:
        raise RefusedError(f"{name} has {kind or 'no values'}; {' or '.join(kinds)} is needed")
    values = getattr(tensor, kind).array
    if len(values) != 1 or tensor.shape:
        # The shape is the client's, and may be long.
        raise RefusedError(
            f"{name} has {len(values)} values and {len(tensor.shape)} dimensions; one value and none is needed"
        )
    if kind in ("int8s", "uint8s"):
        return int.from_bytes(values, signed=kind == "int8s")
    return values[0]


def _known(settings: Mapping[str, Any], names: tuple[str, ...]) -> None:
    for name in settings:
        if name not in names:
            raise RefusedError(str(unknown("setting", name[:80], names)))


@dataclass(frozen=True)
class WorldSettings:
    """What CreateWorld asks for, and ResetWorld may change."""

    level: Level
    seed: int
    episode_id: int = 0

    @staticmethod
    def read(settings: Mapping[str, Any]) -> WorldSettings:
        """The settings of a CreateWorldRequest."""
        _known(settings, ("seed", "episodeId", "levelName"))
        for name in ("seed", "levelName"):
            if name not in settings:
                raise RefusedError(f"the setting {name} is needed to create a world")
        level = value("levelName", settings["levelName"], ("strings",))
        # By name only: elsewhere a level may also be a file, and a file may be a program.
        if level not in registry.levels():
            raise RefusedError(str(unknown("level", level[:200], registry.levels())), code_pb2.NOT_FOUND)
        return WorldSettings(registry.levels()[level], 0).change(
            {name: tensor for name, tensor in settings.items() if name != "levelName"}
        )

    def change(self, settings: Mapping[str, Any]) -> WorldSettings:
        """The same with another seed or episode: the settings of a ResetWorldRequest."""
        _known(settings, ("seed", "episodeId"))
        given = {name: value(name, tensor, WHOLE) for name, tensor in settings.items()}
        return WorldSettings(self.level, given.get("seed", self.seed), given.get("episodeId", self.episode_id))


@dataclass(frozen=True)
class AgentSettings:
    """What JoinWorld asks for, and Reset may change."""

    width: int
    height: int
    seconds: float
    cross: bool = False

    @staticmethod
    def of(level: Level) -> AgentSettings:
        """What is not asked for is as in the level."""
        return AgentSettings(*level.picture, level.episode_steps * level.physics.step_seconds)

    def change(self, settings: Mapping[str, Any]) -> AgentSettings:
        """The same but for the settings of a JoinWorldRequest or ResetRequest."""
        _known(settings, ("width", "height", "EpisodeLengthSeconds", "ShowReachabilityHUD"))
        sides = {"width": self.width, "height": self.height}
        for name in sides.keys() & settings.keys():
            sides[name] = value(name, settings[name], WHOLE)
            if not SIDES[0] <= sides[name] <= SIDES[1]:
                raise RefusedError(f"{name} is {sides[name]}; {SIDES[0]}…{SIDES[1]} pixels are allowed")
        seconds, cross = self.seconds, self.cross
        if "EpisodeLengthSeconds" in settings:
            seconds = float(value("EpisodeLengthSeconds", settings["EpisodeLengthSeconds"], NUMBERS))
            if not 0.0 < seconds <= LONGEST:
                raise RefusedError(
                    f"EpisodeLengthSeconds is {seconds}; a number above 0, at most {LONGEST:.0f}, is needed"
                )
        if "ShowReachabilityHUD" in settings:
            cross = value("ShowReachabilityHUD", settings["ShowReachabilityHUD"], ("bools",))
        return AgentSettings(sides["width"], sides["height"], seconds, cross)

    def steps(self, level: Level) -> int:
        """The longest episode in steps."""
        return max(1, round(self.seconds / level.physics.step_seconds))

    def specs(self) -> Any:
        """What can be done and seen, by number."""
        specs = messages.ActionObservationSpecs()
        for place, name in enumerate(ACTIONS):
            spec = specs.actions[1 + place]
            spec.name, spec.dtype = name, messages.DOUBLE
            tensor_spec_utils.set_bounds(spec, *_bounds(place))
        kinds = (messages.UINT8, messages.STRING, messages.DOUBLE)
        for number, name, kind in zip((RGB, TEXT, REWARD), OBSERVATIONS, kinds, strict=True):
            spec = specs.observations[number]
            spec.name, spec.dtype = name, kind
        specs.observations[RGB].shape.extend([self.height, self.width, 3])
        return specs


def _bounds(place: int) -> tuple[float, float]:
    return (0.0 if ACTIONS[place] == "HAND_GRIP" else -1.0), 1.0


def changes(actions: Mapping[int, Any]) -> dict[int, float]:
    """The controls that a step changes, by place; all of them are good, or it is refused as a whole."""
    changed = {}
    for number, tensor in actions.items():
        if not 1 <= number <= len(ACTIONS):
            raise RefusedError(f"there is no action {number}; 1…{len(ACTIONS)} are known")
        place = number - 1
        given = value(ACTIONS[place], tensor, ("doubles",))
        low, high = _bounds(place)
        # Also of NaN this is false.
        if not low <= given <= high:
            raise RefusedError(f"{ACTIONS[place]} is {given}; a number in {low:.0f}…{high:.0f} is needed")
        changed[place] = given
    return changed


def check_requested(numbers: Any) -> frozenset[int]:
    """The observations that a step asks for."""
    asked = frozenset(numbers)
    for number in asked:
        if number not in (RGB, TEXT, REWARD):
            raise RefusedError(f"there is no observation {number}; {RGB}…{REWARD} are known")
    return asked


def observe(room: Room, asked: frozenset[int], into: Any) -> None:
    """Put the observations that are asked for into a StepResponse."""
    if RGB in asked:
        rgb = room.picture()
        tensor = into.observations[RGB]
        tensor.uint8s.array = rgb.tobytes()
        tensor.shape.extend(rgb.shape)
    if TEXT in asked:
        into.observations[TEXT].strings.array.append(room.text)
    if REWARD in asked:
        into.observations[REWARD].doubles.array.append(room.reward)
