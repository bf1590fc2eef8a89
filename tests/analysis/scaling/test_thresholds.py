"""Thresholds and exponents from a store whose law is known."""

import numpy as np
import pandas as pd
import pytest

from analysis.data.points import points
from analysis.data.selection import Selection
from analysis.scaling.thresholds import exponent, falls_along, fitted, threshold_table, thresholds
from tests.measured_store import LAZY_EXPONENT, SEEDS, lazy_threshold


def test_thresholds_and_their_exponent_are_those_of_the_law(measured):
    found = thresholds(points(measured, Selection.of(gamma_label="lazy")).frame, 0.85)
    assert list(found["d"]) == [16, 32, 64]
    for d, t in zip(found["d"], found["threshold"], strict=True):
        # Interpolation in log L between points a factor of two apart is off by some percent of a smooth curve.
        assert t.value == pytest.approx(lazy_threshold(d), rel=0.06)
        assert t.n_seeds == SEEDS and t.reached == "reached"
    fit = exponent(found)
    assert fit is not None
    assert fit.interval.value == pytest.approx(LAZY_EXPONENT, abs=0.05)
    assert fit.n_used == 3 and fit.censored == "all thresholds within the range"
    table = threshold_table(found, ["d"])
    assert list(table["state"]) == ["reached"] * 3 and "n" not in table and "seeds" in table


def test_what_is_not_reached_is_said(measured):
    found = thresholds(points(measured, Selection.of(gamma_label="lazy", L=[8, 16, 32])).frame, 0.85)
    assert [t.reached for t in found["threshold"]] == ["reached", "not reached", "not reached"]
    assert exponent(found) is None


def test_the_lazy_gammas_of_several_d_are_one_curve(measured):
    found = points(measured, Selection.of(gamma_label="lazy", L=32)).frame
    assert found["gamma"].nunique() == 3
    found = thresholds(found, 0.85, over="d")
    assert len(found) == 1


def test_thresholds_over_gamma(measured):
    """Labels do not cut a curve over gamma into single points."""
    found = points(measured, Selection.of(L=8, sigma2=0.0, d=64)).frame
    assert sorted(found["gamma_label"]) == ["1", "lazy"]
    found = thresholds(found, 0.85, over="gamma")
    assert len(found) == 1 and not {"gamma", "gamma_label"} & set(found)
    (t,) = found["threshold"]
    assert t.reached == "reached" and 1e-5 / 8 < t.value < 1


def test_points_of_one_seed_count_where_no_others_reach_the_level():
    rising = pd.DataFrame({"d": 16, "L": [4, 8, 16, 32, 64], "n": [6, 6, 6, 6, 1], "mean": [0.5, 0.55, 0.6, 0.7, 0.95],
                           "sd": [0.01] * 4 + [np.nan]})  # fmt: skip
    (beyond,) = thresholds(rising, 0.85)["threshold"]
    assert beyond.reached == "reached" and 32 < beyond.value < 64 and np.isnan(beyond.low)
    (amid,) = thresholds(rising, 0.65)["threshold"]
    assert 16 < amid.low < amid.value < amid.high < 32, "left out, as it would leave no interval"


def test_an_exponent_of_open_intervals_says_so():
    """At d = 64 half of the resampled curves end below the level."""
    rising = pd.DataFrame([{"d": d, "L": L, "n": 4, "mean": min(0.5 + 0.05 * L / d * 8, 0.852), "sd": 0.01}
                           for d in (16, 32, 64) for L in (4, 8, 16, 32, 58)])  # fmt: skip
    rising.loc[(rising["d"] != 64) & (rising["mean"] > 0.85), "mean"] = 0.95
    fit = exponent(thresholds(rising, 0.85))
    assert fit is not None and fit.n_used == 3 and fit.n_open == 1
    assert fit.censored.endswith("1 with an interval beyond the range: the exponent's is too narrow")


def _rising_to(reach: int) -> pd.DataFrame:
    """Thresholds of L at d = 8 to 64, of which those of d <= `reach` lie within the range of L."""
    return pd.DataFrame([{"d": d, "L": L, "n": 4, "mean": 0.9 if d < L and d <= reach else 0.5, "sd": 0.01}
                         for d in (8, 16, 32, 64) for L in (4, 8, 16, 32, 64)])  # fmt: skip


def test_two_thresholds_give_no_exponent():
    found = fitted(thresholds(_rising_to(16), 0.85), "L", "d", None)
    why = "that needs 3 values of d with a threshold in the range of L: a power law fits any two"
    assert found.fits == {} and found.problems == {None: why}


def test_an_exponent_without_the_largest_thresholds_says_that_it_is_drawn_towards_0():
    fit = fitted(thresholds(_rising_to(32), 0.85), "L", "d", None).fits[None]
    assert fit.n_used == 3 and fit.censored == "1 not reached (so the exponent may be too small)"


@pytest.mark.parametrize("usually", [True, False])
@pytest.mark.parametrize(("ends", "falls"), [((0.9, 0.6), True), ((0.6, 0.9), False), ((0.75, 0.74), None)])
def test_a_measure_goes_as_most_curves_clearly_do(ends, falls, usually):
    """Spread 0.05 of 4 seeds: the ends differ by 8 standard errors, or by a third of one, which tells nothing."""
    curves = [(d, x, y) for d in (8, 16, 32) for x, y in zip((1.0, 10.0), ends, strict=True)] + [(64, 1.0, 0.7), (64, 10.0, 0.7)]
    frame = pd.DataFrame([{"d": d, "L": x, "n": 4, "mean": y, "sd": 0.05} for d, x, y in curves])
    assert falls_along(frame, "L", usually) == (usually if falls is None else falls)
