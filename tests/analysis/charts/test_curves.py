"""Charts of curves: intervals lie within their axes, on a logarithmic axis too, and of single points are drawn."""

import pandas as pd
import pytest

from analysis.charts.curves import Look, curves_chart
from declarations.metrics import METRICS

POINTS = pd.DataFrame({
    "L": [3, 4, 3], "d": [8, 8, 16], "mean": [0.81, 0.9, 0.7], "median": [0.81, 0.9, 0.7], "sd": 0.1, "n": 2, "diverged": 0,
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
