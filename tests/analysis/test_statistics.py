"""Intervals over seeds cover what they say."""

import numpy as np
import pytest

from analysis.statistics import mean_interval


def test_covers_the_truth_95_times_in_100():
    rng = np.random.default_rng(0)
    hits = [i.low <= 3 <= i.high for i in (mean_interval(rng.normal(3, 2, 6)) for _ in range(2000))]
    assert np.mean(hits) == pytest.approx(0.95, abs=0.02)  # four standard errors of 0.0049


def test_one_value_has_no_interval():
    assert mean_interval([0.5])[:2] == (0.5, pytest.approx(np.nan, nan_ok=True))
    assert mean_interval([0.5]).n == 1


def test_no_value_is_an_error():
    with pytest.raises(ValueError, match="no values"):
        mean_interval([])
