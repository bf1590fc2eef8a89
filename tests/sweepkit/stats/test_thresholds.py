"""Thresholds: known crossings are found and covered, and what was not measured is said to be so."""

import gc
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression
from scipy.special import expit

from sweepkit.stats import Threshold, deciding, threshold, threshold_interval, threshold_of_means
from sweepkit.stats.thresholds import _isotonic

X = 2.0 ** np.arange(1, 11)


def sigmoid(centre):
    """Accuracy from 1/2 to 1 that reaches 3/4 at x = centre."""
    return 0.5 + 0.5 * expit(np.log(X / centre) / 0.6)


def seeds(p, n, rng):
    """n accuracies for each x: noisy in the transition, nearly exact at chance and at 1."""
    return p[:, None] + rng.normal(size=(len(X), n)) * (0.01 + 1.2 * (p - 0.5) * (1 - p))[:, None]


def test_interpolates_in_log_x():
    assert threshold([1, 100], [0, 1], 0.5) == pytest.approx(10)
    assert threshold([1, 100], [0, 1], 0.5, log_x=False) == pytest.approx(50.5)
    assert threshold([-1, 1], [0, 1], 0.5, log_x=False) == 0


def test_points_out_of_order_are_pooled_before_the_crossing():
    # 0.8, 0.6 pool to 0.7 at 4 and 8: the crossing of 0.65 lies between 2 and 4, not on the spurious way back down.
    assert threshold([1, 2, 4, 8, 16], [0.5, 0.5, 0.8, 0.6, 1.0], 0.65) == pytest.approx(2 * 2**0.75)
    # With weight on the 0.6 they pool to 0.625, and the crossing moves beyond 8.
    assert threshold([1, 2, 4, 8, 16], [0.5, 0.5, 0.8, 0.6, 1.0], 0.65, weights=[1, 1, 1, 7, 1]) == pytest.approx(
        8 * 2 ** (1 / 15)
    )


def test_a_flat_stretch_at_the_level_is_reached_where_it_begins():
    assert threshold([1, 2, 4, 8], [0.5, 0.75, 0.75, 1], 0.75) == pytest.approx(2)


@given(st.permutations(range(len(X))), st.floats(3, 600))
def test_order_of_x_does_not_matter(order, centre):
    p, order = sigmoid(centre), list(order)
    assert threshold(X[order], p[order], 0.75) == threshold(X, p, 0.75)


def test_falling_curve_is_the_rising_one_upside_down():
    p = sigmoid(37)
    assert threshold(X, 1 - p, 0.25, increasing=False) == threshold(X, p, 0.75)
    values = seeds(p, 6, np.random.default_rng(0))
    rising, falling = threshold_interval(X, values, 0.75), threshold_interval(X, 1 - values, 0.25, increasing=False)
    assert (falling.value, falling.low, falling.high) == pytest.approx(
        (rising.value, rising.low, rising.high),
        rel=0.03,  # other draws of the 2000
    )


def test_rows_in_one_call_are_rows_one_by_one():
    rng = np.random.default_rng(1)
    y, weights = rng.standard_t(1, size=(50, 7)), rng.uniform(1, 3, 7)
    one_by_one = [isotonic_regression(row, weights=weights).x for row in y]
    np.testing.assert_allclose(_isotonic(y, weights), one_by_one, rtol=0, atol=1e-8)


@pytest.mark.parametrize(("n", "least", "most"), [(3, 0.93, 1.0), (6, 0.93, 0.985)])
def test_interval_covers_the_crossing(n, least, most):
    # 600 experiments: standard error 0.009. Means of more than one x decide, so Student's t of each covers 95% or somewhat more.
    rng = np.random.default_rng(2)
    hits = []
    for _ in range(600):
        p = sigmoid(np.exp(rng.uniform(2.5, 5)))
        found = threshold_interval(X, seeds(p, n, rng), 0.75, n_resamples=500)
        hits.append(found.low <= threshold(X, p, 0.75) <= found.high)
    assert least <= np.mean(hits) <= most


