"""A run that is small enough for a test: the desk, and agents of a few thousand weights."""

from __future__ import annotations

import os
from typing import Any

import jax

from daxlab.agents.config import AgentConfig, MemoryConfig, TransformerConfig, VisionConfig
from daxlab.learning import loop
from daxlab.learning.config import TrainConfig, change, preset, with_agent

THOROUGH: dict[str, bool | int | str] = {
    "xla_backend_optimization_level": 3,
    "xla_llvm_disable_expensive_passes": False,
} | ({"xla_cpu_use_fusion_emitters": True} if "fusion_emitters" in os.environ.get("XLA_FLAGS", "") else {})
"""XLA's defaults, which conftest changes: for programs that run for longer than they compile."""
DESK = "desk/fast_map_three_objs"
LEARN = loop.make_update
ROWS, WINDOW = 4, 3
"""Rows of the memory, and steps that are written after the text changed."""


def small(core: str) -> TrainConfig:
    """The config of such a run."""
    agent = AgentConfig(
        core="dcem_match",
        vision=VisionConfig(channels=(4, 4), blocks=(1, 1), strides=(4, 4), convolutions=1, embedding=8),
        memory=MemoryConfig(
            size=ROWS, k=3, heads=2, query=8, value=8, selective_write=True, worded_only=True, window=WINDOW
        ),
        transformer=TransformerConfig(layers=2, width=16, heads=2, head=8, mlp=16),
        latent=16,
        lstm=16,
        policy=16,
        value=16,
        reconstruction=False,
    )
    config = TrainConfig(level=DESK, agent=agent, rooms=4, unroll=6, minibatch=4, steps=24 * 100, log_steps=24)
    return with_agent(config, core)


def small_preset(**options: object) -> TrainConfig:
    """The desk preset, all of its options, with an agent as small."""
    tiny = {
        "agent__vision__channels": (4, 4),
        "agent__vision__blocks": (1, 1),
        "agent__vision__strides": (4, 4),
        "agent__vision__embedding": 8,
        "agent__vision__fovea": 3,
        "agent__memory__size": 8,
        "agent__memory__k": 2,
        "agent__latent": 16,
        "agent__lstm": 16,
    }
    return change(preset("desk"), **tiny, **options)


MIXTURE = f"""
name = "mine/both"
[mixture]
"{DESK}" = 3
"short.toml" = 1
"""
"""A mixture's file, beside a level's."""


def no_learning(config: TrainConfig, rooms: object, repeats: int, devices: object = None) -> Any:
    """In place of `make_update`: quickly compiled; it plays and learns nothing, and tells of four episodes."""

    def update(state: Any) -> Any:
        told = {"loss": 0.0, "gradient": 0.0, "episodes": 4.0, "successes": 1.0, "lifts": 3.0, "length": 40.0}
        return state._replace(updates=state.updates + repeats), told

    return jax.jit(update)


def only_traced(config: TrainConfig, rooms: Any, repeats: int = 1, devices: object = None) -> Any:
    """In place of `make_update`: acting and learning are traced, all shapes and gradients checked, and nothing run."""

    def update(state: Any) -> Any:
        after, told = jax.eval_shape(LEARN(config, rooms, repeats), state)
        shapes = jax.tree.map(lambda x: (x.shape, x.dtype), (state, after))
        assert shapes[0] == shapes[1]
        return state._replace(updates=state.updates + repeats), dict.fromkeys(told, 1.0)

    return update
