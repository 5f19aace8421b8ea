"""Operations and bytes of one step of one room for each part of training, from the config alone (see `work`).

from daxlab.bench.arithmetic import rows
from daxlab.learning.config import preset
for name, row in rows(preset("paper")).items():
    print(name, row)
"""

from __future__ import annotations

from typing import Any, NamedTuple

from daxlab.agents.config import AgentConfig
from daxlab.assets.mesh import MAX_FACES
from daxlab.bench.device import Rates
from daxlab.bench.layers import agent_layers, row_bytes
from daxlab.bench.work import FLOAT, Work, backward, forward, parameters
from daxlab.learning.config import TrainConfig
from daxlab.levels.env import Env
from daxlab.levels.layout import furniture_names

FACE_IN, FACE_OUT = 15, 17
"""Numbers of a face in the table of meshes, and as the rasteriser wants it (`daxlab.render.gpu`)."""


class Part(NamedTuple):
    """A part of training as it is called."""

    work: Work
    steps: int
    """Steps it is done for in one go, of all rooms together."""
    calls: int
    """Calls in which it is done: how often weights are read."""
    counted: int
    """Steps of the world that this stands for."""

    def row(self) -> dict[str, Any]:
        """Operations and bytes a step of the world, with its share of what is done once a call."""
        operations, moved = self.work.over(self.steps, self.calls)
        return {"operations": operations / self.counted, "bytes": moved / self.counted, "dtype": self.work.dtype}

    def seconds(self, rates: Rates) -> float:
        """The least time a step of the world that a device of these rates needs: the roofline."""
        row = self.row()
        return max(row["operations"] / rates.of(self.work.dtype), row["bytes"] / rates.bytes)


def table(config: TrainConfig) -> dict[str, Part]:
    """Every part of a step: first what acting does, then what learning does with it."""
    env, agent, length = Env(config.level), config.agent, config.unroll
    layers = agent_layers(agent, env, 1)
    acting = {
        "render": Work(bytes=_raster_bytes(env)),
        **{f"{name}, acting": forward(part, _dtype(agent, name)) for name, part in layers.items() if name != "decoder"},
        "trajectory": Work(bytes=_observation_bytes(env)),
    }
    parts = {name: Part(work, config.rooms, 1, config.rooms) for name, work in acting.items()}
    each = config.minibatch * length
    kept = sum(row_bytes(agent)) * agent.memory.size
    parts["gather"] = Part(Work(bytes=2 * (_observation_bytes(env) + kept / length)), each, 1, each)
    for name, part in agent_layers(agent, env, length).items():
        # The unroll's end is encoded too, to bootstrap the value from.
        steps = rebuilt_steps(config) * config.minibatch if name == "decoder" else each + config.minibatch
        # The scan reads its weights at every step.
        calls = length + 1 if name == "core" and agent.core != "gtrxl" else 1
        for direction, work in (("forward", forward), ("backward", backward)):
            parts[f"{name} {direction}"] = Part(work(part, _dtype(agent, name)), steps, calls, each)
    numbers = sum(parameters(part) for part in layers.values())
    parts["optimiser"] = Part(Work(call_bytes=7 * FLOAT * numbers), each, 1, each)
    return parts


def rebuilt_steps(config: TrainConfig) -> int:
    """Steps of an unroll whose observation is rebuilt."""
    return max(1, round(config.decode_fraction * config.unroll))


def rows(config: TrainConfig, rates: Rates | None = None) -> dict[str, dict[str, Any]]:
    """`table` as JSON; with `rates`, the least microseconds a step too."""
    parts = table(config)
    return {
        name: part.row() | ({"bound_microseconds": 1e6 * part.seconds(rates)} if rates else {})
        for name, part in parts.items()
    }


def _dtype(config: AgentConfig, name: str) -> str:
    return config.vision.dtype if name in ("encoder", "decoder") else "float32"


def _observation_bytes(env: Env) -> int:
    return 3 * env.height * env.width + FLOAT * (env.text_length + env.num_actions + 4)


def _raster_bytes(env: Env) -> int:
    """The faces of each thing are read, written as edges and read again; then the picture is written."""
    things = env.level.num_objects + len(furniture_names(env.level))
    return FLOAT * things * MAX_FACES * (FACE_IN + 2 * FACE_OUT) + 3 * env.height * env.width
