"""The axes, colour and settings on which page Scaling opens, for small tables of points."""

import itertools

import pandas as pd
import pytest

from analysis.data.points import Points
from analysis.scaling.opening import Laws
from sweepkit.declarations.metrics import METRICS


def laws(*rows, gamma=False):
    frame = pd.DataFrame(rows)
    if gamma:
        frame["gamma_label"] = frame["gamma"].map(lambda value: "lazy" if value < 1e-3 else f"{value:g}")
    frame["n"] = 2
    keys = [key for key in frame if key != "n"]
    return Laws(Points(frame, keys, next(iter(METRICS.values())), ""))


def grid(**axes):
    return [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]


def test_a_law_has_as_many_thresholds_as_there_are_curves_in_one_setting():
    found = laws(
        *grid(L=[2, 4, 8], d=[1, 2, 3], width=[10]), *grid(L=[2], d=[4, 5], width=[10]), *grid(L=[2, 4], d=[6], width=[20])
    )
    assert found.counts("L", "d").tolist() == [3] * 9 + [0] * 2 + [1] * 2
    assert set(found.opening("L", "d").frame["width"]) == {10}
    assert found.first_over(["width", "d", "L"], ("L", "P")) == "L"
    assert found.first_over(["width", "d"], ("L", "P")) == "d"
    assert found.first_against("L", ["width", "d"], "d") == "d"


def test_nothing_is_offered_where_no_two_points_differ_in_one_parameter_alone():
    found = laws({"L": 2, "d": 1}, {"L": 4, "d": 2}, {"L": 8, "d": 3})
    assert found.first_over(["L", "d"], ("L", "P")) is None
    assert found.first_against("L", ["d"], "d") is None
    assert found.opening("L", "d").frame.empty
    assert found.counts("L", "P").tolist() == [0, 0, 0]  # no network has it


def test_the_usual_parameter_gives_way_only_to_one_with_enough_thresholds():
    two, three = grid(L=[2, 4], d=[1, 2], P=[8]), grid(L=[2, 4], d=[9], P=[16, 32, 64])
    assert laws(*two, *three[:4]).first_against("L", ["P", "d"], "d") == "d"
    assert laws(*two, *three).first_against("L", ["P", "d"], "d") == "P"


def test_the_degree_of_a_target_is_the_last_to_be_an_axis():
    few = grid(P=[4, 8, 16], degree=[1, 2, 3], d=[8, 16])
    assert laws(*few).first_against("P", ["degree", "d"], "L") == "d"
    assert laws(*few[::2]).first_against("P", ["degree", "d"], "L") == "degree"  # d has one value


def test_lazy_networks_of_all_d_are_one_curve_family_though_their_gamma_differs():
    rows = [{"L": L, "d": d, "gamma": gamma or 1e-5 / d} for L in (2, 4) for d in (1, 2, 3) for gamma in (0, 1.0)]
    found = laws(*rows, gamma=True)
    assert set(found.counts("L", "d")) == {3}
    assert found.first_colour("L", "d", ["gamma_label"]) == "gamma_label"
    # Along gamma, its label tells no curves apart.
    assert set(found.counts("gamma", "d")) == {3}


@pytest.mark.parametrize("absent", [None, pd.NA, float("nan")])
def test_a_colour_is_one_that_the_networks_of_a_law_have(absent):
    kernels = [row | {"gamma": absent, "gamma_label": None} for row in grid(P=[4, 8, 16], d=[1, 2, 3], ridge=[0.1, 1.0])]
    trained = [row | {"P": absent, "ridge": absent} for row in grid(d=[1, 2], gamma=[0.5, 1.0], gamma_label=["some"])]
    found = laws(*kernels, *trained)
    assert found.first_over(["gamma", "d", "P"], ("L", "P")) == "P"
    assert found.first_colour("P", "d", ["gamma_label", "ridge"]) == "ridge"
    assert found.first_colour("P", "d", ["gamma_label"]) is None
    assert len(found.opening("P", "d", "ridge").frame) == len(kernels)
    assert found.opening("P", "d", "gamma_label").frame.empty
