"""The four terms of the loss, with the paper's weights, and its optimiser (A.4.2).

Time steps are those of dm_env: the LAST step of an episode carries its own observation, and the reward and discount of
arriving there (0 if the episode terminated, γ if it ran out of time); the step after it is the FIRST of the next. Of
T+1 steps, transition t goes from step t to step t+1; where step t+1 is a FIRST there is no transition, and nothing is
learned from it. All sums over time are divided by T, so that the mean over sequences is the mean over steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax  # type: ignore[import-untyped]
from jax import Array
from jaxtyping import Bool, Float, Int, UInt8

from daxlab.agents.language import PADDING
from daxlab.learning.vtrace import vtrace


@dataclass(frozen=True)
class LossConfig:
    """Weights of the four terms."""

    policy: float = 0.1
    """Weight of the policy gradient ("policy cost")."""
    value: float = 0.5
    """Weight of ½ (vs − V)² ("return cost")."""
    entropy: float = 1e-4
    """Weight of the policy's entropy ("entropy cost")."""
    reconstruction: float = 1.0
    """Weight of both reconstruction terms ("reconstruction cost")."""
    image: float = 50.0
    """Scale of the picture's term, a mean over pixels and colours. Open in the paper; RMA, its ancestor, has 50."""
    text: float = 1.0
    """Scale of the text's term, a mean over words."""
    discount: float = 0.95
    """Discount factor γ."""


@dataclass(frozen=True)
class OptimiserConfig:
    """Adam."""

    learning_rate: float = 1e-4
    """Step size."""
    beta1: float = 0.0
    """Decay of the first moment; at 0 there is no momentum."""
    beta2: float = 0.95
    """Decay of the second moment."""
    epsilon: float = 5e-8
    """Added to the root of the second moment."""
    decay_steps: int = 0
    """Steps of the world over which the step size falls in a straight line to a hundredth; 0: it stays. Ours."""


def optimiser(config: OptimiserConfig) -> optax.GradientTransformation:
    """The paper's Adam."""
    return optax.adam(config.learning_rate, b1=config.beta1, b2=config.beta2, eps=config.epsilon)


class ActorCritic(NamedTuple):
    """The terms before their weights, and what else is worth logging of them."""

    policy: Float[Array, ""]
    value: Float[Array, ""]
    entropy: Float[Array, ""]
    """The policy's entropy in nats (not its negative)."""
    error: Float[Array, ""]
    """Mean |vs − V|."""
    rho: Float[Array, ""]
    """Mean importance ratio π/μ; 1 on policy."""
    apart: Float[Array, ""]
    """Mean |log π − log μ|; 0 on policy, but for rounding."""


def log_probability(logits: Float[Array, "t a"], action: Int[Array, " t"]) -> Float[Array, " t"]:
    """log π(a)."""
    return jnp.take_along_axis(jax.nn.log_softmax(logits), action[:, None], axis=-1)[:, 0]


def actor_critic(
    logits: Float[Array, "t1 a"],
    value: Float[Array, " t1"],
    behaviour_logits: Float[Array, "t1 a"],
    action: Int[Array, " t1"],
    reward: Float[Array, " t1"],
    discount: Float[Array, " t1"],
    first: Bool[Array, " t1"],
) -> ActorCritic:
    """Policy gradient, value and entropy terms of one sequence of T+1 steps.

    `logits` and `value` are the learner's, `behaviour_logits` those the actions were drawn from. `reward[t]` and
    `discount[t]` came with step t (what is there at a FIRST is not used); `action[t]` was taken at step t.
    """
    mask = ~first[1:]
    log_pi = log_probability(logits[:-1], action[:-1])
    log_mu = log_probability(behaviour_logits[:-1], action[:-1])
    log_rho = jax.lax.stop_gradient(log_pi) - log_mu
    rho = jnp.exp(log_rho)
    targets = vtrace(value[:-1], value[1:], reward[1:], discount[1:], rho, mask)
    error = jnp.where(mask, targets.target_tm1 - value[:-1], 0.0)
    advantage = jnp.where(mask, targets.advantage_tm1, 0.0)
    log_p = jax.nn.log_softmax(logits[:-1])
    entropy = jnp.where(mask, -jnp.sum(jnp.exp(log_p) * log_p, axis=-1), 0.0)
    return ActorCritic(
        policy=-jnp.mean(log_pi * advantage),
        value=0.5 * jnp.mean(error**2),
        entropy=jnp.mean(entropy),
        error=jnp.mean(jnp.abs(error)),
        rho=jnp.mean(jnp.where(mask, rho, 1.0)),
        apart=jnp.mean(jnp.where(mask, jnp.abs(log_rho), 0.0)),
    )


