"""Play a fixed set of episodes with the actors that see the state, without drawing a picture."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Int

from daxlab.compilation import BRIEF
from daxlab.errors import DaxlabError
from daxlab.levels.env import Env
from daxlab.levels.episode import RUNNING, Episode
from daxlab.levels.expert import act, any_slot

Carry = tuple[Episode, Array, Array]
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


def play_both(env: Env, episodes: int, seed: int) -> dict[str, Results]:
    """The expert and the random-object actor on the same episodes, in one compiled program.

    Each episode from its own key, all side by side, each to its end: a long one counts as much as a short one.
    """
    if episodes < 1:
        raise DaxlabError(f"episodes is {episodes}; at least 1 is needed")
    level = env.level

    def one(carry: Carry, at_random: Bool[Array, ""]) -> Carry:
        state, reward, discovered = carry
        goal = jnp.where(at_random, any_slot(level, state), state.target)
        state = env.advance(state, act(level, state, goal))
        return state, reward + state.reward, discovered | state.visited.all()

    @partial(jax.jit, compiler_options=BRIEF)
    def run(keys: Array, at_random: Bool[Array, " n"]) -> Carry:
        carry = (jax.vmap(env.start)(keys), jnp.zeros(len(keys)), jnp.zeros(len(keys), bool))
        return jax.lax.while_loop(
            lambda carry: (carry[0].outcome == RUNNING).any(), lambda carry: jax.vmap(one)(carry, at_random), carry
        )

    keys = jax.random.split(jax.random.key(seed), episodes)
    state, reward, discovered = run(jnp.concatenate([keys, keys]), jnp.arange(2 * episodes) >= episodes)
    both = [np.asarray(x) for x in (state.outcome, state.clock, reward, discovered)]
    return {
        "expert": Results(*(values[:episodes] for values in both)),
        "random-object": Results(*(values[episodes:] for values in both)),
    }
