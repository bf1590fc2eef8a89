"""Two arms compared: what both share at a seed cancels, and the intervals cover what they say."""

import numpy as np
import pandas as pd
import pytest

from analysis.scaling.arms import ARMS, of_exponents, of_means, of_thresholds, pairs_of
from sweepkit.stats import mean_interval, threshold

SIZES = 2.0 ** np.arange(1, 9)
LEVEL = 0.8


def curve(at):
    """An accuracy that rises along SIZES, half of its way at `at`."""
    return 0.5 + 0.5 / (1 + (at / SIZES) ** 1.5)


def networks(rng, n, ratio=1.5, scales=(1.0,), exponent=0.0, own=0.02, shared=0.03):
    """Networks of both arms at each scale: the first's thresholds are `ratio` scale^exponent times the second's. Each seed has a
    deviation that both arms share, and one of its own at each network."""
    rows = []
    for scale in scales:
        common = rng.normal(0, shared, (n, 1))
        for arm, at in zip(ARMS, (8 * scale * ratio * scale**exponent, 8 * scale), strict=True):
            values = curve(at) + common + rng.normal(0, own, (n, len(SIZES)))
            rows += [(scale, size, seed, arm, values[seed, k]) for seed in range(n) for k, size in enumerate(SIZES)]
    return pd.DataFrame(rows, columns=["d", "L", "seed", "arm", "value"])


def test_what_the_arms_share_cancels_in_a_difference():
    rows = networks(np.random.default_rng(0), 6, shared=0.1, own=0.001)
    pairs = pairs_of(rows[rows["L"] == 16], ["L"])
    assert len(pairs) == 6 and {*ARMS} < {*pairs}
    found = of_means(pairs)
    single = mean_interval(pairs["first"])
    assert found.interval.high - found.interval.low < 0.1 * (single.high - single.low)
    assert found.interval.low < curve(12)[3] - curve(8)[3] < found.interval.high
    assert found.interval.value == pytest.approx(found.first - found.second)


def test_a_network_without_a_partner_is_no_pair():
    rows = networks(np.random.default_rng(0), 3)
    lacking = rows[~((rows["arm"] == "second") & (rows["seed"] == 2))]
    assert {*pairs_of(lacking, ["L"])["seed"]} == {0, 1}


def test_a_ratio_of_means_needs_positive_ones():
    pairs = pd.DataFrame({"seed": range(4), "first": [2.0, 4.0, 6.0, 8.0], "second": [1.0, 2.0, 3.0, 4.0]})
    found = of_means(pairs, ratio=True).interval
    assert (found.value, found.low, found.high) == pytest.approx((2, 2, 2)) and found.n == 4
    assert np.isnan(of_means(pairs.assign(second=-1.0), ratio=True).interval.value)


@pytest.mark.parametrize("n", [3, 6])
def test_intervals_of_ratios_of_thresholds_cover_the_true_one(n):
    """95% of 200 draws would be covered by 190 (184 to 196 within two standard errors): a method that takes the spread of so few
    seeds for the true one covers 80 to 88%."""
    rng = np.random.default_rng(n)
    true = threshold(SIZES, curve(12.0), LEVEL) / threshold(SIZES, curve(8.0), LEVEL)  # of the curves between the points
    found = [of_thresholds(networks(rng, n), "L", LEVEL).interval for _ in range(200)]
    assert 0.90 <= np.mean([one.low <= true <= one.high for one in found]) <= 0.99
    assert np.median([one.value for one in found]) == pytest.approx(true, rel=0.03)


def test_the_difference_of_exponents_is_that_of_the_law():
    rng = np.random.default_rng(1)
    found = of_exponents(networks(rng, 6, 1.2, (1.0, 1.5, 2.2, 3.0), 0.4), "L", "d", LEVEL)
    assert found.n_thresholds == 4 and found.interval.value == pytest.approx(found.first - found.second)
    assert found.interval.low < 0.4 < found.interval.high and found.interval.high - found.interval.low < 1.5
    same = of_exponents(networks(rng, 6, 1.0, (1.0, 1.5, 2.2, 3.0)), "L", "d", LEVEL)
    assert same.interval.low < 0 < same.interval.high


def test_two_sizes_have_no_exponent():
    found = of_exponents(networks(np.random.default_rng(0), 3, scales=(1.0, 2.0)), "L", "d", LEVEL)
    assert np.isnan(found.interval.value) and found.n_thresholds == 2


def test_arms_that_were_searched_at_different_sizes_have_a_ratio():
    rows = networks(np.random.default_rng(0), 6)
    first = (rows["arm"] == "first") & rows["L"].isin([8, 32, 128])
    second = (rows["arm"] == "second") & rows["L"].isin([4, 16, 64])
    found = of_thresholds(rows[first | second], "L", LEVEL)
    assert np.isfinite([*found.interval[:3]]).all() and found.interval.low < found.interval.value < found.interval.high


def test_fewer_seeds_beside_a_threshold_make_its_interval_wider():
    rows = networks(np.random.default_rng(0), 6)
    whole = of_thresholds(rows, "L", LEVEL).interval
    near = rows["L"].isin([16, 32])
    fewer = of_thresholds(rows[~near | (rows["seed"] < 3)], "L", LEVEL).interval
    assert (whole.n, fewer.n) == (6, 3) and fewer.high / fewer.low > 1.3 * whole.high / whole.low


def test_a_level_that_an_arm_does_not_reach_has_no_ratio():
    rows = networks(np.random.default_rng(0), 3, ratio=1000)
    found = of_thresholds(rows, "L", LEVEL)
    assert np.isinf(found.first) and np.isfinite(found.second) and np.isnan(found.interval.value)


def test_one_seed_has_no_interval():
    found = of_thresholds(networks(np.random.default_rng(0), 1), "L", LEVEL).interval
    assert np.isfinite(found.value) and np.isnan(found.low)
