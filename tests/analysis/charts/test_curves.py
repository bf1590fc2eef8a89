"""Charts of curves: intervals lie within their axes, on a logarithmic axis too, and of single points are drawn."""

import io
import re
from dataclasses import replace

import pandas as pd
import pytest

from analysis.charts.curves import DASHES, Look, curves_chart, log_axis
from analysis.charts.explore import Layers
from analysis.charts.shown.in_matplotlib import figure
from declarations.metrics import METRICS

POINTS = pd.DataFrame({
    "L": [3, 4, 3], "d": [8, 8, 16], "mean": [0.81, 0.9, 0.7], "median": [0.81, 0.9, 0.7], "sd": 0.1, "n": 6, "diverged": 0,
    "low": [0.54, 0.7, -0.1], "high": [1.0, 1.0, 0.95],
})  # fmt: skip


def chart(points, measure, **look):
    return curves_chart(points, METRICS[measure], Look("L", "d", **look)).to_dict()


def bands(told):
    """By mark, the low ends that are drawn, None where there is none."""
    layers = {layer["mark"]["type"]: layer for layer in told["layer"] if layer["encoding"]["y"]["field"] == "low"}
    return {kind: [row["low"] for row in told["datasets"][layer["data"]["name"]]] for kind, layer in layers.items()}


@pytest.mark.parametrize("measure", ["best_test_acc", "readout_ratio"])
def test_axes_reach_the_ends_of_all_intervals(measure):
    low, high = chart(POINTS.assign(low=[0.04, 0.7, 0.3]), measure)["layer"][0]["encoding"]["y"]["scale"]["domain"]
    assert low <= 0.04 and high >= 1


def test_axes_without_intervals_are_as_narrow_as_the_points():
    bare = POINTS.assign(low=float("nan"), high=float("nan"))
    assert chart(bare, "readout_ratio")["layer"][0]["encoding"]["y"]["scale"]["domain"] == [0.7, 0.9]
    low, _ = chart(bare, "best_test_acc")["layer"][0]["encoding"]["y"]["scale"]["domain"]
    assert low == pytest.approx(0.68)


def test_intervals_that_reach_0_are_drawn_to_the_end_of_a_logarithmic_axis():
    told = chart(POINTS, "final_train_loss", log_y=True)
    end, _ = told["layer"][0]["encoding"]["y"]["scale"]["domain"]
    assert end == pytest.approx(0.54 / 1.3) and bands(told)["area"] == [0.54, 0.7, end]


def test_the_interval_of_a_single_point_is_a_rule():
    assert bands(chart(POINTS, "readout_ratio"))["rule"] == [-0.1]
    assert "rule" not in {layer["mark"]["type"] for layer in chart(POINTS[:2], "readout_ratio")["layer"]}


def test_wide_intervals_of_few_seeds_are_thin_bars_and_keep_their_numbers():
    two = POINTS[:2].assign(n=2)
    told = chart(two, "best_test_acc")
    assert bands(told) == {"area": [], "rule": [0.54, 0.7]}
    (bar,) = [layer for layer in told["layer"] if layer["mark"]["type"] == "rule"]
    assert {"low", "high"} <= {one["field"] for one in bar["encoding"]["tooltip"]}
    narrow = two.assign(low=two["mean"] - 0.01, high=two["mean"] + 0.01)
    assert "rule" not in bands(chart(narrow, "best_test_acc"))  # a band that hides nothing stays one


def test_an_accuracy_axis_ends_at_1_and_cuts_no_point_there():
    told = chart(POINTS, "best_test_acc")
    assert told["layer"][0]["encoding"]["y"]["scale"]["domain"][1] == 1
    assert not [layer for layer in told["layer"] if layer["mark"]["type"] == "point" and layer["mark"].get("clip")]


def test_each_theory_of_a_legend_has_its_own_dash_in_all_panels():
    theory = pd.DataFrame({"theory": ["a", "b", "c"], "curve": [1, 2, 3], "L": 3.0, "value": 0.9, "d": [8, 8, 16]})
    theory = pd.concat([theory, theory.assign(L=4.0)])
    look = Look("L", None, "d")
    told = curves_chart(POINTS, METRICS["best_test_acc"], look, theory).to_dict()
    layers = [layer for panel in told["concat"] for layer in panel["layer"]]
    scales = [layer["encoding"]["strokeDash"]["scale"] for layer in layers if "strokeDash" in layer["encoding"]]
    assert [scale["domain"] for scale in scales] == [["a", "b", "c"]] * 2 and scales[0] == scales[1]
    assert len(set(map(tuple, DASHES))) == len(DASHES)


