"""Power laws and lines: exact laws come back exactly, intervals cover, and censored thresholds are counted."""

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import linregress
from scipy.stats import t as student

from sweepkit.stats import Threshold, by_decades, exponent_of_thresholds, linear_fit, local_slopes, power_law, threshold_interval

D = 2.0 ** np.arange(4, 9)
L = 2.0 ** np.arange(1, 13)


@given(st.floats(-4, 4), st.floats(1e-6, 1e6))
def test_exact_power_law_comes_back(exponent, prefactor):
    law = power_law(D, prefactor * D**exponent)
    assert law.exponent.value == pytest.approx(exponent, abs=1e-9)
    assert law.prefactor == pytest.approx(prefactor, rel=1e-8)
    assert law.exponent.low - 1e-9 <= exponent <= law.exponent.high + 1e-9
    np.testing.assert_allclose(law.curve([10, 1000]), prefactor * np.array([10.0, 1000]) ** exponent, rtol=1e-8)


@pytest.mark.parametrize(
    ("offset", "prefactor", "exponent"), [(2, 0.5, 0.8), (0.1, 3, -0.5), (5, -4, -1.2), (0, 1e-3, 3), (1e4, 20, 2)]
)
def test_exact_offset_comes_back(offset, prefactor, exponent):
    law = power_law(D, offset + prefactor * D**exponent, offset=True)
    assert law.exponent.value == pytest.approx(exponent, abs=1e-6)
    assert law.prefactor == pytest.approx(prefactor, rel=1e-5)
    assert law.offset.value == pytest.approx(offset, rel=1e-5, abs=1e-4)
    np.testing.assert_allclose(law.curve(D), offset + prefactor * D**exponent, rtol=1e-6)
    assert law.r2 == pytest.approx(1)
    assert (law.n, law.x_low, law.x_high) == (5, 16, 256)


def test_an_offset_that_is_there_bends_the_law_without_one():
    y = 2 + 0.5 * D**0.8
    assert power_law(D, y).exponent.value < 0.75
    assert power_law(D, y).offset is None


@pytest.mark.parametrize("n", [3, 6])
def test_exponent_interval_covers_at_few_points(n):
    rng = np.random.default_rng(0)
    x = 2.0 ** np.arange(n)
    found = [power_law(x, 3 * x**1.5 * np.exp(0.1 * rng.normal(size=n))).exponent for _ in range(1500)]
    assert np.mean([i.low <= 1.5 <= i.high for i in found]) == pytest.approx(0.95, abs=0.023)  # four standard errors of 0.0056


def test_offset_intervals_and_band_cover():
    rng = np.random.default_rng(1)
    x = 2.0 ** np.arange(2, 10)
    hits = []
    for _ in range(600):
        law = power_law(x, (2 + 0.5 * x**0.8) * np.exp(0.02 * rng.normal(size=8)), offset=True)
        low, high = law.band(30.0)
        at_30 = 2 + 0.5 * 30**0.8
        hits.append([law.exponent.low <= 0.8 <= law.exponent.high, law.offset.low <= 2 <= law.offset.high, low <= at_30 <= high])
    np.testing.assert_allclose(np.mean(hits, axis=0), 0.95, atol=0.036)  # four standard errors of 0.009


def test_band_is_that_of_statsmodels_and_narrowest_in_the_middle():
    rng = np.random.default_rng(2)
    y = 3 * D**1.5 * np.exp(0.1 * rng.normal(size=5))
    law = power_law(D, y)
    fit = sm.OLS(np.log(y), sm.add_constant(np.log(D))).fit()
    expected = fit.get_prediction(sm.add_constant(np.log(D))).conf_int()
    low, high = law.band(D)
    np.testing.assert_allclose(np.log(np.stack([low, high], axis=1)), expected, rtol=1e-9)
    assert (law.exponent.low, law.exponent.high) == pytest.approx(fit.conf_int()[1])
    assert np.argmin(high / low) == 2
    assert law.r2 == pytest.approx(fit.rsquared)


def test_weighted_line_is_that_of_statsmodels():
    rng = np.random.default_rng(3)
    x, y, width = np.arange(7.0), rng.normal(size=7), rng.uniform(0.1, 3, 7)
    line = linear_fit(x, y, low=y - width, high=y + width)
    fit = sm.WLS(y, sm.add_constant(x), weights=width**-2).fit()
    assert (line.slope.value, line.slope.low, line.slope.high) == pytest.approx([fit.params[1], *fit.conf_int()[1]])
    assert (line.intercept, line.r2) == pytest.approx((fit.params[0], fit.rsquared))


