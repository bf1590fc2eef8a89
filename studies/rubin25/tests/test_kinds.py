"""The spread of thresholds in units of a law: its interval, and what leaves it without one."""

import numpy as np
import pytest
from sweepkit.studies.rubin25.kinds import spread_interval, threshold_spread

from analysis.claims.verdict import NotMeasured
from sweepkit.store.store import Store
from tests.store_rows import row

STORES = 400


@pytest.mark.parametrize("error", [0.05, 0.15])
@pytest.mark.parametrize("true", [0.0, 0.2])
def test_each_end_misses_the_true_spread_at_most_as_often_as_it_says(true, error):
    """Five sizes with thresholds of these errors; draws of all sizes come from one seed, as those of `thresholds` do."""
    rng = np.random.default_rng(1)
    units = np.log([2.0, 3.0, 5.0, 8.0, 13.0])
    scores = np.array([-1.2, -0.5, 0.1, 0.4, 1.2])
    logs = units + true * scores / scores.std(ddof=1)
    missed = np.zeros(2)
    for _ in range(STORES):
        measured = logs + error * rng.standard_normal(5)
        same = rng.standard_normal(500)
        value, low, high = spread_interval(measured - units, [one + error * same for one in measured], units)
        assert 0 <= low <= value <= high
        missed += low > true, high < true
    # 2.5% of 400, and two standard errors of a share of so many.
    assert (missed / STORES <= 0.025 + 2 * np.sqrt(0.025 * 0.975 / STORES)).all()


def rows(sizes, seeds=6, above=lambda d: 0.0):
    """Alignments that cross 0.15 at P = 40 d."""
    values = np.random.default_rng(0).normal(0, 0.01, 10_000)
    at = [(d, P, seed) for d in sizes for P in (20 * d, 40 * d, 80 * d) for seed in range(seeds)]
    keyed = {"task": "token_pairs", "network": "attention", "width": 2, "L": None, "training": "langevin", "mixed": True}
    return [
        row(i, **keyed, d=d, P=P, seed=seed, alignment_f=0.15 + 0.1 * np.log2(P / (40 * d)) + values[i] + above(d))
        for i, (d, P, seed) in enumerate(at)
    ]


def committed(folder, made):
    store = Store(str(folder))
    store.prepare()
    if made:
        store.commit("p", made)
    return store.results


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (rows([6, 8]), "fewer than 3 sizes"),
        (rows([6, 8, 12], seeds=1), "one seed at some P"),
        (rows([6, 8, 12], above=lambda d: -1.0 * (d == 8)), "not within the P measured at d = 8"),
        ([], "no finished networks"),
    ],
)
def test_without_an_interval_it_says_why(tmp_path, made, why):
    found = threshold_spread(committed(tmp_path, made), 0.15, {"task": "token_pairs"}, {"d": 1.0})
    assert isinstance(found, NotMeasured) and why in found.why


def test_thresholds_in_proportion_to_the_unit_have_no_spread(tmp_path):
    found = threshold_spread(committed(tmp_path, rows([6, 8, 12, 24])), 0.15, {"task": "token_pairs"}, {"d": 1.0})
    assert found.interval.low == 0 and found.interval.high < 0.1
    other = threshold_spread(committed(tmp_path / "other", rows([6, 8, 12, 24])), 0.15, {"task": "token_pairs"}, {"d": 3.0})
    assert other.interval.low == pytest.approx(2 * np.std(np.log([6, 8, 12, 24]), ddof=1), rel=0.1)
