"""Levels at which networks were searched are found from the networks alone; of grids it is the level that most curves cross."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from analysis.data.measures import MEASURES
from analysis.scaling.levels import levels
from declarations.metric import Metric
from orchestrator.grid.find import n_rungs
from orchestrator.search.bisection import ThresholdSearch

ACCURACY, ALIGNMENT, MSE = (MEASURES[name] for name in ("best_test_acc", "alignment_f", "test_mse"))
DS = (16, 32, 64)


def accuracy(x):
    return 0.5 + 0.5 * norm.cdf(np.log(x / 100))


def searched(at, curve=accuracy, sd=0.01, falling=False):
    """Points of a search at each d, whose curves are moved by d."""
    rng = np.random.default_rng(0)
    ladder = np.unique(np.geomspace(2, 4096, n_rungs(2, 4096, 0.1)).round())
    rows = []
    for d in DS:
        search = ThresholdSearch(list(ladder), [6] * len(ladder), at, 0.1, falling)
        while wanted := search.wanted():
            search.told({(k, s): float(curve(ladder[k] * 16 / d) + sd * rng.standard_normal()) for k, s in wanted})
        for k, values in search.values.items():
            rows.append(
                {
                    "task": "same_different",
                    "d": d,
                    "P": ladder[k],
                    "n": len(values),
                    "mean": np.mean(values),
                    "sd": np.std(values, ddof=1),
                }
            )
    return pd.DataFrame(rows).assign(task="same_different")


def gridded(curve, x=tuple(2.0 ** np.arange(1, 13))):
    return pd.DataFrame([{"d": d, "P": p, "n": 3, "mean": float(curve(p * 16 / d)), "sd": 0.01} for d in DS for p in x])


@pytest.mark.parametrize("at", [0.6, 0.7, 0.85, 0.95])
def test_a_search_is_seen_from_where_its_networks_are(at):
    found = levels(searched(at), ACCURACY, "P")
    # Rungs a tenth apart in log x: the level lies between the means of two, here up to 0.04 apart.
    assert abs(found.start - at) <= 0.04
    assert "as a search leaves them" in found.why
    assert found[:3] == (0.5, 1.0, 0.01)


def test_a_search_at_a_level_of_alignment_and_one_that_falls():
    found = levels(searched(0.3, lambda x: 2 * accuracy(x) - 1), ALIGNMENT, "P")
    assert found.start == pytest.approx(0.3, abs=0.08)  # twice the slope
    falls = searched(0.4, lambda x: 2 - 2 * accuracy(x), falling=True)
    assert levels(falls, MSE, "P").start == pytest.approx(0.4, abs=0.08)


def test_of_a_grid_accuracies_start_at_the_papers_level_and_others_where_most_curves_cross():
    assert levels(gridded(accuracy), ACCURACY, "P").start == 0.85
    low = gridded(lambda x: 0.6 * accuracy(x) - 0.3)  # 0 to 0.3: all curves cross 0.1
    found = levels(low, ALIGNMENT, "P")
    assert found.start == 0.1 and "3 of 3 curves" in found.why
    assert (
        found.low <= low["mean"].min() and found.high >= low["mean"].max() and 30 <= (found.high - found.low) / found.step <= 400
    )
    high = low.assign(mean=low["mean"] + low["d"] / 32)  # no level is crossed by two
    assert "1 of 3 curves" in levels(high, ALIGNMENT, "P").why


def test_where_no_curve_crosses_anything_it_says_so():
    flat = gridded(lambda x: 0.2)
    found = levels(flat, ALIGNMENT, "P")
    assert found.low <= found.start <= found.high and found.low < found.high and "no curve" in found.why


def test_a_metric_is_no_accuracy_by_its_name():
    found = levels(gridded(lambda x: np.log(accuracy(x))), Metric("log_acc", "log accuracy", better="higher"), "P")
    assert found.low < found.start < found.high <= 0.01


def test_where_chance_is_not_known_the_range_starts_at_what_was_measured():
    ten = gridded(lambda x: 0.107 + 0.8 * (2 * accuracy(x) - 1))
    assert levels(ten, ACCURACY, "P").low == 0.1
    assert levels(ten.assign(task="psvrt"), ACCURACY, "P").low == 0.5
    assert levels(gridded(lambda x: 0.7 + 0.2 * accuracy(x)), ACCURACY, "P").low == 0.5