def test_weights_follow_the_intervals():
    y = 2 * D**1.0
    y[-1] *= 3
    widths = np.array([1.01, 1.01, 1.01, 1.01, 10])
    free, weighted = power_law(D, y), power_law(D, y, low=y / widths, high=y * widths)
    assert abs(weighted.exponent.value - 1) < 0.001 < 0.2 < free.exponent.value - 1
    # Only ratios of the widths count.
    same = power_law(D, y, low=y / widths**2, high=y * widths**2)
    assert same.exponent[:3] == pytest.approx(weighted.exponent[:3])
    offset = power_law(D, y + 5, low=y + 5 - widths, high=y + 5 + widths, offset=True)
    assert offset.n == 5


def test_an_offset_that_can_not_be_told_is_refused_or_has_no_finite_interval():
    with pytest.raises(ValueError, match=r"no power law with an offset fits these 5 points"):
        power_law(D, [1, 1.001, 0.999, 1, 5], offset=True)
    law = power_law(D, np.full(5, 3.0), offset=True)
    assert law.curve(D) == pytest.approx(np.full(5, 3.0))
    assert not np.isfinite([law.exponent.low, law.exponent.high]).any()
    assert np.isinf(law.band(D)).all()


def test_two_points_give_a_law_without_interval():
    law = power_law([1, 4], [3, 6])
    assert law.exponent.value == pytest.approx(0.5)
    assert law.curve(4.0) == pytest.approx(6)
    assert np.isnan([law.exponent.low, law.exponent.high, *law.band(2.0)]).all()


def test_constant_y_has_exponent_0():
    law = power_law(D, np.full(5, 7.0))
    assert law.exponent.value == pytest.approx(0, abs=1e-12)
    assert np.isnan(linear_fit(D, np.full(5, 0.5)).r2)


@pytest.mark.parametrize(
    ("x", "y", "options", "message"),
    [
        ([1], [1], {}, "too few points for this fit: 1, needs 2"),
        ([1, 2, 3], [1, 2, 3], {"offset": True}, "too few points for this fit: 3, needs 4"),
        ([2, 2, 2], [1, 2, 3], {}, "x is 2 at every point"),
        ([0, 1], [1, 1], {}, "x = 0 has no logarithm"),
        ([1, 2], [1, -1], {}, "y = -1 has no logarithm"),
        ([1, 2], [1, float("nan")], {}, "y has values that are not finite"),
        ([1, 2], [1, 2], {"low": [0.5, 1]}, "low and high come together"),
        ([1, 2], [1, 2], {"low": [0.5, 2], "high": [2, 2]}, "the interval of y = 2 has no width"),
        ([1, 2], [1, 2], {"low": [0, 1], "high": [2, 3]}, "low = 0 has no logarithm"),
        ([1, 2, 3], [1, 2], {}, "lengths differ"),
        ([1, 2], [1, 2], {"level": 95}, "not between 0 and 1"),
    ],
)
def test_what_is_refused(x, y, options, message):
    with pytest.raises(ValueError, match=message):
        power_law(x, y, **options)


def test_line_is_that_of_scipy():
    rng = np.random.default_rng(3)
    x, y = rng.uniform(-5, 5, 12), rng.normal(size=12)
    line, expected = linear_fit(x, y), linregress(x, y)
    half = student.ppf(0.975, 10) * expected.stderr
    assert line.slope[:3] == pytest.approx((expected.slope, expected.slope - half, expected.slope + half))
    assert (line.intercept, line.r2) == pytest.approx((expected.intercept, expected.rvalue**2))
    low, high = line.band(0.0)
    assert high - low == pytest.approx(2 * student.ppf(0.975, 10) * expected.intercept_stderr)


def test_slope_per_doubling_over_seeds():
    d = np.repeat(D, 6)
    line = linear_fit(d, 0.9 + 0.01 * np.log2(d), per_doubling=True)
    assert line.slope.value == pytest.approx(0.01)
    assert line.curve([32, 64]) == pytest.approx([0.95, 0.96])
    with pytest.raises(ValueError, match="x = -1 has no logarithm"):
        linear_fit([-1, 2, 3], [1, 2, 3], per_doubling=True)


def test_no_dependence_is_found_as_often_as_the_level_says():
    rng = np.random.default_rng(4)
    d = np.repeat(D, 3)
    found = [linear_fit(d, rng.normal(0.9, 0.01, len(d)), per_doubling=True).slope for _ in range(1500)]
    assert np.mean([i.low <= 0 <= i.high for i in found]) == pytest.approx(0.95, abs=0.023)  # four standard errors of 0.0056


def measured(d, n, rng, exponent=1.2):
    """Threshold at accuracy 3/4 of networks whose curves cross it at L = d^exponent / 2."""
    p = 0.5 + 0.5 * expit(np.log(2 * L / d**exponent) / 0.8)
    return threshold_interval(L, p[:, None] + 0.6 * ((p - 0.48) * (1 - p))[:, None] * rng.normal(size=(len(L), n)), 0.75)


