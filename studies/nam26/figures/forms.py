"""The figure of D_LR in closed form, beside what else measures it: theory alone (studies/nam26/theory/laziness.py)."""

from collections.abc import Mapping
from typing import Any, Literal

import altair as alt
import numpy as np
import pandas as pd

from analysis.charts.curves import styled
from analysis.figures.drawn import Drawn, Figure, Missing

from ..theory.laziness import bounds, nc1_of_simplex, of_relu_on_gaussian, of_relu_on_sphere, of_simplex, of_white

Array = np.ndarray[Any, Any]
Scale = Literal["linear", "log"]

CLASSES, DIMENSIONS = 10, 64
"""Classes, and dimensions of features, of which all panels speak."""
OUTPUTS = np.arange(1, DIMENSIONS + 1)
RANDOM, BOUNDED = "Random ReLU features, linear output", "Several outputs, anywhere in the features"
COLLAPSED = f"{CLASSES} collapsed classes with noise"


def _draw(results: str, sweep: str | None) -> Drawn | Missing:
    """Three panels: random ReLU features, collapsed classes, bounds for any outputs: theory alone."""
    random, collapsed, bounded = _random(), _collapsed(), _bounded()
    charts = [
        _panel(random, RANDOM, "input dimension d", "log", "linear"),
        _panel(collapsed, COLLAPSED, "noise sigma of the features", "log", "log"),
        _panel(bounded, BOUNDED, "outputs", "linear", "linear"),
    ]
    caption = (
        "Left: infinitely wide random features are not made for the output, and D_LR is near 1 - 1/sqrt(d). Middle: features lie "
        f"about the corners of a simplex in {DIMENSIONS} dimensions, outputs are one-hot; D_LR and NC1 grow alike with noise, "
        "and D_LR ends at 1. Right: the least and the largest D_LR of outputs of equal size (Ky Fan), for features whose "
        f"variances fall as 1/k along {DIMENSIONS} directions, and its value where these are equal."
    )
    chart = alt.hconcat(*charts, spacing=24).resolve_scale(color="independent", strokeDash="independent")
    frames = {RANDOM: random, COLLAPSED: collapsed, BOUNDED: bounded}
    return Drawn(styled(chart), pd.concat([frame.assign(panel=title) for title, frame in frames.items()]), caption)


def _random() -> pd.DataFrame:
    d = np.unique(np.geomspace(2, 1024, 40).round().astype(int))
    curves = {
        "inputs on a sphere": [of_relu_on_sphere(one).d_lr() for one in d],
        "Gaussian inputs": [of_relu_on_gaussian(one).d_lr() for one in d],
        "1 - 1/sqrt(d)": 1 - 1 / np.sqrt(d),
    }
    return _long(d, curves)


def _collapsed() -> pd.DataFrame:
    sigma = np.geomspace(0.01, 1, 40)
    curves = {
        "D_LR": [of_simplex(CLASSES, DIMENSIONS, one) for one in sigma],
        "neural collapse NC1": [nc1_of_simplex(CLASSES, one) for one in sigma],
    }
    return _long(sigma, curves)


def _bounded() -> pd.DataFrame:
    falling = 1 / OUTPUTS
    least, largest = np.transpose([bounds(falling, np.ones(r)) for r in OUTPUTS])
    return _long(OUTPUTS, {"largest": largest, "least": least, "equal variances": of_white(OUTPUTS, DIMENSIONS)})


def _long(x: Array, curves: Mapping[str, Any]) -> pd.DataFrame:
    return pd.concat([pd.DataFrame({"curve": name, "x": x, "value": values}) for name, values in curves.items()])


def _panel(frame: pd.DataFrame, title: str, x: str, of_x: Scale, of_y: Scale) -> Any:
    names = list(dict.fromkeys(frame["curve"]))
    colour = alt.Color("curve:N", title=None, sort=names, legend=alt.Legend(orient="bottom", columns=1))
    digits = alt.Axis(format="~g")  # the usual two digits write 0.001 and 0.002 alike
    y = alt.Y("value:Q", title="D_LR" if of_y == "linear" else "D_LR, NC1", scale=alt.Scale(type=of_y), axis=digits)
    axis = alt.X("x:Q", title=x, scale=alt.Scale(type=of_x), axis=digits)
    dash = alt.StrokeDash("curve:N", sort=names, legend=None)
    lines = alt.Chart(frame, title=title, width=230, height=220).mark_line()
    return lines.encode(x=axis, y=y, color=colour, strokeDash=dash, tooltip=["curve", "x", "value"])


FORMS = Figure("Forms", "D_LR in closed form, beside its rivals", "[Nam26 Eq. 4, App. E.1]", (), _draw)
