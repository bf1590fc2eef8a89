"""Samples until bounds hold, and how they grow."""

import numpy as np
import pandas as pd
import pytest
from sweepkit.studies.samples.growth import growth, samples_until, spanning_slopes


def test_samples_are_read_between_the_evaluations_around_the_bound():
    evaluations = pd.DataFrame({"cell_id": list("aaabbbc"), "step": [1, 100, 400] * 2 + [100], "x": [1, 1, 0, 1, 1, 1, 0.0]})
    networks = pd.DataFrame({"cell_id": list("abc"), "batch": [32, 32, 4], "seed": 0})
    found = samples_until(networks, evaluations, {"x": {"at_most": 0}})
    assert found["samples"].tolist() == pytest.approx([32 * 200, np.inf, 4 * 100])  # c has no evaluation before


def test_growth_is_a_power_between_sizes_and_over_all():
    sizes = np.repeat([10.0, 20.0, 40.0], 3)
    factors = np.tile([0.9, 1.0, 1 / 0.9], 3)
    grown = growth(pd.DataFrame({"d": sizes, "samples": 5 * sizes**1.5 * factors}), "d")
    assert grown.exponent.value == pytest.approx(1.5) and grown.exponent.n == 9 and grown.late.empty
    assert grown.means["mean"].to_numpy() == pytest.approx(5 * np.array([10, 20, 40]) ** 1.5)
    assert grown.slopes["mean"].to_numpy() == pytest.approx([1.5, 1.5])
    assert grown.slopes["d"].to_numpy() == pytest.approx(np.sqrt([200, 800]))
    # Student's t of 3 values is 4.303; two means of standard error |log 0.9|/sqrt(3) over log 2.
    half = 4.303 * abs(np.log(0.9)) / np.sqrt(3) * np.sqrt(2) / np.log(2)
    assert (grown.slopes["high"] - grown.slopes["mean"]).to_numpy() == pytest.approx([half, half], rel=1e-3)


def test_a_size_with_a_late_network_is_left_out_and_told():
    frame = pd.DataFrame({"d": [10, 10, 20, 20, 40, 40], "samples": [1, 2, 3, np.inf, 5, 6.0]})
    grown = growth(frame, "d")
    assert grown.means["d"].tolist() == [10, 40] and grown.exponent is None
    assert grown.late.to_dict("records") == [{"d": 20, "late": 1, "n": 2}]


def test_slopes_of_values_without_intervals_have_none():
    frame = pd.DataFrame({"d": [1.0, 2.0], "mean": [1.0, 8.0], "low": [np.nan, 7.0], "high": [np.nan, 9.0]})
    (row,) = spanning_slopes(frame, "d").to_dict("records")
    assert row["mean"] == pytest.approx(3) and np.isnan([row["low"], row["high"]]).all()