@pytest.mark.parametrize("correlation", [0.8, 1.0])
def test_interval_covers_the_crossing_where_seeds_share_their_draws(correlation):
    """Points that lie close and of which those of a seed move together: taken for independent, they seem to know more."""
    rng, x = np.random.default_rng(8), np.geomspace(2, 1000, 30)
    p = 0.5 + 0.5 * expit(np.log(x / 37) / 0.6)
    covered = []
    for _ in range(200):
        own, common = rng.normal(size=(30, 6)), rng.normal(size=6)
        values = p[:, None] + 0.03 * (np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own)
        found = [threshold_interval(x, values, 0.75, n_resamples=400, shared=shared) for shared in (True, False)]
        covered.append([t.low <= 37 <= t.high for t in found])
    together, apart = np.mean(covered, axis=0)
    assert together >= 0.95 - 4 * 0.0154  # standard error of 200 experiments
    assert apart < together  # 0.90 beside 0.94


def test_interval_covers_where_networks_either_learn_or_not():
    rng = np.random.default_rng(3)
    hits = []
    for _ in range(600):
        p = sigmoid(np.exp(rng.uniform(2.5, 5)))
        learned = rng.random((len(X), 6)) < 2 * p[:, None] - 1
        found = threshold_interval(X, 0.5 + 0.5 * learned, 0.75, n_resamples=500)
        hits.append(found.low <= threshold(X, p, 0.75) <= found.high)
    assert 0.92 <= np.mean(hits) <= 1


def test_more_seeds_narrow_the_interval_as_their_root():
    rng = np.random.default_rng(4)
    p = sigmoid(32 * 2**0.5)  # in the middle between two x: a kink of the curve within the wider interval would widen it more
    few, many = (threshold_interval(X, seeds(p, n, rng), 0.75) for n in (160, 2560))
    ratio = np.log(few.high / few.low) / np.log(many.high / many.low)
    assert ratio == pytest.approx(4, rel=0.25)  # three times its spread of 8%: measured on 60 data sets


def test_reached():
    found = threshold_interval([4, 1, 2], [[0.9, 0.9], [0.5, 0.5], [0.6, 0.6, 0.6]], 0.75)
    assert found.reached == "reached" and found.is_reached and not found.is_beyond
    assert found.value == found.low == found.high == pytest.approx(2 * 2**0.5)
    assert (found.n_seeds, found.x_low, found.x_high, found.level) == (2, 1, 4, 0.75)


def test_not_reached():
    found = threshold_interval(X, seeds(sigmoid(1e6), 6, np.random.default_rng(5)), 0.75)
    assert (found.reached, found.value, found.high) == ("not reached", np.inf, np.inf)
    assert (found.is_reached, found.is_beyond) == (False, True)
    assert found.describe() == "not reached up to L = 1024, n = 6"


def test_already_at_the_smallest_x():
    found = threshold_interval(X, seeds(sigmoid(0.05), 6, np.random.default_rng(6)), 0.75)
    assert (found.reached, found.value, found.low) == ("already at the smallest x", -np.inf, -np.inf)
    assert not found.is_reached and not found.is_beyond
    assert found.describe("P") == "already reached at P = 2, n = 6"


def test_a_bound_beyond_the_range_is_infinite():
    values = seeds(sigmoid(1024), 6, np.random.default_rng(7))
    values[-1] += 0.755 - values[-1].mean()  # just reached, so many resamples are not
    found = threshold_interval(X, values, 0.75)
    assert found.reached == "reached"
    assert np.isfinite(found.low)
    assert found.high == np.inf
    assert found.describe().endswith("to beyond 1024), n = 6")


