"""NGU against plain Python, with the paper's constants, for each column of the memory."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from daxlab.agents.agent import Observation, make_agent
from daxlab.agents.config import NoveltyConfig
from daxlab.agents.novelty import Average, initial_average, novelty, update_average


class PlainNGU:
    """A.4.3, line by line."""

    def __init__(self, average="rho"):
        self.rho_sum, self.rho_count, self.average = 0.0, 0, average

    def __call__(self, e, memory):
        if not memory:
            return 0.0
        c, epsilon, rho_min, s_max = 1e-3, 1e-4, 8e-3, 2.0
        mean = self.rho_sum / self.rho_count if self.rho_count else 0.0
        distances = sorted(float(sum((a - b) ** 2 for a, b in zip(e, row, strict=True))) for row in memory)[:10]
        rho = [d / (mean + c) for d in distances]
        k = [epsilon / (max(r - rho_min, 0.0) + epsilon) for r in rho]
        s = sum(k) ** 0.5 + c
        self.rho_sum += sum(rho if self.average == "rho" else distances)
        self.rho_count += len(distances)
        return 1 / s if s < s_max else 0.0


@pytest.mark.parametrize("average", ["rho", "distance"])
def test_novelty_against_plain_python(average):
    config = NoveltyConfig(average=average)
    rng = np.random.default_rng(0)
    plain, mean = PlainNGU(average), initial_average()
    surprise = jax.jit(lambda m, e, rows, visible: novelty(m, e, rows, visible, config))
    rewards = []
    for t in range(60):
        # A few clusters, some of them exactly the same: rewards from 0 to large.
        rows = rng.integers(0, 3, (16, 3)) + rng.choice([0.0, 0.01, 0.3], (16, 1)) * rng.random((16, 3))
        e = rows[rng.integers(16)] if t % 3 else rng.normal(size=3)
        visible = rng.random(16) < min(1.0, t / 20)
        result = surprise(mean.mean, jnp.asarray(e), jnp.asarray(rows), jnp.asarray(visible))
        expected = plain(e, [row for row, seen in zip(rows, visible, strict=True) if seen])
        assert float(result.reward) == pytest.approx(expected, rel=1e-3)
        mean = update_average(mean, result.total, result.terms)
        assert float(mean.mean) == pytest.approx(plain.rho_sum / max(plain.rho_count, 1), rel=1e-4)
        rewards.append(expected)
    assert min(rewards) == 0
    assert max(rewards) > 10


def test_the_average_is_shared_by_rooms():
    average = update_average(Average(jnp.array(2.0), jnp.array(4.0)), jnp.array([3.0, 5.0]), jnp.array([1.0, 3.0]))
    assert float(average.terms) == 8
    assert float(average.mean) == pytest.approx((2 * 4 + 8) / 8)


@pytest.mark.parametrize(("core", "weights"), [("dcem", (1e-3, 3e-5)), ("dcem", (0.0, 3e-5)), ("dnc", (1e-3,))])
def test_each_column_of_the_memory_has_its_own_novelty(core, weights):
    names = ("language", "vision") if core == "dcem" else ("latent",)
    options = {f"novelty__{name}": weight for name, weight in zip(names, weights, strict=True)}
    agent = make_agent(
        core,
        jax.random.key(0),
        num_actions=3,
        vocabulary_size=5,
        text_length=2,
        height=8,
        width=8,
        memory__size=12,
        latent=8,
        lstm=8,
        vision__embedding=8,
        vision__channels=(4,),
        vision__blocks=(1,),
        vision__strides=(2,),
        novelty__enabled=True,
        reconstruction=False,
        **options,
    )
    step, surprise = eqx.filter_jit(agent.step), eqx.filter_jit(agent.novelty)
    rng = np.random.default_rng(0)
    plain = [PlainNGU() for _ in names]
    columns: list[list[np.ndarray]] = [[] for _ in names]
    state, averages = agent.initial_state(), agent.initial_averages()
    for t in range(40):
        first = np.array(t in (0, 25))
        text = rng.integers(0, 2, 2)
        before = state
        state, output = step(state, Observation(rng.integers(0, 255, (8, 8, 3)).astype(np.uint8), text), first)
        reward, parts = surprise(before, first, output.rows, averages)
        averages = tuple(update_average(a, p.total, p.terms) for a, p in zip(averages, parts, strict=True))
        if first:
            columns = [[] for _ in names]
        expected = [
            ngu(np.asarray(row), column[-12:]) for ngu, row, column in zip(plain, output.rows, columns, strict=True)
        ]
        for column, row in zip(columns, output.rows, strict=True):
            column.append(np.asarray(row))
        assert [float(p.reward) for p in parts] == pytest.approx(expected, rel=2e-2)
        assert float(reward) == pytest.approx(sum(w * r for w, r in zip(weights, expected, strict=True)), rel=2e-2)
