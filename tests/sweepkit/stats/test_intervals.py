"""Intervals over seeds cover what they say, and are the same for the same values."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import bootstrap
from scipy.stats import t as student

from sweepkit.stats import (
    Interval,
    after_looks,
    bootstrap_interval,
    jackknife_interval,
    least_equal,
    mean_interval,
    median_interval,
    t_intervals,
)
from sweepkit.stats.intervals import FEW, _bca


def coverage(intervals, truth):
    return np.mean([i.low <= truth <= i.high for i in intervals])


@pytest.mark.parametrize("n", [2, 6, FEW - 1])
def test_few_normal_values_cover_the_mean_95_times_in_100(n):
    rng = np.random.default_rng(0)
    found = [mean_interval(rng.normal(3, 2, n)) for _ in range(2000)]
    assert {i.method for i in found} == {"Student t"}
    assert coverage(found, 3) == pytest.approx(0.95, abs=0.02)  # four standard errors of 0.0049


def test_many_skewed_values_cover_the_mean_and_lean_to_the_long_tail():
    rng = np.random.default_rng(1)
    found = [mean_interval(rng.exponential(1, FEW)) for _ in range(600)]
    assert {i.method for i in found} == {"BCa bootstrap"}
    assert coverage(found, 1) == pytest.approx(
        0.94, abs=0.044
    )  # measured 0.95 at n = 50, BCa is right to O(1/n) only; four standard errors
    leaning = [(i.high - i.value) / (i.value - i.low) for i in found]
    assert np.median(leaning) > 1.15  # t gives 1


@pytest.mark.parametrize("level", [0.5, 0.95])
@pytest.mark.parametrize("n", [FEW, 200])
def test_many_intervals_are_those_of_scipy(n, level):
    values = np.random.default_rng(7).beta(8, 0.5, (600, n))  # more than are resampled at once
    values[1], values[2] = np.exp(values[1] * 20), 0.5
    low, high = _bca(values, level)
    assert np.isnan([low[2], high[2]]).all()  # no spread
    some = [0, 1, 499, 500, 599]
    expected = bootstrap((values[some],), np.mean, axis=1, n_resamples=1999, confidence_level=level, method="BCa", rng=0)
    assert low[some] == pytest.approx(expected.confidence_interval.low, rel=1e-9)
    assert high[some] == pytest.approx(expected.confidence_interval.high, rel=1e-9)


def test_level_is_the_coverage():
    rng = np.random.default_rng(2)
    assert coverage([mean_interval(rng.normal(0, 1, 5), level=0.5) for _ in range(2000)], 0) == pytest.approx(0.5, abs=0.045)


def test_bounds_cut_off_only_what_is_impossible():
    accuracies = [0.9, 1.0, 1.0]
    free, cut = mean_interval(accuracies), mean_interval(accuracies, bounds=(0, 1))
    assert free.high > 1
    assert cut == Interval(free.value, free.low, 1.0, 3, "Student t", spread="two groups")
    with pytest.raises(ValueError, match="not within the bounds"):
        mean_interval([0.5, 1.5], bounds=(0, 1))
    with pytest.raises(ValueError, match="not within the bounds"):
        mean_interval([0.5, 1 + 1e-5], bounds=(0, 1))
    rounded = mean_interval([1.0, np.nextafter(1, 2), 1 + 1e-7], bounds=(0, 1))
    assert rounded[:3] == (1, 1, 1)


def test_few_values_in_two_groups_give_an_interval_that_holds_them_all():
    learnt, not_learnt = [0.97, 0.98, 0.99, 0.98, 0.97], [0.5]
    few = mean_interval(learnt + not_learnt)
    assert few.spread == "two groups" and few.low <= 0.5 and few.high >= 0.99
    many = mean_interval(2 * (learnt + not_learnt))
    assert many.spread == "" and many.low > 0.5
    assert mean_interval(learnt).spread == ""


def test_values_are_equal_by_chance_or_exact():
    assert mean_interval([1.0] * 6, sd_of_ties=0.01).spread == "equal"
    assert mean_interval([0.3, 0.1 + 0.2]).spread == "exact"


def test_what_equal_outcomes_leave_likely():
    """The rule of three: 3/n for large n; the share q of others at which n equal ones have probability 5%."""
    assert least_equal(300) == pytest.approx(3 / 300, rel=0.01)
    assert (1 - least_equal(10)) ** 10 == pytest.approx(0.05)


@pytest.mark.parametrize("n", [6, FEW])
def test_an_interval_after_several_looks_is_one_at_a_higher_level(n):
    values = np.random.default_rng(5).normal(0, 1, n)
    once = mean_interval(values)
    assert after_looks(once, 1) == once
    twice = after_looks(once, 2)
    if n < FEW:
        assert twice[:4] == pytest.approx(mean_interval(values, level=0.975)[:4])
    else:
        assert (twice.value - twice.low) / (once.value - once.low) == pytest.approx(2.2414 / 1.96, rel=1e-3)


def test_seeds_added_until_a_claim_is_decided_decide_it_wrongly_less_often():
    """The truth lies on an edge: each verdict is wrong. Seeds are doubled until there is one, from 6 to 24."""
    rng = np.random.default_rng(6)
    samples = rng.normal(0, 1, (2000, 24))

    def decided(corrected):
        looks = [(n, k if corrected else 1) for k, n in enumerate((6, 12, 24), 1)]
        found = [[after_looks(mean_interval(x[:n]), k) for n, k in looks] for x in samples]
        return np.mean([any(one.low > 0 or one.high < 0 for one in each) for each in found])

    assert decided(True) == pytest.approx(0.076, abs=0.024)  # four standard errors
    assert decided(False) == pytest.approx(0.105, abs=0.028)


def test_an_end_that_is_not_known_stays_so_after_several_looks():
    beyond = Interval(np.inf, 12.0, np.inf, 6, "resampled", "seeds")
    assert after_looks(beyond, 3)[:3] == (np.inf, 12.0, np.inf)


def test_equal_differences_are_equal_up_to_the_rounding_of_what_they_are_of():
    rounded = [0.9 - 0.8, 0.8 - 0.7, 0.7 - 0.6] * 4
    found = mean_interval(rounded, sd_of_ties=0.02)
    assert found.spread == "equal" and found.high - found.value > 0.01


def test_same_values_same_interval():
    values = np.random.default_rng(3).beta(8, 1, 30)
    assert mean_interval(values) == mean_interval(values)


@pytest.mark.parametrize("n", [2, FEW, 60])
def test_equal_values_have_an_interval_of_no_width(n):
    assert mean_interval([0.75] * n)[:4] == (0.75, 0.75, 0.75, n)


@given(st.lists(st.sampled_from([0.0, 0.5, 0.9990234375, 1.0]), min_size=2, max_size=25))
def test_ties_and_saturation_give_an_interval_around_the_mean(values):
    found = mean_interval(values, bounds=(0, 1))
    assert 0 <= found.low <= found.value + 1e-12
    assert found.value - 1e-12 <= found.high <= 1


@pytest.mark.parametrize("interval", [mean_interval, median_interval])
def test_what_is_refused(interval):
    with pytest.raises(ValueError, match="no values"):
        interval([])
    with pytest.raises(ValueError, match="not finite"):
        interval([0.5, float("nan")])
    with pytest.raises(ValueError, match="not between 0 and 1"):
        interval([0.5, 0.6], level=95)


def test_one_value_has_no_interval():
    found = mean_interval([0.5])
    assert (found.value, found.n) == (0.5, 1)
    assert np.isnan([found.low, found.high]).all()


def test_median_interval_covers_what_it_says_whatever_the_distribution():
    rng = np.random.default_rng(4)
    for n, exact in ((6, 1 - 2 / 2**6), (9, 1 - 2 * 10 / 2**9), (15, 1 - 2 * (1 + 15 + 105 + 455) / 2**15)):
        found = [median_interval(np.exp(2 * rng.normal(size=n))) for _ in range(2000)]
        assert coverage(found, 1) == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 2000))
        assert f"{exact:.3f}" in found[0].method


def test_median_bounds_are_missing_where_the_extremes_cover_too_little():
    found = median_interval([5, 1, 2, 4, 3])
    assert found.value == 3
    assert np.isnan([found.low, found.high]).all()
    assert median_interval([5, 1, 2, 4, 3], level=0.9)[:3] == (3, 1, 5)  # covers 0.9375
    assert median_interval([1, 2], level=0.5)[:3] == (1.5, 1, 2)  # covers exactly 0.5


def test_intervals_of_aggregates_are_those_of_the_values():
    rng = np.random.default_rng(5)
    groups = [rng.uniform(size=n) for n in (2, 3, 6)]
    low, high = t_intervals([g.mean() for g in groups], [g.std(ddof=1) for g in groups], [2, 3, 6])
    for g, a, b in zip(groups, low, high, strict=True):
        expected = student.interval(0.95, len(g) - 1, g.mean(), g.std(ddof=1) / np.sqrt(len(g)))
        assert (a, b) == pytest.approx(expected)
        assert (a, b) == pytest.approx(mean_interval(g)[1:3])


def test_aggregates_of_one_seed_bounds_and_refusals():
    low, high = t_intervals([[0.5, 0.99], [0.2, 0.3]], [[np.nan, 0.05], [0.0, 0.1]], [[1, 6], [4, 2]], bounds=(0, 1))
    assert np.isnan([low[0, 0], high[0, 0]]).all()
    assert high[0, 1] == 1
    assert (low[1, 0], high[1, 0]) == (0.2, 0.2)
    assert (low[1, 1], high[1, 1]) == (0, 1)
    with pytest.raises(ValueError, match="n below 1"):
        t_intervals([0.5], [0.1], [0])
    with pytest.raises(ValueError, match="sd below 0"):
        t_intervals([0.5], [-0.1], [3])


def test_the_jackknife_of_a_mean_is_its_t_interval():
    values = np.array([1.0, 2.0, 4.0, 8.0])
    left = (values.sum() - values) / (len(values) - 1)
    found, direct = jackknife_interval(values.mean(), left), mean_interval(values)
    assert found[:4] == pytest.approx(direct[:4]) and found.method == "jackknife"
    with pytest.raises(ValueError, match="left_out"):
        jackknife_interval(1.0, [np.inf, 1.0])


def test_a_bootstrap_interval_holds_the_middle_of_what_resamples_give():
    found = bootstrap_interval(50.0, np.arange(101.0))
    assert found == Interval(50.0, 2.5, 97.5, 101, "bootstrap", "resamples")


def test_import_stays_light():
    slow = ("scipy.stats", "scipy.optimize", "statsmodels", "pandas")
    code = f"import sys, sweepkit.stats; print([m for m in {slow} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
