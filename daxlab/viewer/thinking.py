"""Films of trained agents: what they see, do and expect, and which of the views in their memory they read.

>>> film_agent("runs/first", out="episode.gif")

The episodes are those that `daxlab evaluate` plays with the same seed, and actions are drawn from the policy as there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int, UInt8
from PIL import Image

from daxlab.agents.agent import Agent, Observation
from daxlab.agents.core import Reads
from daxlab.errors import DaxlabError
from daxlab.learning.evaluate import env_for, load_agent
from daxlab.levels.env import Env, key_data
from daxlab.levels.episode import RUNNING, Episode
from daxlab.viewer import mind, movie, replay
from daxlab.viewer.film import END_SECONDS, rules, tell, view
from daxlab.viewer.mind import PLACES, Memory, Moment, Thought
from daxlab.viewer.page import Shot, pixels


def film_agent(
    where: str | Path,
    level: str | None = None,
    out: str | Path = "episode.gif",
    seed: int = 0,
    episodes: int = 1,
    width: int = mind.WIDTH,
    fps: int = 4,
) -> Path:
    """Write a film of the agent of a run folder, checkpoint or weights file; of its own level unless given another."""
    out = Path(out)
    trained = load_agent(where)
    env = env_for(trained, level)
    unit = width / mind.WIDTH
    remembers = _held(trained.agent.initial_state().core) is not None
    height = pixels(unit, mind.TOP + mind.MEMORY if remembers else mind.TOP)
    movie.check(out, width, height, fps)
    large = view(env.level, pixels(unit, mind.VIEW_WIDTH), pixels(unit, mind.VIEW_HEIGHT))

    def draw(moment: Moment) -> Image.Image:
        return mind.draw(large(moment.shot.state), moment, env.level.actions, width, height)

    moments = record(env, trained.agent, seed, episodes)
    if out.suffix == ".html":
        shots, thoughts = [moment.shot for moment in moments], [moment.thought for moment in moments]
        with movie.whole(out) as path:
            replay.write(path, env, shots, thoughts, f"{where} on {env.level.name}, seed {seed}")
        return out
    movie.write(out, moments, draw, lambda moment: moment.shot.ended, fps, END_SECONDS)
    return out


def record(env: Env, agent: Agent, seed: int, episodes: int = 1) -> list[Moment]:
    """Play the first episodes of a seed without drawing them."""
    if episodes < 1:
        raise DaxlabError(f"episodes is {episodes}; at least 1 is needed")
    played, think = rules(env.level), thinker(env, agent)
    moments = []
    for key in jax.random.split(jax.random.key(seed), episodes):
        k_room, key = jax.random.split(key)
        states, thoughts = [played.start(key_data(k_room))], []
        memory = agent.initial_state()
        while True:
            running = int(states[-1].outcome) == RUNNING
            key, k_action = jax.random.split(key)
            memory, seen = think(agent, states[-1], memory, key_data(k_action))
            thoughts.append(thought_of(jax.device_get(seen), running))
            if not running:
                break
            states.append(played.advance(states[-1], thoughts[-1].action))
        shots = tell(env.level, states, [thought.action for thought in thoughts])
        moments += remember(shots, thoughts)
    return moments


def remember(shots: Sequence[Shot], thoughts: Sequence[Thought]) -> list[Moment]:
    """The moments of one episode. Each view that is ever in memory has its place; of too many, those read most."""
    written = sorted(frozenset().union(*(thought.held or () for thought in thoughts)))
    read = {step: sum(thought.shares.get(step, 0.0) for thought in thoughts) for step in written}
    places = sorted(sorted(written, key=lambda step: -read[step])[:PLACES])

    def memory(thought: Thought, step: int) -> Memory | None:
        if thought.held is None or step not in thought.held:
            return None
        return Memory(step, thoughts[step].rgb, shots[step].text, thought.shares.get(step, 0.0))

    return [
        Moment(shot, thought, tuple(memory(thought, step) for step in places), len(thought.held or ()))
        for shot, thought in zip(shots, thoughts, strict=True)
    ]


class Seen(NamedTuple):
    """What leaves the device at each step."""

    rgb: UInt8[Array, "h w 3"]
    probabilities: Float[Array, " a"]
    action: Int[Array, ""]
    value: Float[Array, ""]
    reads: Reads
    held: Int[Array, " m"] | None


Thinker = Callable[[Agent, Episode, Any, Any], tuple[Any, Seen]]
"""An agent, a state, what the agent remembers and the two numbers of a key, to what it remembers then and sees."""


def thinker(env: Env, like: Agent) -> Thinker:
    """How an agent looks at a state and draws an action, compiled. Agents with other weights can use the same."""
    static = eqx.partition(like, eqx.is_array)[1]

    @jax.jit
    def think(weights: Any, room: Episode, memory: Any, key: Array) -> tuple[Any, Seen]:
        now = env.timestep(room)
        memory, output = eqx.combine(weights, static).step(memory, Observation(*now.observation), now.first)
        action = jax.random.categorical(jax.random.wrap_key_data(key), output.logits)
        probabilities = jax.nn.softmax(output.logits)
        held = _held(memory.core)
        return memory, Seen(now.observation.rgb, probabilities, action, output.value, output.reads, held)

    return lambda agent, room, memory, key: think(eqx.filter(agent, eqx.is_array), room, memory, key)


def _held(core: Any) -> Int[Array, " m"] | None:
    """When each row of the core's memory was written, -1 for a row that was not; None if it has no memory."""
    if not hasattr(core, "ring"):
        return None
    return jnp.where(jnp.arange(core.ring.time.shape[0]) < core.ring.written, core.ring.time, -1)


def thought_of(seen: Seen, running: bool) -> Thought:
    """What an agent made of a state, off the device; an ended episode has no action."""
    held = None if seen.held is None else frozenset(seen.held[seen.held >= 0].tolist())
    action = int(seen.action) if running else -1
    rgb, probabilities = np.asarray(seen.rgb), np.asarray(seen.probabilities)
    return Thought(rgb, probabilities, action, float(seen.value), read_shares(seen.reads), held)


def read_shares(reads: Reads) -> dict[int, float]:
    """By step of the episode, the share of the weight, over all heads or layers, on rows that were written then."""
    total = float(np.sum(reads.weights))
    shares: dict[int, float] = {}
    for step, weight in zip(np.ravel(reads.times).tolist(), np.ravel(reads.weights).tolist(), strict=True):
        if weight > 0:
            shares[step] = shares.get(step, 0.0) + weight / total
    return shares
