"""Statistics over seeds: laws that hold whatever the numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daxlab.experiments.statistics import band, beats, mean, reached

SUCCESS = st.floats(0, 1)
SEEDS = st.lists(SUCCESS, min_size=1, max_size=6)


@given(SEEDS)
def test_the_interval_holds_the_mean_and_stays_among_the_values(values):
    told = mean(values)
    tiny = 1e-9
    assert min(values) - tiny <= told.low <= told.value + tiny
    assert told.value - tiny <= told.high <= max(values) + tiny
    assert told.value == pytest.approx(np.mean(values))
    assert told.seeds == len(values)


def test_more_seeds_say_more():
    few, many = mean([0.2, 0.8]), mean([0.2, 0.8] * 8)
    assert many.high - many.low < few.high - few.low


def test_a_mean_of_nothing_is_no_number():
    for values in ([], [0.5, float("nan")]):
        with pytest.raises(ValueError, match="needs numbers"):
            mean(values)


@given(SEEDS, SEEDS)
def test_what_one_wins_the_other_loses(a, b):
    assert beats(a, b) + beats(b, a) == pytest.approx(1)
    assert beats(a, a) == pytest.approx(0.5)
    assert beats([x + 2 for x in a], b) == 1


def log(steps, values):
    return [{"steps": s, "success": v, "seconds": s / 10} for s, v in zip(steps, values, strict=True)]


def test_curves_of_other_steps_are_compared_at_equal_steps():
    one, two = log([0, 100, 200], [0.0, 0.5, 1.0]), log([50, 150], [0.25, 0.75])
    told = band([one, two, [{"steps": 7}]], points=11)
    assert (told.steps[0], told.steps[-1]) == (50, 150)
    np.testing.assert_allclose(told.middle, told.steps / 200)
    np.testing.assert_allclose(told.error, 0, atol=1e-12)
    apart = band([one, log([0, 200], [0.0, 0.0])], points=3)
    np.testing.assert_allclose(apart.middle, [0, 0.25, 0.5])
    np.testing.assert_allclose(apart.error, [0, 0.25, 0.5])
    assert band([]) is None
    assert band([log([0, 10], [0, 0]), log([20, 30], [0, 0])]) is None


def test_a_success_is_reached_when_three_lines_on_average_have_it():
    steps, values = [10, 20, 30, 40, 50], [0.0, 0.95, 0.9, 0.9, 0.9]
    assert reached(log(steps, values), 0.9) == (40, 4.0)
    assert reached(log(steps[:3], values[:3]), 0.9) is None
    assert reached(log(steps, values), 0.99) is None
