"""The level at which thresholds are looked for at first: what a sweep asked, the paper's, or the one that most curves cross."""

import numpy as np
import pandas as pd
from scipy.stats import norm

from analysis.data.measures import MEASURES
from analysis.scaling.levels import levels
from sweepkit.declarations.columns import Metric
from sweepkit.store.searches import Question

ACCURACY, ALIGNMENT = MEASURES["best_test_acc"], MEASURES["alignment_f"]
DS = (16, 32, 64)


def accuracy(x):
    return 0.5 + 0.5 * norm.cdf(np.log(x / 100))


def gridded(curve, x=tuple(2.0 ** np.arange(1, 13))):
    return pd.DataFrame([{"d": d, "P": p, "n": 3, "mean": float(curve(p * 16 / d)), "sd": 0.01} for d in DS for p in x])


def test_the_level_that_a_sweep_searched_for_comes_first():
    asked = [Question("L", "best_test_acc", 0.6), Question("P", "alignment_f", 0.2), Question("P", "best_test_acc", 0.97)]
    found = levels(gridded(accuracy), ACCURACY, "P", asked)
    assert found.start == 0.97 and "searched" in found.why and found[:3] == (0.5, 1.0, 0.01)
    assert levels(gridded(accuracy), ACCURACY, "d", asked).start == 0.85
    drawn = [("Samples", Question("P", "alignment_f", 0.1)), ("Mine", Question("P", "best_test_acc", 0.7))]
    assert levels(gridded(accuracy), ACCURACY, "P", asked, of_figures=drawn)[3:] == found[3:]  # a search goes before a figure
    assert levels(gridded(accuracy), ACCURACY, "P", of_figures=drawn)[3:] == (0.7, "that of figure Mine")
    low = levels(gridded(accuracy), ACCURACY, "P", [Question("P", "best_test_acc", 0.4)])
    assert low.start == low.low == 0.4


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
