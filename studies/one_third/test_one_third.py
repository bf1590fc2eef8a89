"""The one-third law beside numbers of an independent calculation, its limit, and descent by hand."""

import numpy as np
import pytest
from sweepkit.studies.one_third.theory import A, leading, loss


def test_ratios_to_the_leading_law_are_those_of_an_independent_calculation():
    t = np.array([10.0, 100.0, 1000.0, 10_000.0])
    assert loss(t) / leading(t) == pytest.approx([1.161, 1.051, 1.013, 1.003], abs=5e-4)  # given to three digits
    assert pytest.approx(0.6562, abs=5e-5) == A


@pytest.mark.parametrize("margin", [0.0, 0.5])
def test_it_is_what_small_steps_on_many_inputs_do(margin):
    c = np.abs(np.random.default_rng(0).standard_normal(200_000)) + margin
    size, rate = 0.0, 0.01
    for _ in range(1000):
        size += rate * (c / (1 + np.exp(size * c))).mean()
    assert loss(10.0, margin) == pytest.approx(np.log1p(np.exp(-size * c)).mean(), rel=0.01)  # 200,000 inputs


def test_with_a_margin_it_falls_nearly_as_one_over_t():
    t = np.array([1e3, 1e4])
    slope = np.diff(np.log(loss(t, 0.5))) / np.diff(np.log(t))
    assert -1 < slope[0] < -0.9
