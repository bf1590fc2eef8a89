"""Charts of curves: intervals lie within their axes, on a logarithmic axis too, and of single points are drawn."""

import io
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sweepkit.studies.boix23.by_network import DECLARED, KINDS, NETWORKS, SERIES

from analysis.charts.curves import _CATEGORIES, APART, DASHES, Look, colours, curves_chart, hues, log_axis
from analysis.charts.explore import Layers
from analysis.charts.shown.in_matplotlib import figure
from analysis.charts.shown.screens import dark_colour
from sweepkit.declarations.metrics import METRICS

POINTS = pd.DataFrame({
    "L": [3, 4, 3], "d": [8, 8, 16], "mean": [0.81, 0.9, 0.7], "median": [0.81, 0.9, 0.7], "sd": 0.1, "n": 6, "diverged": 0,
    "low": [0.54, 0.7, -0.1], "high": [1.0, 1.0, 0.95],
})  # fmt: skip

BLIND = (
    [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
)
"""Matrices from linear red, green and blue to those that are seen: without colour blindness, and with each of the three."""
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


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


def test_legends_of_panels_with_residuals_list_what_is_drawn_under_one_title():
    """While a theory was computed, its first point was told as a line, and the title named what each panel's legend is for."""
    theory = pd.DataFrame({
        "theory": ["Eq. 3", "Eq. 3", "Bayes", "Bayes"], "curve": None, "L": [3, 4, 3, 3], "value": 0.8, "d": [8, 8, 8, 16],
    })  # fmt: skip
    apart = POINTS.assign(theory=["Eq. 3", "Eq. 3", "Bayes"], residual=0.1, residual_low=0.0, residual_high=0.2)
    look = Look("L", None, "d", residual=True)
    chart = curves_chart(POINTS, METRICS["best_test_acc"], look, theory, apart)
    panels = [part for panel in chart.to_dict()["concat"] for part in panel["vconcat"]]
    layers = [layer["encoding"] for panel in panels for layer in panel["layer"]]
    dashes = [layer["strokeDash"]["scale"]["domain"] for layer in layers if "strokeDash" in layer]
    assert dashes == [["Eq. 3"]]
    shapes = [layer["shape"]["scale"] for layer in layers if "shape" in layer]
    assert [scale["domain"] for scale in shapes] == [["Eq. 3", "Bayes"]] * 4 and all(scale == shapes[0] for scale in shapes)
    drawn = io.StringIO()
    chart.save(drawn, format="svg")
    words = re.findall(r">(theory at a point,|residual to[^<]*)</", drawn.getvalue())
    assert words == ["theory at a point,", "residual to it"]  # on two lines: a chart with its legend fits the page of a paper


def test_residuals_of_one_point_to_two_theories_stand_side_by_side():
    both = pd.concat([POINTS.assign(theory=name, residual=0.1, residual_low=0.0, residual_high=0.2) for name in ("one", "two")])
    told = curves_chart(POINTS, METRICS["best_test_acc"], Look("L", None, residual=True), None, both).to_dict()
    below = [layer["mark"] for layer in told["vconcat"][1]["layer"] if layer["mark"].get("xOffset") is not None]
    assert [mark["xOffset"] for mark in below] == [-APART / 2, -APART / 2, APART / 2, APART / 2]


def test_theories_in_matplotlib_have_marks_of_their_own_and_each_one_name():
    """A legend that the user makes of an axis once had a theory as often as it had curves."""
    theory = pd.DataFrame({"theory": ["Eq. 3", "Bayes", "Bayes"], "curve": [1, 2, 3], "L": 3, "value": [0.7, 0.8, 0.9]})
    layers = Layers(POINTS, theory, None, None)
    (axis,) = figure(layers, METRICS["best_test_acc"], Look("L", "d"), "").axes
    assert axis.get_legend_handles_labels()[1] == ["input dimension d = 8", "input dimension d = 16", "Eq. 3", "Bayes"]
    assert [line.get_marker() for line in axis.lines if line.get_color() == "black"] == ["D", "s", "s"]


def test_words_have_the_colours_of_categories_and_numbers_those_of_a_sequence():
    """All of 14 networks differ in their colour or their mark, and variants of one kind in their mark."""
    names = sorted(NETWORKS)
    rows = pd.concat([POINTS[:2].assign(networks=name) for name in names], ignore_index=True)
    of_words = hues(rows, SERIES, DECLARED)
    assert len({*of_words.values()}) == len(_CATEGORIES) and len({*hues(rows[:6], SERIES, DECLARED).values()}) == 3
    assert hues(POINTS, "d") == {8: colours(2)[0], 16: colours(2)[1]}
    told = curves_chart(rows, METRICS["best_test_acc"], Look("L", SERIES, kinds=KINDS, declared=DECLARED)).to_dict()
    (dots,) = [layer["encoding"] for layer in told["layer"] if "shape" in layer["encoding"]]
    assert dots["shape"]["scale"]["domain"] == dots["color"]["scale"]["domain"] == names
    marks = dict(zip(names, dots["shape"]["scale"]["range"], strict=True))
    assert len({(of_words[name], marks[name]) for name in names}) == len(names)
    assert len({marks[name] for name in names if KINDS[name] == "transformer"}) == 5


@pytest.mark.parametrize("dark", [False, True])
def test_categories_differ_for_colour_blind_readers(dark):
    """By the simulation of [Machado et al. 2009] at full severity; the sequence's ten colours are nearer than 6 to each other."""
    seen = np.array(
        [[int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)] for colour in map(dark_colour if dark else str, _CATEGORIES)]
    )
    linear = np.where(seen <= 0.04045, seen / 12.92, ((seen + 0.055) / 1.055) ** 2.4)
    for simulated in BLIND:
        xyz = np.clip(linear @ np.array(simulated).T, 0, 1) @ XYZ.T / [0.9505, 1, 1.089]
        f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
        lab = np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], axis=1)
        apart = np.linalg.norm(lab[:, None] - lab[None], axis=-1)
        assert apart[~np.eye(len(lab), dtype=bool)].min() > 12


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
