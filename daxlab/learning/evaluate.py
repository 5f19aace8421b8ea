"""Frozen weights on a fixed set of episodes: each from its own key, side by side, each to its end."""

from __future__ import annotations

import json
import math
import time
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int

from daxlab import pretrained
from daxlab.agents.agent import Agent, AgentState, Observation
from daxlab.errors import DaxlabError
from daxlab.learning import checkpoint
from daxlab.learning.config import TrainConfig
from daxlab.learning.diagnostics import Notes, Sums, measure, no_notes, summarise, take_notes
from daxlab.learning.loop import new_agent
from daxlab.learning.run import latest
from daxlab.levels.env import Env
from daxlab.levels.episode import RIGHT, RUNNING, Episode

SIDE_BY_SIDE = 512
"""Episodes that are played at once: the set does not depend on it, the memory it needs does."""


class Trained(NamedTuple):
    """An agent from disk."""

    agent: Agent
    config: TrainConfig
    steps: int
    path: Path


class Episodes(NamedTuple):
    """One number per episode."""

    outcome: Int[np.ndarray, " n"]
    """RIGHT, WRONG or TIMEOUT of `daxlab.levels.episode`."""
    target: Int[np.ndarray, " n"]
    lifted: Int[np.ndarray, " n"]
    """Slots of the object that was asked for, and of the one that was lifted (-1: none)."""
    steps: Int[np.ndarray, " n"]
    reward: Float[np.ndarray, " n"]
    sums: dict[str, float]
    """Diagnostics over all of them."""


def load_agent(where: str | Path) -> Trained:
    """The agent of a run (its newest checkpoint), a checkpoint folder, a weights file, or `pretrained:NAME`."""
    path = pretrained.resolve(where)
    path = latest(path) if (path / "config.json").exists() else path
    loaded = checkpoint.load(path)
    blank = new_agent(loaded.config, Env(loaded.config.spec), jax.random.key(0))
    named = {name: x for name, x in loaded.tensors.items() if name.startswith(".agent")}
    agent = checkpoint.restore({"agent": blank}, {"['agent']" + n[len(".agent") :]: x for n, x in named.items()}, path)
    return Trained(agent["agent"], loaded.config, loaded.updates * loaded.config.steps_per_update, path)


def export(where: str | Path, out: Path) -> int:
    """Write the agent's weights alone as one file, large tensors in half precision; returns its bytes."""
    path = pretrained.resolve(where)
    loaded = checkpoint.load(latest(path) if (path / "config.json").exists() else path)
    weights = {name: x for name, x in loaded.tensors.items() if name.startswith(".agent")}
    checkpoint.export(weights, loaded.config, loaded.updates, out)
    return out.stat().st_size


class Meddle:
    """What an experiment changes in the episodes it plays; this one changes nothing."""

    def begin(self, room: Episode) -> Episode:
        """The room before its first step."""
        return room

    def hear(self, room: Episode, text: Int[Array, " length"]) -> Int[Array, " length"]:
        """What the agent is told."""
        return text

    def remember(self, before: Episode, after: Episode, memory: AgentState, blank: AgentState) -> AgentState:
        """What the agent remembers between two steps of the room."""
        return memory


def play(
    env: Env,
    agent: Agent,
    keys: Array,
    greedy: bool = False,
    meddle: Meddle | None = None,
    at_once: int = SIDE_BY_SIDE,
    deadline: float = math.inf,
) -> Episodes:
    """Play one episode from each key; of the first of them only where all would not be done by the deadline."""
    # Weights come as an argument: as constants of the program they would have it compiled anew for every agent.
    run = eqx.filter_jit(partial(_run, env, meddle or Meddle(), greedy))
    played: list[tuple[Episode, Notes, Sums]] = []
    took = 0.0
    for i in range(0, len(keys), at_once):
        began = time.monotonic()
        if played and began + took > deadline:
            break
        played.append(jax.device_get(run(agent, keys[i : i + at_once])))
        # The first are not typical: they wait for the compiler.
        took = time.monotonic() - began if i else 0.0
    ends = [(room.outcome, room.target, room.lifted, room.clock, notes.reward) for room, notes, _ in played]
    outcome, target, lifted, steps, reward = (np.concatenate(part) for part in zip(*ends, strict=True))
    sums = {name: float(sum(told[name].sum() for *_, told in played)) for name in played[0][2]}
    return Episodes(outcome, target, lifted, steps, reward, sums)


class Lane(NamedTuple):
    """One episode under way."""

    room: Episode
    memory: Any
    notes: Notes
    key: Array
    sums: Sums


