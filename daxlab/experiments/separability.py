"""A probe of untrained eyes: how well does a comparison of visual codes tell the object that was asked for?

    python -m daxlab.experiments.separability desk/fast_map_three_objs
    python -m daxlab.experiments.separability pretrained:room

Somebody plays: by script (a random object, 30% random actions) or, given a run or weights, a trained agent. At each
step of the instruction phase that looks at an object, the code of the view is compared with the mean code of the latest
views of the target from when it was named: cos(v, m̂) of standardised codes, as `dcem_match` does. The area under the
curve says how often the cosine is higher where the object is the target than where it is another: 0.5 is a guess, 1 is
certain before anything is learned.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Int, UInt8

from daxlab.agents.agent import AgentState, Observation
from daxlab.agents.config import VisionConfig
from daxlab.agents.memory import unit
from daxlab.agents.standardise import initial_statistics, standardise, update_statistics
from daxlab.agents.vision import Fovea, Vision
from daxlab.compilation import enable_cache
from daxlab.errors import DaxlabError
from daxlab.learning.config import preset
from daxlab.learning.evaluate import Trained, env_for, load_agent
from daxlab.levels import registry
from daxlab.levels.env import Env, Rooms, TimeStep
from daxlab.levels.episode import Episode
from daxlab.levels.expert import random_object
from daxlab.levels.spec import DISCOVERY, INSTRUCTION

VIEWS = 8
"""Latest views of the target that are compared with; fewer if it was seen for less."""
RANDOM = 0.3
"""Share of random actions."""


class Play(NamedTuple):
    """Steps of scripted play, [time, room, …]."""

    rgb: UInt8[Array, "t b h w 3"]
    fixated: Int[Array, "t b"]
    phase: Int[Array, "t b"]
    target: Int[Array, "t b"]
    first: Bool[Array, "t b"]


def play(level: str, rooms: int, steps: int, seed: int = 0) -> Play:
    """Scripted play in so many rooms."""
    env = Env(level)

    def act(states: Episode, now: TimeStep, memory: None, key: Array) -> tuple[Array, None]:
        k_when, k_what = jax.random.split(key)
        scripted = jax.vmap(lambda state: random_object(env.level, state))(states)
        drawn = jax.random.randint(k_what, (rooms,), 0, env.num_actions)
        return jnp.where(jax.random.uniform(k_when, (rooms,)) < RANDOM, drawn, scripted), None

    return _play(Rooms(env, rooms), act, None, steps, seed)


def play_agent(trained: Trained, rooms: int, steps: int, seed: int = 0) -> Play:
    """An agent's play in so many rooms of its level."""

    def act(states: Episode, now: TimeStep, memory: AgentState, key: Array) -> tuple[Array, AgentState]:
        memory, output = jax.vmap(trained.agent.step)(memory, Observation(*now.observation), now.first)
        return jax.random.categorical(key, output.logits), memory

    memory = jax.tree.map(lambda x: jnp.repeat(x[None], rooms, axis=0), trained.agent.initial_state())
    return _play(Rooms(env_for(trained), rooms), act, memory, steps, seed)


def _play(many: Rooms, act: Callable[..., tuple[Array, Any]], memory: Any, steps: int, seed: int) -> Play:
    k_rooms, k_steps = jax.random.split(jax.random.key(seed))

    def step(carry: tuple[Episode, TimeStep, Any], key: Array) -> tuple[tuple[Episode, TimeStep, Any], Play]:
        states, now, memory = carry
        action, memory = act(states, now, memory, key)
        seen = Play(now.observation.rgb, states.fixated, states.phase, states.target, now.first)
        return (*many.step(states, action), memory), seen

    run = jax.jit(lambda k_rooms, keys: jax.lax.scan(step, (*many.reset(k_rooms), memory), keys)[1])
    return run(k_rooms, jax.random.split(k_steps, steps))


def separability(played: Play, encode: Callable[[Array], Array]) -> float:
    """The area under the curve for one encoder of a picture."""
    v = jax.jit(lambda rgb: jax.lax.map(jax.vmap(encode), rgb))(played.rgb)
    codes = np.asarray(standardise(update_statistics(initial_statistics(v.shape[-1]), v), v))
    fixated, phase, target, first = (np.asarray(x) for x in played[1:])
    right: list[Float[np.ndarray, "2 v"]] = []
    wrong: list[Float[np.ndarray, "2 v"]] = []
    for room in range(codes.shape[1]):
        views: dict[int, list[Float[np.ndarray, " v"]]] = {}
        for t in range(codes.shape[0]):
            views = {} if first[t, room] else views
            seen, wanted = int(fixated[t, room]), int(target[t, room])
            if phase[t, room] == DISCOVERY and seen >= 0:
                views.setdefault(seen, []).append(codes[t, room])
            if phase[t, room] == INSTRUCTION and seen >= 0 and wanted in views:
                pair = np.stack([codes[t, room], np.mean(views[wanted][-VIEWS:], axis=0)])
                (right if seen == wanted else wrong).append(pair)
    if not (right and wrong):
        raise DaxlabError("the play has no pair of views to compare: play more rooms or more steps")
    at_target, elsewhere = (np.asarray(_cosine(jnp.asarray(np.stack(pairs)))) for pairs in (right, wrong))
    return float(np.mean(at_target[:, None] > elsewhere))


def _cosine(pairs: Float[Array, "n 2 v"]) -> Float[Array, " n"]:
    return jnp.sum(unit(pairs[:, 0]) * unit(pairs[:, 1]), axis=-1)


FOVEAS = ((0.2, 0, False), (0.2, 0, True), (0.2, 1, False), (0.2, 1, True), (0.12, 1, False), (0.12, 1, True))
"""Width, stride and root of the foveas that are compared."""


def main() -> None:
    """Compare the paper's encoder, the preset's, the preset's fovea alone with various options, and a trained one."""
    enable_cache()
    who = sys.argv[1]
    known = who in registry.levels()
    trained = None if known else load_agent(who)
    level = who if trained is None else trained.config.level
    size = (256, 60) if level.startswith("desk/") else (96, 180)
    played = play(level, *size) if trained is None else play_agent(trained, *size)
    config = preset("desk" if level.startswith("desk/") else "room").agent.vision
    height, width = played.rgb.shape[2:4]
    encoders: dict[str, Callable[[Array], Array]] = {
        "the paper's ResNet": Vision(jax.random.key(0), VisionConfig(), height, width),
        "the preset's ResNet and fovea": Vision(jax.random.key(0), config, height, width),
    }
    for wide, stride, root in FOVEAS:
        options = replace(config, fovea_width=wide, fovea_stride=stride, fovea_root=root)
        encoders[f"a fovea alone: width {wide}, stride {stride}, root {root}"] = Fovea(jax.random.key(0), options)
    if trained is not None:
        encoders["its own, trained"] = trained.agent.vision
    for name, encode in encoders.items():
        print(f"{separability(played, encode):.3f}  {name}", flush=True)


if __name__ == "__main__":
    main()
