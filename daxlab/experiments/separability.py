"""A probe of untrained eyes: how well does a comparison of visual codes tell the object that was asked for?

    python -m daxlab.experiments.separability desk/fast_map_three_objs

Somebody plays by script (a random object, 30% random actions). At each step of the instruction phase that looks at an
object, the code of the view is compared with the mean code of the latest views of the target from when it was named:
cos(v, m̂) of standardised codes, as `dcem_match` does. The area under the curve says how often the cosine is higher
where the object is the target than where it is another: 0.5 is a guess, 1 is certain before anything is learned.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Int, UInt8

from daxlab.agents.config import VisionConfig
from daxlab.agents.memory import unit
from daxlab.agents.standardise import initial_statistics, standardise, update_statistics
from daxlab.agents.vision import Vision
from daxlab.errors import DaxlabError
from daxlab.learning.config import preset
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
    many = Rooms(env, rooms)
    k_rooms, k_steps = jax.random.split(jax.random.key(seed))

    def step(carry: tuple[Episode, TimeStep], key: Array) -> tuple[tuple[Episode, TimeStep], Play]:
        states, now = carry
        k_when, k_what = jax.random.split(key)
        scripted = jax.vmap(lambda state: random_object(env.level, state))(states)
        drawn = jax.random.randint(k_what, (rooms,), 0, env.num_actions)
        action = jnp.where(jax.random.uniform(k_when, (rooms,)) < RANDOM, drawn, scripted)
        seen = Play(now.observation.rgb, states.fixated, states.phase, states.target, now.first)
        return many.step(states, action), seen

    run = jax.jit(lambda k_rooms, keys: jax.lax.scan(step, many.reset(k_rooms), keys)[1])
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


def main() -> None:
    """Compare the paper's encoder, the preset's, and the preset's fovea alone."""
    level = sys.argv[1]
    config = preset("desk" if level.startswith("desk/") else "room").agent.vision
    played = play(level, *((256, 60) if level.startswith("desk/") else (48, 160)))
    height, width = played.rgb.shape[2:4]
    ours = Vision(jax.random.key(0), config, height, width)
    encoders = {
        "the paper's ResNet": Vision(jax.random.key(0), VisionConfig(), height, width),
        "the preset's ResNet and fovea": ours,
        "its fovea alone": ours.fovea,
    }
    for name, encode in encoders.items():
        if encode is not None:
            print(f"{separability(played, encode):.3f}  {name}")


if __name__ == "__main__":
    main()
