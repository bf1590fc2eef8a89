"""The lower envelope of training curves."""

import numpy as np
import pandas as pd
import pytest
from sweepkit.studies.power_law.envelope import COMPUTE, SIZE, envelope


def curves(sizes=(4, 8, 16, 32), last=1000):
    """Errors t^-1/2 + 1/N: least at C = N t where N ~ C^(1/3), with a value of order C^(-1/3)."""
    steps = np.unique(np.geomspace(1, last, 100).round())
    return pd.concat([pd.DataFrame({"width": n, "step": steps, "error": steps**-0.5 + 1 / n}) for n in sizes])


def test_it_is_the_least_of_all_sizes_that_reach_the_compute():
    found = envelope(curves(), "width", "error", np.array([64.0, 1000.0, 1e6]))
    assert list(found[COMPUTE]) == [64.0, 1000.0]  # 32 x 1000 steps do not reach 1e6
    by_hand = [min((c / n) ** -0.5 + 1 / n for n in (4, 8, 16, 32) if c / n <= 1000) for c in (64.0, 1000.0)]
    # Lines between steps, on logarithmic axes, lie above the curve by the square of their distance, 0.07, over 8.
    assert list(found["error"]) == pytest.approx(by_hand, rel=1e-3)


def test_its_best_size_grows_as_its_power_of_compute():
    sizes, compute = tuple(4 * 2 ** np.arange(8)), np.geomspace(3e3, 3e5, 17)
    found = envelope(curves(sizes, 1e5), "width", "error", compute)
    # (N/C)^(1/2) + 1/N is least at N^(3/2) = 2 C^(1/2); a parabola through doubled sizes is off by a few percent.
    assert found[SIZE].to_numpy() == pytest.approx((4 * compute) ** (1 / 3), rel=0.05)


def test_the_least_and_the_largest_size_are_no_optimum():
    found = envelope(curves(), "width", "error", np.array([5.0, 30_000.0]))
    assert found[SIZE].isna().all()
