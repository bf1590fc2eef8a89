"""The bound beside thresholds, networks compared at one proportion, curves in units of their own, thresholds of what falls."""

import numpy as np
import pandas as pd
import pytest
from sweepkit.studies.rubin25.bound import lines, multiples, predicted_samples, scaling_of, slopes, specialised_neurons
from sweepkit.studies.rubin25.theory.gaussian_process import lazy_alignment
from sweepkit.studies.rubin25.theory.large_deviation import n_specialised, samples, slope

from analysis.data.measures import MEASURES
from analysis.data.points import Points
from analysis.scaling.charts import collapse_chart
from analysis.scaling.proportion import RATIO, by_proportion, proportions
from analysis.scaling.rescaling import family, in_units
from analysis.scaling.thresholds import threshold_table, thresholds

DS, P = (16, 24, 32, 48), 2.0 ** np.arange(5, 14)
ERF2 = {"task": "he3", "network": "erf2", "kappa": 0.5}


def alignment_points(*scalings, level=0.1, sd=0.01):
    """Means that cross `level` at twice the bound's P* of their own d, N = d and scaling."""
    return pd.DataFrame(
        [
            {**ERF2, "scaling": s, "d": d, "width": d, "P": p, "n": 4, "sd": sd,
             "mean": level + 0.1 * np.log(p / (2 * samples(level, d, d, 0.5, s)))}
            for s in scalings for d in DS for p in P
        ]
    )  # fmt: skip


def test_each_scaling_has_its_own_slope_over_the_sizes_that_were_reached():
    frame = thresholds(alignment_points("standard", "mean_field"), 0.1, "P")
    reached = frame[[t.reached == "reached" for t in frame["threshold"]]]
    assert (reached.groupby("scaling").size() > 1).all()
    found = slopes(frame, "alignment_f", "P", "d", "scaling", (0, np.inf))
    for scaling in ("standard", "mean_field"):
        d = reached[reached["scaling"] == scaling]["d"].to_numpy()
        assert found[scaling].exponent == pytest.approx(slope(0.1, d, d, scaling), abs=0.005)  # rounded, as it is shown
    part = slopes(frame, "alignment_f", "P", "d", "scaling", (24, 32))
    assert part["standard"].exponent == pytest.approx(slope(0.1, np.array([24, 32]), np.array([24, 32])), abs=0.005)
    assert slopes(frame, "alignment_f", "P", "d", None, (0, np.inf)) == {}, "of two scalings together there is none"


@pytest.mark.parametrize(
    ("values", "measure", "over"),
    [
        ({**ERF2, "scaling": "standard"}, "test_mse", "P"),
        ({**ERF2, "scaling": "standard"}, "alignment_f", "width"),
        ({"task": "linear", "network": "erf2", "scaling": "standard"}, "alignment_f", "P"),
        ({"task": "he3", "network": "erf3", "scaling": "standard"}, "alignment_f", "P"),
        ({"task": "he3", "network": "erf2", "training": "sgd", "scaling": "standard"}, "alignment_f", "P"),
        ({"task": "same_different"}, "best_test_acc", "L"),
    ],
)
def test_of_other_networks_and_measures_the_bound_does_not_speak(values, measure, over):
    assert scaling_of(values, measure, over) is None
    assert scaling_of({**ERF2, "scaling": "mean_field"}, "alignment_f", "P") == "mean_field"