def test_one_seed_gives_a_value_without_interval():
    found = threshold_interval(X, sigmoid(40)[:, None], 0.75)
    assert found.value == pytest.approx(40, rel=0.02)
    assert np.isnan([found.low, found.high]).all()
    assert found.describe() == f"L* = {found.value:.3g}, n = 1"
    single = threshold_interval(X, [[0.5, 0.6]] * 9 + [[0.9]], 0.75)
    assert np.isnan(single.low)
    assert single.n_seeds == 1


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (Threshold(41.2, 36.1, 47.9, 6, "reached", 0.75, 2, 1024), "L* = 41.2 (36.1 to 47.9), n = 6"),
        (Threshold(1234.5, 1000, 15678, 6, "reached", 0.75, 2, 20000), "L* = 1230 (1000 to 15700), n = 6"),
        (Threshold(3, -np.inf, 4, 6, "reached", 0.75, 2, 8), "L* = 3 (below 2 to 4), n = 6"),
        (Threshold(np.inf, 700, np.inf, 3, "not reached", 0.75, 2, 1024), "not reached up to L = 1024 (L* above 700), n = 3"),
        (
            Threshold(-np.inf, -np.inf, 4, 3, "already at the smallest x", 0.75, 2, 8),
            "already reached at L = 2 (L* below 4), n = 3",
        ),
    ],
)
def test_description(found, text):
    assert found.describe() == text
    assert str(found) == text.replace("L", "x")


def test_same_values_same_interval_and_seed_moves_it_little():
    values = seeds(sigmoid(40), 6, np.random.default_rng(8))
    a, b, c = (threshold_interval(X, values, 0.75, seed=seed) for seed in (0, 0, 1))
    assert a == b
    assert a != c
    assert (c.low, c.high) == pytest.approx((a.low, a.high), rel=0.1)


def test_all_resamples_are_computed_at_once():
    """A page asks for the intervals of hundreds of curves, of 2000 resamples each."""
    values = seeds(sigmoid(40), 6, np.random.default_rng(9))
    threshold_interval(X, values, 0.75)  # imports

    def n_calls(n_resamples):
        calls = []
        gc.collect()
        gc.disable()  # a collection amid the count would add the calls of what it finalises
        sys.setprofile(lambda frame, event, arg: calls.append(event))
        try:
            threshold_interval(X, values, 0.75, n_resamples=n_resamples)
        finally:
            sys.setprofile(None)
            gc.enable()
        return len(calls)

    assert n_calls(200) == n_calls(2000)


def test_what_is_refused():
    with pytest.raises(ValueError, match="y has values that are not finite"):
        threshold([1, 2], [0.5, float("nan")], 0.75)
    with pytest.raises(ValueError, match="repeated"):
        threshold([2, 2], [0.5, 0.6], 0.75)
    with pytest.raises(ValueError, match="log_x=False"):
        threshold([0, 2], [0.5, 0.6], 0.75)
    with pytest.raises(ValueError, match="lengths differ: 2 of x, 1 of y"):
        threshold([1, 2], [0.5], 0.75)
    with pytest.raises(ValueError, match="weights"):
        threshold([1, 2], [0.5, 1], 0.75, weights=[1, 0])
    with pytest.raises(ValueError, match="values at x = 2"):
        threshold_interval([1, 2], [[0.5], []], 0.75)
    with pytest.raises(ValueError, match="values at x = 1"):
        threshold_interval([2, 1], [[0.5], [float("nan")]], 0.75)


@pytest.mark.parametrize(
    ("ends", "wanted"),
    [((3.0, 2.5, 5.0), [2, 4, 8]), ((3.0, np.nan, np.nan), [2, 4]), ((3.0, 2.5, np.inf), [2, 4, 8, 16]),
     ((np.inf, 9.0, np.inf), [8, 16]),
     ((-np.inf, -np.inf, 1.5), [1, 2]), ((-np.inf, -np.inf, -np.inf), [1])],
)  # fmt: skip
def test_the_values_that_decide_a_threshold(ends, wanted):
    x = np.array([1, 2, 4, 8, 16])
    assert x[deciding(x, *ends)].tolist() == wanted


def test_n_of_a_threshold_is_of_the_values_that_decide_it():
    found = threshold_of_means([8, 16, 32, 64], [3, 6, 6, 3], [0.1, 0.4, 0.8, 0.9], [0.01] * 4, 0.6)
    assert found.n_seeds == 6
