"""Numbers with as many digits as the interval allows."""

import numpy as np
import pytest

from sweepkit.stats import Interval, mean_interval
from sweepkit.stats.rounding import with_interval


@pytest.mark.parametrize(
    ("interval", "text"),
    [
        ((0.88767, 0.87977, 0.89557, 6), "0.888 (0.880 to 0.896), n = 6"),
        ((1.5, 0.676, 2.34, 2), "1.5 (0.7 to 2.3), n = 2"),
        ((1.0, 1.0, 1.0, 3), "1.0000 (1.0000 to 1.0000), n = 3"),
        ((0.75, np.nan, np.nan, 1), "0.7500, n = 1"),
        ((np.inf, 2.5, np.inf, 6), "above 2.5, n = 6"),
        ((np.inf, np.inf, np.inf, 6), "beyond the range, n = 6"),
    ],
)
def test_digits(interval, text):
    assert with_interval(Interval(*interval)) == text


def test_what_is_not_drawn_is_exact():
    assert with_interval(mean_interval([0.1 + 0.2, 0.3, 0.3])) == "0.3, exact, n = 3"
    assert "exact" not in with_interval(mean_interval([1.0, 1.0, 1.0], sd_of_ties=0.01))