@pytest.mark.parametrize(("values", "log"), [([0.001, 0.002, 0.004], True), ([0.901, 0.902, 0.904], False)])
def test_ticks_of_logarithmic_and_short_axes_have_the_digits_they_need(values, log):
    points = POINTS.assign(mean=values, low=values, high=values)
    told = curves_chart(points, METRICS["final_train_loss"], Look("L", "d", log_y=log))
    drawn = io.StringIO()
    told.save(drawn, format="svg")
    labels = set(re.findall(r">(0\.[0-9]+)<", drawn.getvalue()))
    assert any(len(label) == 5 for label in labels) and not {"0.00", "0.90"} & labels


def test_theories_of_one_point_have_marks_of_their_own():
    """Three theories at one point once shared a diamond."""
    theory = pd.DataFrame({
        "theory": ["Eq. 3", "Bayes", "Bayes", "lazy"], "curve": None, "L": [3, 3, 4, 3], "value": [0.7, 0.8, 0.9, 0.75]
    })  # fmt: skip
    told = curves_chart(POINTS, METRICS["best_test_acc"], Look("L", "d"), theory).to_dict()
    (marks,) = [layer for layer in told["layer"] if "shape" in layer["encoding"]]
    assert [row["theory at a point"] for row in told["datasets"][marks["data"]["name"]]] == ["Eq. 3", "lazy"]
    scale = marks["encoding"]["shape"]["scale"]
    assert scale["domain"] == ["Eq. 3", "lazy"] and len({*scale["range"]}) == 2


def test_theories_in_matplotlib_have_marks_of_their_own_and_each_one_name():
    """A legend that the user makes of an axis once had a theory as often as it had curves."""
    theory = pd.DataFrame({"theory": ["Eq. 3", "Bayes", "Bayes"], "curve": [1, 2, 3], "L": 3, "value": [0.7, 0.8, 0.9]})
    layers = Layers(POINTS, theory, None, None)
    (axis,) = figure(layers, METRICS["best_test_acc"], Look("L", "d"), "").axes
    assert axis.get_legend_handles_labels()[1] == ["input dimension d = 8", "input dimension d = 16", "Eq. 3", "Bayes"]
    assert [line.get_marker() for line in axis.lines if line.get_color() == "black"] == ["D", "s", "s"]


def test_a_logarithmic_axis_labels_its_powers_of_ten():
    """0.9 once took the place of 1."""
    drawn = io.StringIO()
    points = POINTS.assign(mean=[0.49, 3.2, 1.2], low=[0.48, 2.9, 1.1], high=[0.5, 3.6, 1.3])
    curves_chart(points, METRICS["final_train_loss"], Look("L", "d", log_y=True)).save(drawn, format="svg")
    assert {"0.5", "1", "2", "3"} <= set(re.findall(r">([0-9.]+)</text>", drawn.getvalue()))


def test_crowded_values_have_ticks_at_powers():
    told = log_axis(pd.Series([36, 72, 101, 122, 144, 166, 202, 288, 576, 9216])).to_dict()
    assert told["values"] == [2.0**k for k in range(5, 15)]
    assert log_axis(pd.Series([15, 39, 75, 145, 278])).to_dict()["values"] == [15, 39, 75, 145, 278]


def test_a_long_title_is_broken_rather_than_cut():
    long = replace(METRICS["best_test_acc"], title="test accuracy at the evaluation with the least validation loss")
    told = curves_chart(POINTS, long, Look("L", "d", height=200)).to_dict()
    titles = {tuple(layer["encoding"]["y"]["title"]) for layer in told["layer"] if layer["encoding"]["y"].get("title")}
    assert titles == {("test accuracy at the", "evaluation with the least", "validation loss")}
    assert told["config"]["legend"]["titleLimit"] > 300 < told["config"]["legend"]["labelLimit"]