def image_loss(logits: Float[Array, "h w 3"], rgb: UInt8[Array, "h w 3"]) -> Float[Array, ""]:
    """−x log d − (1 − x) log(1 − d) with x the brightness in [0, 1], d = σ(logits): the mean over pixels and colours.

    The paper does not say whether to sum or average. A mean does not depend on the picture's size, so that one weight
    serves 24×24 and 72×96; `LossConfig.image` sets its scale against the other terms.
    """
    # The same as −x log σ(z) − (1 − x) log σ(−z), with one logarithm a pixel instead of two.
    return jnp.mean(jax.nn.softplus(logits) - rgb.astype(jnp.float32) / 255 * logits)


def text_loss(logits: Float[Array, "n vocabulary"], text: Int[Array, " n"]) -> Float[Array, ""]:
    """−x log d − (1 − x) log(1 − d) with x the one-hot word, d = softmax(logits): summed over the vocabulary.

    The mean over the words; padding is no word, and a step without text has no loss. The second term is in the paper's
    equation though a softmax does not need it: it pushes down the likeliest of the wrong words.
    """
    is_word = text != PADDING
    return jnp.sum(jnp.where(is_word, _word_loss(logits, text), 0.0)) / jnp.maximum(jnp.sum(is_word), 1)


SURE = 1 - 1e-6
"""A likelihood above this counts as this much where it is wrong, so that the loss is finite."""


@jax.custom_vjp
def _word_loss(logits: Float[Array, "n vocabulary"], text: Int[Array, " n"]) -> Float[Array, " n"]:
    """−log d_x − Σ_{v≠x} log(1 − d_v) of each word x."""
    return _word_loss_and_likelihood(logits, text)[0]


def _word_loss_and_likelihood(
    logits: Float[Array, "n vocabulary"], text: Int[Array, " n"]
) -> tuple[Float[Array, " n"], tuple[Float[Array, "n vocabulary"], Int[Array, " n"]]]:
    log_d = jax.nn.log_softmax(logits)
    d = jnp.exp(log_d)
    is_it = jnp.arange(d.shape[-1]) == text[:, None]
    return -jnp.sum(jnp.where(is_it, log_d, jnp.log1p(-jnp.minimum(d, SURE))), axis=-1), (d, text)


def _word_loss_gradient(
    kept: tuple[Float[Array, "n vocabulary"], Int[Array, " n"]], g: Float[Array, " n"]
) -> tuple[Float[Array, "n vocabulary"], None]:
    """With c the gradient to log d, that to the logits is c − d Σ c. XLA derives the same, but 16 times as slow."""
    d, text = kept
    is_it = jnp.arange(d.shape[-1]) == text[:, None]
    c = jnp.where(is_it, -1.0, jnp.where(d < SURE, d / (1 - d), 0.0))
    return g[:, None] * (c - d * jnp.sum(c, axis=-1, keepdims=True)), None


_word_loss.defvjp(_word_loss_and_likelihood, _word_loss_gradient)


def total_loss(
    config: LossConfig,
    terms: ActorCritic,
    image: Float[Array, ""] | float = 0.0,
    text: Float[Array, ""] | float = 0.0,
) -> Float[Array, ""]:
    """The weighted sum that is minimised; image and text are means over the steps that were rebuilt."""
    reconstruction = config.image * image + config.text * text
    return (
        config.policy * terms.policy
        + config.value * terms.value
        - config.entropy * terms.entropy
        + config.reconstruction * reconstruction
    )