def test_exponent_of_thresholds_covers():
    rng = np.random.default_rng(5)
    found = [exponent_of_thresholds(D, [measured(d, 6, rng) for d in D], n_resamples=500) for _ in range(150)]
    hits = [f.exponent.low <= 1.2 <= f.exponent.high for f in found]
    assert np.mean(hits) >= 0.93  # 0.98 measured: Student's t of every mean adds up to somewhat more than 95%
    widths = np.array([f.exponent.high - f.exponent.low for f in found])
    spread = np.std([f.exponent.value for f in found])
    assert 2 * 1.96 * spread * 0.85 < np.median(widths) < 2 * 1.96 * spread * 1.7  # the spread itself is known to 6%
    assert 0.5 < np.median([f.misfit for f in found]) < 1.5


def test_thresholds_of_one_seed_number_do_not_move_together():
    # All five have the same random numbers behind them; moving together, their slope would not move at all.
    draws = np.exp(0.2 * np.random.default_rng(0).normal(size=2000))
    same = [Threshold(d, 0.7 * d, 1.4 * d, 6, "reached", 0.75, 2, 1024, draws=d * draws) for d in D]
    exponent = exponent_of_thresholds(D, same).exponent
    error = 0.2 / np.sqrt(((np.log(D) - np.log(D).mean()) ** 2).sum())
    assert exponent.value == pytest.approx(1)
    assert exponent.high - exponent.low == pytest.approx(2 * 1.96 * error, rel=0.15)


def test_misfit_tells_that_there_is_no_power_law():
    draws = np.exp(0.01 * np.random.default_rng(0).normal(size=2000))
    bent = [
        Threshold(v, 0.98 * v, 1.02 * v, 6, "reached", 0.75, 2, 1024, draws=v * draws) for v in 10 * np.exp(np.log(D) ** 2 / 10)
    ]
    found = exponent_of_thresholds(D, bent)
    assert found.misfit > 20
    assert found.law.exponent.high - found.law.exponent.low > 3 * (found.exponent.high - found.exponent.low)


def test_censored_thresholds_are_counted_and_left_out():
    rng = np.random.default_rng(6)
    d = np.array([1e-2, 16, 64, 256, 1e5, 1e6])
    found = exponent_of_thresholds(d, [measured(value, 6, rng) for value in d])
    assert (found.n_used, found.n_not_reached, found.n_below_range) == (3, 2, 1)
    assert found.exponent.value == pytest.approx(1.2, abs=0.15)
    assert (found.law.x_low, found.law.x_high) == (16, 256)
    with pytest.raises(ValueError, match=r"got 1 \(1 not reached\)$"):
        exponent_of_thresholds([16, 1e6], [measured(16, 6, rng), measured(1e6, 6, rng)])


def test_draws_out_of_range_are_left_out_one_by_one():
    draws = np.full(2000, 4.0)
    partly = np.where(np.arange(2000) < 300, np.inf, 4.0) * np.exp(0.01 * np.random.default_rng(1).normal(size=2000))
    thresholds = [
        Threshold(
            v,
            v,
            v,
            6,
            "reached",
            0.75,
            1,
            8,
            draws=v / 4 * (partly if v == 4 else draws * np.exp(0.01 * np.sin(np.arange(2000)))),
        )
        for v in (1.0, 2.0, 4.0)
    ]
    found = exponent_of_thresholds([1, 2, 4], thresholds).exponent
    assert found.value == pytest.approx(1)
    assert 0.9 < found.low < 1 < found.high < 1.1


def test_without_intervals_the_scatter_gives_one():
    single = [
        Threshold(d**1.5 * f, np.nan, np.nan, 1, "reached", 0.75, 2, 1e6) for d, f in zip(D, [1, 1.1, 0.9, 1, 1.05], strict=True)
    ]
    found = exponent_of_thresholds(D, single)
    assert found.exponent == found.law.exponent
    assert found.exponent.low < 1.5 < found.exponent.high
    assert np.isnan(found.misfit)


def test_local_slopes_of_a_power_law_are_its_exponent_between_neighbours():
    at, slopes = local_slopes(D, 3 * D**-1.5)
    np.testing.assert_allclose(slopes, -1.5)
    np.testing.assert_allclose(at, np.sqrt(D[1:] * D[:-1]))
    _, slopes = local_slopes([1, 10, 100], [1, 0, 100])
    assert np.isnan(slopes).all()  # the middle point has no logarithm


def test_points_by_decades_are_eight_in_each():
    np.testing.assert_allclose(by_decades(1, 100), 10 ** (np.arange(17) / 8))
    np.testing.assert_allclose(by_decades(2, 2.1), [2, 2.1])