def _run(env: Env, meddle: Meddle, greedy: bool, agent: Agent, keys: Array) -> tuple[Episode, Notes, Sums]:
    """All episodes side by side, to the end of the longest."""
    level = env.level

    def look(room: Episode, memory: Any, notes: Notes) -> tuple[Any, Float[Array, " a"], Sums]:
        now = env.timestep(room)
        rgb, text = now.observation
        memory, output = agent.step(memory, Observation(rgb, meddle.hear(room, text)), now.first)
        return memory, output.logits, measure(level, room, notes, now.last, output.logits, output.reads)

    def step(lane: Lane) -> Lane:
        running = lane.room.outcome == RUNNING
        memory, logits, told = look(lane.room, lane.memory, lane.notes)
        key, k_action = jax.random.split(lane.key)
        drawn = jnp.argmax(logits) if greedy else jax.random.categorical(k_action, logits)
        sums = {name: lane.sums[name] + running * value for name, value in told.items()}
        room = env.advance(lane.room, drawn)
        memory = meddle.remember(lane.room, room, memory, agent.initial_state())
        return Lane(room, memory, take_notes(level, room, lane.notes), key, sums)

    def begin(key: Array) -> Lane:
        k_room, k_actions = jax.random.split(key)
        room = meddle.begin(env.start(k_room))
        memory, notes = agent.initial_state(), take_notes(level, room, no_notes(level))
        # The names of the sums, from a step that is not taken.
        names = jax.eval_shape(lambda: look(room, memory, notes)[2])
        return Lane(room, memory, notes, k_actions, {name: jnp.zeros(()) for name in names})

    lanes = jax.vmap(begin)(keys)
    lanes = jax.lax.while_loop(lambda lanes: (lanes.room.outcome == RUNNING).any(), jax.vmap(step), lanes)
    return lanes.room, lanes.notes, lanes.sums


def evaluate(
    where: str | Path,
    level: str | None = None,
    episodes: int = 500,
    seed: int = 0,
    greedy: bool = False,
    at_once: int = SIDE_BY_SIDE,
    deadline: float = math.inf,
) -> dict[str, Any]:
    """Play `episodes` episodes of a level (the one it was trained on unless given) and report."""
    if episodes < 1:
        raise DaxlabError(f"episodes is {episodes}; at least 1 is needed")
    trained = load_agent(where)
    env = env_for(trained, level)
    keys = jax.random.split(jax.random.key(seed), episodes)
    played = play(env, trained.agent, keys, greedy, at_once=at_once, deadline=deadline)
    return report(played, env.level.chance) | {
        "level": env.level.name,
        "seed": seed,
        "agent": trained.config.agent.core,
        "trained_on": trained.config.title,
        "trained_steps": trained.steps,
        "weights": str(trained.path),
    }


def env_for(trained: Trained, level: str | None = None) -> Env:
    """The level to play, the agent's own unless given, with pictures of the size that it was trained with."""
    config = trained.config
    home, own = Env(config.spec), {spec.name: spec for spec in config.specs}
    if level is None and len(own) > 1:
        raise DaxlabError(
            f"the agent was trained on the mixture {config.title!r}; choose a level to play: {', '.join(own)}"
        )
    env = home if level is None else Env(own.get(level, level), width=home.width, height=home.height)
    if env.num_actions != home.num_actions:
        raise DaxlabError(
            f"{env.level.name} has {env.num_actions} actions, but the agent was trained with {home.num_actions}"
        )
    return env


def report(played: Episodes, chance: float) -> dict[str, Any]:
    """Success with its interval, and the rest."""
    count = len(played.outcome)
    right = int((played.outcome == RIGHT).sum())
    low, high = wilson(right, count)
    extra = summarise(played.sums | {"episodes": 0}, chance)
    return {
        "episodes": count,
        "success": right / count,
        "interval": [round(low, 4), round(high, 4)],
        "chance": chance,
        "lift_rate": float(np.mean(played.outcome < 3)),
        "length": float(np.mean(played.steps)),
        "return": float(np.mean(played.reward)),
        **{name: extra[name] for name in ("recall", "recall_at_k") if name in extra},
    }


def wilson(successes: int, count: int, z: float = 1.96) -> tuple[float, float]:
    """The 95% interval of a share (Wilson's: right also near 0 and 1)."""
    p = successes / count
    middle = (p + z * z / (2 * count)) / (1 + z * z / count)
    half = z * math.sqrt(p * (1 - p) / count + z * z / (4 * count * count)) / (1 + z * z / count)
    return max(0.0, middle - half), min(1.0, middle + half)


def to_text(result: dict[str, Any] | list[dict[str, Any]]) -> str:
    """The report as JSON."""
    return json.dumps(result, indent=2, ensure_ascii=False)