def test_curves_collapse_in_units_of_the_bound():
    frame = alignment_points("standard").assign(gamma=np.nan)
    frame = frame.assign(low=frame["mean"] - 0.02, high=frame["mean"] + 0.02)
    curves = family(frame, "P", "d", MEASURES["alignment_f"])
    found = in_units(curves, predicted_samples(curves.frame, "standard", 0.1), "the bound's P*")
    # Without noise they coincide on a line in log P: what is left is rounding.
    assert found.quality.quality < 1e-6 < 100 < found.quality.unscaled_quality
    crossing = found.frame[np.isclose(found.frame["mean"], 0.1, atol=0.02)]
    np.testing.assert_allclose(crossing["rescaled"], 2, rtol=0.25)
    chart = collapse_chart(found, "P", "d", MEASURES["alignment_f"]).to_dict()
    intervals = chart["hconcat"][0]["layer"][0]
    assert len(chart["datasets"][intervals["data"]["name"]]) == len(frame)
    low, high = intervals["encoding"]["y"]["scale"]["domain"]
    assert (
        low < frame["mean"].min()
        and high > frame["mean"].max()
        and chart["hconcat"][1]["title"].startswith("rescaled by the bound's P*")
    )


def test_lines_and_multiples_of_the_bound():
    frame = thresholds(alignment_points("standard", "mean_field", sd=0.001), 0.1, "P")
    found = lines(frame, "alignment_f", "P", "d", "scaling")
    assert found.groupby(["scaling", "line"]).size().tolist() == [len(DS)] * 4
    free, fixed = (
        found[(found["scaling"] == "standard") & found["line"].str.contains(name)].set_index("d")["value"]
        for name in ("^the bound$", "fixed length")
    )
    assert free.to_dict() == pytest.approx({d: samples(0.1, d, d, 0.5) for d in DS})
    assert (fixed / free).between(1.2, 1.3).all()
    table = threshold_table(frame[frame["scaling"] == "standard"].reset_index(drop=True), ["scaling", "d", "width"])
    low, high = (
        float(word) for word in multiples(table, found[found["scaling"] == "standard"], "d").split() if word[0].isdigit()
    )
    assert low == pytest.approx(2, abs=0.05) and high == pytest.approx(2, abs=0.05)  # points of P lie a factor of 2 apart
    assert lines(frame, "test_mse", "P", "d", "scaling") is None
    assert lines(frame, "alignment_f", "P", "d", None) is None, "of two scalings together there is none"


def test_neurons_are_asked_for_the_alignment_that_lazy_learning_leaves():
    row = {"alignment": 0.6, "P": 800, "width": 64, "d": 16, "kappa": 0.1}
    [found, none] = specialised_neurons(pd.DataFrame([row, row | {"alignment": 0.1}]), "standard")
    lazy = lazy_alignment(800, 64, 16, 0.1)
    assert found == pytest.approx(n_specialised((0.6 - lazy) / (1 - lazy), 64, 16)) and found < 0.95 * n_specialised(0.6, 64, 16)
    assert np.isnan(none), "a lazy network has 0.14"


def points(*sizes):
    return Points(pd.DataFrame(sizes, columns=["d", "width"]), ["d", "width"], MEASURES["alignment_f"], "")


def test_proportions_are_told_from_single_widths():
    grown = points((16, 16), (32, 32), (64, 64), (16, 128), (32, 128))
    assert proportions(grown) == (3, 2)
    frame, keys = by_proportion(grown)[:2]
    assert keys == ["d", RATIO] and frame[RATIO].tolist() == [1, 1, 1, 8, 4] and frame["width"].tolist()[:2] == [16, 32]
    assert proportions(points((16, 1024), (32, 1024))) == (1, 2)
    assert proportions(Points(pd.DataFrame({"d": [1]}), ["d"], MEASURES["alignment_f"], "")) == (0, 0)


def test_an_error_crosses_its_level_from_above():
    rows = [{"d": 8, "P": p, "n": 3, "mean": 10 / p, "sd": 0.01 / p} for p in P]
    [found] = thresholds(pd.DataFrame(rows), 0.05, "P", falling=True)["threshold"]
    assert found.reached == "reached" and found.value == pytest.approx(200, rel=0.1)  # linear in log P between 128 and 256
    [rising] = thresholds(pd.DataFrame(rows), 0.05, "P")["threshold"]
    assert rising.reached != "reached"
