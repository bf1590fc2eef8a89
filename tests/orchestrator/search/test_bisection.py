"""Searches on curves that are known: they find the crossing, say what they do not find, and ask for few networks."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom, norm

from orchestrator.search.bisection import FIRST_SEEDS, ThresholdSearch
from sweepkit.stats import LEAST_NETWORKS

TOLERANCE = 0.05


def ladder(low=2, high=4096, tolerance=TOLERANCE):
    x = np.geomspace(low, high, 1 + int(np.ceil(np.log(high / low) / np.log1p(tolerance))))
    return sorted({round(v) for v in x})


def probit(middle, width):
    """Accuracy against L as lazy networks have it: from chance to 1."""
    return lambda x: 0.5 + 0.5 * norm.cdf(np.log(x / middle) / width)


def crossing(curve, level):
    return np.exp(brentq(lambda u: curve(np.exp(u)) - level, np.log(0.01), np.log(1e8)))


def search(curve, sd=0.0, n_seeds=6, level=0.85, seed=0, rungs=None, **more):
    """A search to its end on curve + noise, and what it asked for, in its order."""
    x, rng = rungs or ladder(), np.random.default_rng(seed)
    noise = sd * rng.standard_normal((len(x), n_seeds))  # of a network, whenever it is asked for
    found, asked = ThresholdSearch(x, [n_seeds] * len(x), level, TOLERANCE, **more), []
    while wanted := found.wanted():
        assert not set(wanted) & set(asked), "a network is asked for once"
        asked += wanted
        found.told({(k, s): curve(x[k]) + noise[k, s] for k, s in wanted})
    return found, asked


@pytest.mark.parametrize("middle", [3, 20, 300, 2500])
@pytest.mark.parametrize("width", [0.01, 0.3, 1.5])
def test_without_noise_the_crossing_is_bracketed_within_the_tolerance(middle, width):
    curve = probit(middle, width)
    true = crossing(curve, 0.7)
    found, asked = search(curve, level=0.7)
    assert found.state == "as asked"
    right = next(k for k, x in enumerate(found.ladder) if x >= true)
    # The measured rungs about the true crossing are as near as asked, or neighbours.
    tried = sorted(found.values)
    low, high = max(k for k in tried if k < right), min(k for k in tried if k >= right)
    assert high == low + 1 or np.log(found.ladder[high] / found.ladder[low]) <= 2 * np.log1p(TOLERANCE) + 1e-9
    assert found.ladder[low] <= found.threshold.value <= found.ladder[high]
    # Halving 156 rungs takes 8 steps at most, and nothing is unsure; then the rungs that decide get as many as a verdict takes.
    assert len(asked) <= 8 * FIRST_SEEDS + 3 * (LEAST_NETWORKS - FIRST_SEEDS)
    assert found.threshold.n_seeds == LEAST_NETWORKS


@pytest.mark.parametrize(("sd", "width"), [(0.01, 1.0), (0.03, 1.0), (0.02, 0.1)])
def test_intervals_cover_the_crossing(sd, width):
    curve, trials = probit(100, width), 100
    true = crossing(curve, 0.85)
    ends = [search(curve, sd, seed=seed)[0] for seed in range(trials)]
    covered = sum(s.threshold.low <= true <= s.threshold.high for s in ends)
    # A 95% interval of 100 searches, chosen adaptively, may lose a little: that it covers 90% must not be refuted at 1 in 1000.
    assert covered >= binom.ppf(0.001, trials, 0.9)
    assert {s.state for s in ends} <= {"as asked", "all seeds used"}


def test_a_fifth_of_the_networks_of_a_grid_that_is_as_fine():
    spent, equal = [], []
    for seed in range(20):
        found, asked = search(probit(100, 1.0), 0.01, seed=seed)
        spent.append(len(asked))
        equal.append(found.equal_grid)
        assert found.n_networks == len(asked)
    assert np.mean(equal) > 5 * np.mean(spent)


def test_what_is_beyond_the_range_is_said():
    above, _ = search(probit(1e6, 0.5), 0.005)
    assert above.state == "not reached" and above.threshold.number == "> 4096"
    assert above.threshold.value == np.inf
    below, _ = search(probit(0.1, 0.2), 0.005)
    assert below.state == "already reached" and below.threshold.number == "<= 2"
    # At both ends the end itself was tried.
    assert len(above.ladder) - 1 in above.values and 0 in below.values


def test_a_crossing_next_to_an_end():
    low, _ = search(probit(2.2, 0.02), level=0.75)
    assert low.state == "as asked" and 2 < low.threshold.value < 3  # as near as whole numbers are
    high, _ = search(probit(4000, 0.02), level=0.75)
    assert high.state == "as asked" and high.threshold.value == pytest.approx(4000, rel=2 * TOLERANCE)


def test_a_measure_that_falls():
    curve = probit(100, 1.0)
    rising, asked = search(curve, 0.01)
    falling, same = search(lambda x: 1 - curve(x), -0.01, level=0.15, falling=True)
    assert asked == same
    assert falling.threshold.value == pytest.approx(rising.threshold.value, rel=1e-9)


def test_one_seed_bisects_and_claims_no_interval():
    found, asked = search(probit(100, 1.0), n_seeds=1)
    assert found.state == "as asked" and np.isnan(found.threshold.low)
    assert len(asked) <= 8
    assert found.threshold.value == pytest.approx(crossing(probit(100, 1.0), 0.85), rel=2 * TOLERANCE)


def test_networks_without_a_value_are_left_out():
    x = ladder()
    curve, found = probit(100, 0.5), ThresholdSearch(x, [6] * len(x), 0.85, TOLERANCE)
    middle = found.wanted()[0][0]
    while wanted := found.wanted():
        found.told({(k, s): None if k == middle or s == 1 else curve(x[k]) + 0.001 * s for k, s in wanted})
    assert found.state == "as asked"
    assert found.threshold.value == pytest.approx(crossing(curve, 0.85), rel=2 * TOLERANCE)
    nothing = ThresholdSearch(x[:5], [3] * 5, 0.85, TOLERANCE)
    while wanted := nothing.wanted():
        nothing.told(dict.fromkeys(wanted))
    assert nothing.state == "no values" and nothing.threshold is None and nothing.n_networks == 3 * 3


def test_the_path_follows_from_the_values_alone():
    curve = probit(100, 1.0)
    found, asked = search(curve, 0.03, seed=3)
    again, same = search(curve, 0.03, seed=3)
    assert asked == same and again.threshold.low == found.threshold.low


@pytest.mark.parametrize("falls", [False, True])
def test_a_search_that_takes_a_curve_the_wrong_way_round_knows_it(falls):
    curve = probit(100, 1.0)
    of = (lambda x: 1.5 - curve(x)) if falls else curve
    right, _ = search(of, sd=0.01, level=0.75, falling=falls)
    assert right.state in ("as asked", "all seeds used") and not right.goes_the_other_way
    wrong, _ = search(of, sd=0.01, level=0.75, falling=not falls)
    assert wrong.state in ("not reached", "already reached") and wrong.goes_the_other_way
