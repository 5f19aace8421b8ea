"""Play a fixed set of episodes with an actor that sees the state, without drawing a picture."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from daxlab.errors import DaxlabError
from daxlab.levels.env import Env
from daxlab.levels.episode import RUNNING, Episode
from daxlab.levels.expert import Actor

Carry = tuple[Episode, jax.Array, jax.Array]
"""State, sum of rewards, whether every object was named."""


class Results(NamedTuple):
    """One number per episode."""

    outcome: Int[np.ndarray, " n"]
    """RIGHT, WRONG or TIMEOUT of `daxlab.levels.episode`."""
    steps: Int[np.ndarray, " n"]
    reward: Float[np.ndarray, " n"]
    """Sum over the episode."""
    discovered: Bool[np.ndarray, " n"]
    """Every object was named before the instruction."""


def play(env: Env, actor: Actor, episodes: int, seed: int) -> Results:
    """Each episode from its own key, all side by side, each to its end: a long one counts as much as a short one."""
    if episodes < 1:
        raise DaxlabError(f"episodes is {episodes}; at least 1 is needed")
    keys = jax.random.split(jax.random.key(seed), episodes)

    def one(carry: Carry) -> Carry:
        state, reward, discovered = carry
        state = env.advance(state, actor(env.level, state))
        return state, reward + state.reward, discovered | state.visited.all()

    @jax.jit
    def run(keys: jax.Array) -> Carry:
        carry = (jax.vmap(env.start)(keys), jnp.zeros(episodes), jnp.zeros(episodes, bool))
        return jax.lax.while_loop(lambda c: (c[0].outcome == RUNNING).any(), jax.vmap(one), carry)

    state, reward, discovered = run(keys)
    return Results(*(np.asarray(x) for x in (state.outcome, state.clock, reward, discovered)))
