"""A world that is compiled in a second, and runs in it: `python -m tests.tiny train --devices 2 …`.

Two levels, mixed. A room is in one of three moods, which tints its noisy picture and is named; the action of that
number is right. Episodes last two steps longer at the second level.
"""

from __future__ import annotations

import dataclasses
import os
import sys
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple
from unittest.mock import patch

import jax
import jax.numpy as jnp
import numpy as np

from daxlab.learning import config, loop
from daxlab.learning.config import TrainConfig, change, with_agent
from daxlab.levels import mixture, registry
from daxlab.levels.catalogue import MIXTURES
from daxlab.levels.env import Env, Observation, key_data
from daxlab.levels.episode import RIGHT, RUNNING, TIMEOUT, WRONG
from daxlab.levels.spec import DISCOVERY, INSTRUCTION
from tests.small import DESK, small_preset

NAMES = ("tiny/short", "tiny/long")
MIXED = "tiny/both"
THIN = {
    "agent__vision__channels": (4,),
    "agent__vision__blocks": (0,),
    "agent__vision__strides": (4,),
    "agent__vision__fovea": 0,
}
UPDATES = 3


class Place(NamedTuple):
    place: Any
    agent: Any
    heading: Any


class Room(NamedTuple):
    key: Any
    target: Any
    clock: Any
    phase: Any
    fixated: Any
    visited: Any
    lifted: Any
    outcome: Any
    reward: Any
    layout: Place


class TinyEnv(Env):
    def start(self, key):
        now, then = jax.random.split(jax.random.wrap_key_data(key_data(key)))
        none, nowhere = jnp.array(-1), Place(jnp.zeros((3, 3)), jnp.zeros(2), jnp.zeros(()))
        target = jax.random.randint(now, (), 0, 3)
        then = jax.random.key_data(then)
        clock = jnp.array(0)
        return Room(
            then, target, clock, jnp.array(DISCOVERY), none, jnp.ones(3, bool), none, clock, jnp.zeros(()), nowhere
        )

    def advance(self, state, action):
        running = state.outcome == RUNNING
        clock = state.clock + running
        right = action % 3 == state.target
        answered = running & (clock > 2) & (action < 3)
        outcome = jnp.where(
            answered, jnp.where(right, RIGHT, WRONG), jnp.where(clock >= self.level.episode_steps, TIMEOUT, 0)
        )
        return state._replace(
            clock=clock,
            phase=jnp.where(clock > 2, INSTRUCTION, DISCOVERY),
            fixated=jnp.where(right, state.target, -1),
            lifted=jnp.where(answered, action, state.lifted),
            outcome=jnp.where(running, outcome, state.outcome),
            reward=running * (0.1 * right + answered * right),
        )

    def observe(self, state):
        noise = jax.random.fold_in(jax.random.wrap_key_data(state.key), state.clock)
        rgb = jax.random.randint(noise, (self.height, self.width, 3), 0, 128)
        text = jnp.full(self.text_length, state.target + 1).at[1:].set(0)
        return Observation((rgb + 40 * state.target).astype(jnp.uint8), text)


def tiny(**options: object) -> TrainConfig:
    """A run of the tiny world that saves after every update; inside of `world` only."""
    small = small_preset(rooms=8, unroll=3, minibatch=4, level=MIXED, log_steps=24, steps=24 * UPDATES)
    small = change(small, save_minutes=1e-9)
    return change(with_agent(small, "lstm"), **THIN, **options)


@contextmanager
def world():
    """Where the tiny world is the only one."""
    desk = registry.get(DESK)
    levels = [
        dataclasses.replace(desk, name=name, picture=(8, 8), discovery_steps=2, episode_steps=steps)
        for name, steps in zip(NAMES, (4, 6), strict=True)
    ]
    with ExitStack() as stack:
        stack.enter_context(patch.dict(registry.levels(), {level.name: level for level in levels}))
        stack.enter_context(patch.dict(MIXTURES, {MIXED: NAMES}))
        stack.enter_context(patch.object(mixture, "Env", TinyEnv))
        stack.enter_context(patch.object(config, "preset", lambda name: tiny()))
        # As accelerators do it, and compiled sooner.
        stack.enter_context(patch.object(loop, "_repeat", loop._scan))
        yield


def pictures(count: int) -> np.ndarray:
    """Random scenes drawn by so many devices, each its part of them."""
    from daxlab.learning.devices import DEALT, take
    from daxlab.render import render
    from daxlab.render.parity import random_scenes

    devices = take(count)
    draw = jax.vmap(lambda scene: render(scene, 24, 24))
    return np.asarray(jax.jit(devices.spread(draw, (DEALT,), DEALT))(random_scenes(0, 6)))


if __name__ == "__main__":
    from daxlab.cli import main

    with world():
        if drawn := os.environ.get("PICTURES"):
            np.save(drawn, pictures(2))
        for command in " ".join(sys.argv[1:]).split(" then "):
            main(command.split())
