"""The four terms of the loss, by hand."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from daxlab.learning.losses import (
    ActorCritic,
    LossConfig,
    OptimiserConfig,
    actor_critic,
    image_loss,
    optimiser,
    text_loss,
    total_loss,
)


def ends_by_hand(timeout: bool):
    """FIRST, MID, LAST | FIRST, MID: five steps, one episode end inside; on policy, two actions of equal chance."""
    gamma = 0.5
    value = jnp.array([1.0, 2.0, 3.0, 4.0, 5.0])
    reward = jnp.array([99.0, 0.1, 1.0, 99.0, 0.2])
    discount = jnp.array([99.0, gamma, gamma if timeout else 0.0, 99.0, gamma])
    first = jnp.array([True, False, False, True, False])
    logits = jnp.zeros((5, 2))
    action = jnp.array([0, 1, 0, 1, 0])
    return logits, value, logits, action, reward, discount, first


@pytest.mark.parametrize("timeout", [False, True])
def test_terms_at_a_termination_and_at_a_timeout_by_hand(timeout):
    terms = jax.jit(actor_critic)(*ends_by_hand(timeout))
    # Backwards. Step 3 → 4: 0.2 + 0.5·5 (the sequence is cut there). Step 2 → 3 is no transition.
    target_3 = 0.2 + 0.5 * 5
    # Step 1 → 2, the LAST: worth its reward, and on a time-out also V of the LAST step, never V of the next episode.
    target_1 = 1.0 + (0.5 * 3 if timeout else 0.0)
    target_0 = 0.1 + 0.5 * target_1
    errors = np.array([target_0 - 1, target_1 - 2, 0.0, target_3 - 4])
    assert float(terms.value) == pytest.approx(0.5 * np.mean(errors**2), rel=1e-6)
    # On policy and at λ = 1 the advantage is the error; log π is log ½ throughout.
    assert float(terms.policy) == pytest.approx(-np.mean(np.log(0.5) * errors), rel=1e-6)
    assert float(terms.entropy) == pytest.approx(np.log(2) * 3 / 4, rel=1e-6)
    assert float(terms.error) == pytest.approx(np.mean(np.abs(errors)), rel=1e-6)
    assert float(terms.rho) == pytest.approx(1.0)


def test_nothing_is_learned_from_last_to_first():
    args = list(ends_by_hand(True))

    def loss(logits, value):
        terms = jax.jit(actor_critic)(logits, value, *args[2:])
        return terms.policy + terms.value - terms.entropy

    d_logits, d_value = jax.jit(jax.grad(loss, (0, 1)))(args[0] + jnp.array([[0.3, 0.0]]), args[1])
    assert np.all(d_logits[2] == 0)
    assert d_value[2] == 0
    assert np.all(d_value[jnp.array([0, 1, 3])] != 0)
    # What the environment says at a FIRST (no reward, no discount) and what was done at a LAST have no effect either.
    base = loss(args[0], args[1])
    args[4], args[5], args[3] = args[4].at[3].set(-7.0), args[5].at[3].set(0.0), args[3].at[2].set(1)
    assert loss(args[0], args[1]) == base


def test_the_policy_gradient_raises_what_was_better_than_expected():
    logits, value, mu, action, reward, discount, first = ends_by_hand(False)
    reward = reward.at[1].set(50.0)
    gradient = jax.jit(jax.grad(lambda x: actor_critic(x, value, mu, action, reward, discount, first).policy))(logits)
    assert gradient[0, 0] < 0 < gradient[0, 1]


def test_off_policy_ratios_are_of_learner_to_behaviour():
    logits, value, mu, action, reward, discount, first = ends_by_hand(False)
    sharper = logits.at[:, 0].add(1.0)
    terms = jax.jit(actor_critic)(sharper, value, mu, action, reward, discount, first)
    p = np.exp(1) / (1 + np.exp(1))
    expected = [2 * p, 2 * (1 - p), 1.0, 2 * (1 - p)]
    assert float(terms.rho) == pytest.approx(np.mean(expected), rel=1e-5)
    assert float(terms.apart) == pytest.approx(np.mean(np.abs(np.log(expected))), rel=1e-5)


def test_image_loss_is_the_papers_cross_entropy():
    rng = np.random.default_rng(0)
    rgb, logits = rng.integers(0, 256, (4, 5, 3)).astype(np.uint8), rng.normal(size=(4, 5, 3)).astype(np.float32)
    x, d = rgb / 255, 1 / (1 + np.exp(-logits))
    expected = np.mean(-x * np.log(d) - (1 - x) * np.log(1 - d))
    assert float(image_loss(jnp.asarray(logits), jnp.asarray(rgb))) == pytest.approx(expected, rel=1e-5)


def test_text_loss_is_the_papers_cross_entropy_of_the_words():
    logits = np.random.default_rng(0).normal(size=(4, 6)).astype(np.float32)
    text = np.array([3, 1, 0, 0])
    d = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    x = np.eye(6)[text]
    expected = np.mean((-x * np.log(d) - (1 - x) * np.log(1 - d)).sum(-1)[:2])
    assert float(text_loss(jnp.asarray(logits), jnp.asarray(text))) == pytest.approx(expected, rel=1e-5)
    assert float(text_loss(jnp.asarray(logits), jnp.zeros(4, int))) == 0


def test_the_text_losses_gradient_is_that_of_the_papers_formula():
    def formula(logits):
        log_d = jax.nn.log_softmax(logits)
        x = jax.nn.one_hot(text, 6)
        loss = -jnp.sum(x * log_d + (1 - x) * jnp.log1p(-jnp.exp(log_d)), axis=-1)
        return jnp.sum(loss[:3]) / 3

    logits, text = jnp.asarray(np.random.default_rng(1).normal(size=(4, 6)) * 2, jnp.float32), jnp.array([3, 1, 5, 0])
    gradient = jax.jit(jax.grad(text_loss))(logits, text)
    np.testing.assert_allclose(gradient, jax.jit(jax.grad(formula))(logits), atol=1e-6)
    assert np.all(gradient[3] == 0)


def test_losses_of_certain_predictions_have_finite_gradients():
    sure = jnp.zeros((2, 6)).at[:, 2].set(1e4)
    for text in ([2, 2], [1, 0]):
        assert np.isfinite(jax.jit(jax.grad(text_loss))(sure, jnp.array(text))).all()
    picture = jnp.full((2, 2, 3), 1e4)
    assert np.isfinite(jax.jit(jax.grad(image_loss))(picture, jnp.zeros((2, 2, 3), jnp.uint8))).all()


def test_the_weights_are_the_papers():
    terms = ActorCritic(*(jnp.array(x) for x in (1.0, 10.0, 100.0, 0.0, 1.0, 0.0)))
    config = LossConfig(image=1.0, text=1.0)
    assert float(total_loss(config, terms, 2.0, 3.0)) == pytest.approx(0.1 * 1 + 0.5 * 10 - 1e-4 * 100 + 1.0 * 5)
    assert float(total_loss(LossConfig(image=50.0), terms, 2.0, 3.0)) == pytest.approx(0.1 + 5 - 0.01 + 103)
    assert config.discount == 0.95


def test_adam_without_momentum():
    opt = optimiser(OptimiserConfig())
    parameters = jnp.array([1.0])
    state = opt.init(parameters)
    for gradient in (4.0, 0.0):
        updates, state = opt.update(jnp.array([gradient]), state)
        parameters = optax.apply_updates(parameters, updates)
    # β1 = 0: the first step is of the learning rate's size, and without a gradient nothing moves.
    assert float(parameters[0]) == pytest.approx(1 - 1e-4, abs=1e-7)
