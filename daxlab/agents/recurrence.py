"""Backpropagation through time with as little as possible inside of its loops, where a GPU is mostly idle.

A scan's gradient, as JAX takes it, keeps every intermediate result of every step, one by one, and adds to the gradient
of every weight at every step. Here a first scan only finds the states h_{t-1}. With them known all steps are done again
side by side, and that is what is learned from. Only what the loss feels of h_t through later steps needs a loop:

    λ_t = ∂L/∂h_t + (∂h_{t+1}/∂h_t)ᵀ λ_{t+1} + (∂y_{t+1}/∂h_t)ᵀ ∂L/∂y_{t+1}

after which the weights' gradients, again for all steps side by side, are those of one step each, with λ_t for ∂L/∂h_t.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

Step = Callable[[Any, Any, Any], tuple[Any, Any]]
"""(weights, state, x) → (state, y), all of them arrays that have a gradient, but for x that may hold others too."""


def through_time(step: Step, weights: Any, before: Any, xs: Any) -> tuple[Any, Any]:
    """`step` at each of T times, and its gradient through all of them.

    `before` are the states before each step, as a scan of `step` finds them; what comes back are those after, and y.
    """
    before = jax.lax.stop_gradient(before)
    after, ys = jax.vmap(step, in_axes=(None, 0, 0))(weights, before, xs)
    return _linked(step, *jax.lax.stop_gradient((weights, before, xs)), after, ys)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _linked(step: Step, weights: Any, before: Any, xs: Any, after: Any, ys: Any) -> tuple[Any, Any]:
    return after, ys


def _forward(step: Step, weights: Any, before: Any, xs: Any, after: Any, ys: Any) -> tuple[Any, Any]:
    return (after, ys), (weights, before, xs)


def _backward(step: Step, kept: Any, felt: Any) -> tuple[Any, ...]:
    weights, before, xs = kept

    def back(later: Any, now: Any) -> tuple[Any, Any]:
        state, x, of_state, of_y = now
        of_state = jax.tree.map(jnp.add, of_state, later)
        _, pull = jax.vjp(lambda state: step(weights, state, x), state)
        return pull((of_state, of_y))[0], of_state

    nothing = jax.tree.map(lambda x: jnp.zeros_like(x[0]), before)
    _, of_states = jax.lax.scan(back, nothing, (before, xs, *felt), reverse=True)
    return None, None, None, of_states, felt[1]


_linked.defvjp(_forward, _backward)
