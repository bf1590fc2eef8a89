"""The figure of power laws: errors of linear networks against time, features, examples and compute, and local exponents."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import altair as alt
import numpy as np
import pandas as pd

from analysis.charts.along import groups_along
from analysis.charts.curves import log_axis, styled
from analysis.data.points import with_intervals
from analysis.data.selection import Value
from analysis.figures.cases import CASE, Found, found
from analysis.figures.drawn import Drawn, Figure, Missing
from analysis.studies.along import Case
from sweepkit.console.words import counted
from sweepkit.declarations.metrics import METRICS
from sweepkit.stats import by_decades, power_law
from sweepkit.stats.checks import Floats

from . import theory
from .envelope import COMPUTE, envelope
from .envelope import SIZE as BEST

CURVE, MEASURE = METRICS["eval_test_mse"], "test_mse"
PANEL, SIZE, ERROR, SERIES, EXPONENT = "panel", "size", "mean", "series", "exponent"
HALF = 2.3
"""A local exponent is that of the points within this factor: of the neighbours where sizes double."""
FIRST_STEP = 5
"""Earlier steps are no flow."""


class Panel(NamedTuple):
    """One of the four laws: which networks it shows, and how their points and the theory's are made."""

    title: str
    axis: str
    where: Mapping[str, Value]
    axes: tuple[str, ...]
    measured: "Callable[[str, Found], pd.DataFrame]"
    """Points SIZE, ERROR, low, high, n, SERIES."""
    theory: "Callable[[Found, pd.DataFrame], pd.DataFrame]"
    """SIZE, ERROR, SERIES at the sizes of the points, or more."""


def _spectrum(one: Found) -> theory.Spectrum:
    return theory.Spectrum.of(int(_number(one, "d")), _number(one, "capacity"), _number(one, "difficulty"))


def _number(one: Found, key: str) -> float:
    return float(one.setting.values[key] or 0)


def _along(results: str, one: Found, key: str) -> pd.DataFrame:
    """Test errors at each evaluation by the values of a key."""
    means = with_intervals(groups_along(results, one.selection, CURVE, [key])[0], CURVE)
    return means[means["step"] >= FIRST_STEP]


def _in_time(results: str, one: Found) -> pd.DataFrame:
    means = _along(results, one, "gamma")
    means[SIZE] = 2 * _number(one, "base_lr") * means["step"]
    means[SERIES] = [f"{one.case.title}, {'rich' if gamma >= 1 else 'lazy'}" for gamma in means["gamma"]]
    return means


def _of_time(one: Found, points: pd.DataFrame) -> pd.DataFrame:
    law = points[[SIZE, SERIES]].copy()
    for gamma, of in points.groupby("gamma")[SIZE]:
        law.loc[of.index, ERROR] = theory.rich(of.to_numpy(float), _spectrum(one), float(str(gamma)))
    return law


def _in_size(results: str, one: Found) -> pd.DataFrame:
    (key,) = one.case.axes
    points = one.setting.frame.copy()
    points[SIZE], points[SERIES] = points[key].astype(float), one.case.title
    return points


def _of_features(one: Found, points: pd.DataFrame) -> pd.DataFrame:
    examples, of = int(_number(one, "P")), _spectrum(one)
    return _at(points, lambda n: theory.features_fitted(int(n), examples, of))


def _of_examples(one: Found, points: pd.DataFrame) -> pd.DataFrame:
    of = _spectrum(one)
    return _at(points, lambda p: theory.examples_alone(p, of))


def _at(points: pd.DataFrame, law: Callable[[float], float]) -> pd.DataFrame:
    """The law at the sizes that it speaks of."""
    rows = []
    for size, series in zip(points[SIZE], points[SERIES], strict=True):
        with suppress(ValueError):  # as many features or examples as dimensions, or more
            rows.append((size, series, law(float(size))))
    return pd.DataFrame(rows, columns=[SIZE, SERIES, ERROR])


def _in_compute(results: str, one: Found) -> pd.DataFrame:
    means = _along(results, one, "width")
    least = _least(means, _computes(means), one).dropna(
        subset=BEST
    )  # where the first or last width is best, others may be better
    least["low"], least["high"], least["n"] = np.nan, np.nan, int(means["n"].max())
    return least


def _of_compute(one: Found, points: pd.DataFrame) -> pd.DataFrame:
    widths = np.sort(one.setting.frame["width"].unique()).astype(int)
    steps = np.geomspace(FIRST_STEP, _number(one, "steps"), 40)
    t, of = 2 * _number(one, "base_lr") * steps, _spectrum(one)
    curves = pd.concat([pd.DataFrame({"width": n, "step": steps, ERROR: theory.features(t, int(n), of)}) for n in widths])
    return _least(curves, points[SIZE].to_numpy(float), one)


def _least(curves: pd.DataFrame, compute: Floats, one: Found) -> pd.DataFrame:
    least = envelope(curves, "width", ERROR, compute).rename(columns={COMPUTE: SIZE})
    least[SERIES] = one.case.title
    return least


def _computes(curves: pd.DataFrame) -> Floats:
    """Points from the first steps of the least width to the last ones of the largest."""
    first, last = float(curves["width"].min() * curves["step"].min()), float(curves["width"].max() * curves["step"].max())
    return by_decades(first, last)


_TASK: Mapping[str, Value] = {"task": "power_law"}
_FEATURES: Mapping[str, Value] = {**_TASK, "network": "mlp", "trained": "last"}
_LAST: Mapping[str, Value] = {**_TASK, "training": "ridge"}
PANELS = (
    Panel("time", "t = 2 x rate x steps", {**_TASK, "network": "mlp", "trained": "all"}, ("gamma",), _in_time, _of_time),
    Panel("features", "N, random features", {**_LAST, "network": "random_features"}, ("width",), _in_size, _of_features),
    Panel("examples", "P, training examples", {**_LAST, "network": "linear1"}, ("P",), _in_size, _of_examples),
    Panel("compute", "C = N x steps", _FEATURES, ("width",), _in_compute, _of_compute),
)
DIFFICULTIES = (0.5, 1.5)


def _draw(results: str, sweep: str | None) -> Drawn | Missing:
    drawn = list(_panels(results, sweep))
    if not drawn:
        return Missing("no networks of task power_law at two sizes of one kind")
    frames, solved, said, n = [], [], [], 0
    for panel, one in drawn:
        points = panel.measured(results, one)
        law = panel.theory(one, points)
        frames.append(_with_exponents(points).assign(**{PANEL: panel.title, CASE: one.told}))
        solved.append(_with_exponents(law).assign(**{PANEL: panel.title}))
        n += int(one.setting.frame["n"].sum())
        said += [f"{panel.title}, {series}: {_exponent(of):.2f} ({_exponent(law[law[SERIES] == series]):.2f})"
                 for series, of in points.groupby(SERIES, sort=False)]  # fmt: skip
    frame, laws = pd.concat(frames, ignore_index=True), pd.concat(solved, ignore_index=True)
    frame = frame[[PANEL, SERIES, SIZE, ERROR, "low", "high", "n", EXPONENT, CASE]]
    caption = (
        f"Exponents over all sizes shown, those of the theory in brackets: {'; '.join(said)}. Dashed: theory of the same d, not "
        f"fitted; below: local exponents, of points within a factor {HALF:g}. Means with 95% intervals; {counted(n, 'network')}."
    )
    return Drawn(_chart(frame, laws), frame, caption, ";\n\n".join(one.sql for _, one in drawn))


def _panels(results: str, sweep: str | None) -> Iterator[tuple[Panel, Found]]:
    for panel in PANELS:
        cases = [Case(f"difficulty {beta:g}", {**panel.where, "difficulty": beta}, panel.axes) for beta in DIFFICULTIES]
        for one in found(results, sweep, cases, MEASURE):
            yield panel, one


def _exponent(of: pd.DataFrame) -> float:
    """The exponent over these points; NaN for fewer than two."""
    if len(of) < 2:
        return float("nan")
    return power_law(of[SIZE], of[ERROR]).exponent.value


def _with_exponents(frame: pd.DataFrame) -> pd.DataFrame:
    """The points with the exponent of those near each; NaN where only one is."""
    parts = []
    for _, of in frame.groupby(SERIES, sort=False):
        near = [of[of[SIZE].between(size / HALF, size * HALF)] for size in of[SIZE]]
        parts.append(of.assign(**{EXPONENT: [_exponent(part) for part in near]}))
    return pd.concat(parts, ignore_index=True) if parts else frame.assign(**{EXPONENT: np.nan})


def _chart(frame: pd.DataFrame, laws: pd.DataFrame) -> Any:
    order = list(dict.fromkeys(frame[SERIES]))
    colour = alt.Color(f"{SERIES}:N", title=None, sort=order, legend=alt.Legend(labelLimit=260, orient="bottom", columns=3))
    rows: tuple[list[Any], list[Any]] = ([], [])
    for panel in PANELS:
        points, law = frame[frame[PANEL] == panel.title], laws[laws[PANEL] == panel.title]
        if points.empty:
            continue
        scale = alt.Scale(type="log", nice=False, padding=6)
        x = alt.X(f"{SIZE}:Q", title=panel.axis, scale=scale, axis=log_axis(points[SIZE], at_values=False))
        y = alt.Y(f"{ERROR}:Q", title="test error", scale=alt.Scale(type="log", nice=False), axis=log_axis(points[ERROR]))
        slope = alt.Y(f"{EXPONENT}:Q", title="local exponent", scale=alt.Scale(zero=False))
        lines = alt.Chart(law).mark_line(strokeDash=[5, 3]).encode(x=x, color=colour)
        tooltip: list[Any] = [
            SERIES,
            SIZE,
            alt.Tooltip(f"{ERROR}:Q", format=".3g"),
            alt.Tooltip(f"{EXPONENT}:Q", format=".2f"),
            "n",
        ]
        base = alt.Chart(points).encode(x=x, color=colour, tooltip=tooltip)
        bars = base.mark_rule().encode(y=alt.Y("low:Q"), y2="high:Q").transform_filter("datum.low > 0")
        above = alt.layer(lines.encode(y=y), bars, base.mark_point(size=14).encode(y=y))
        below = alt.layer(lines.encode(y=slope), base.mark_point(size=14).encode(y=slope))
        rows[0].append(above.properties(width=230, height=220, title=f"against {panel.title}"))
        rows[1].append(below.properties(width=230, height=130))
    return styled(alt.vconcat(alt.hconcat(*rows[0], spacing=20), alt.hconcat(*rows[1], spacing=20), spacing=15))


POWER_LAWS = Figure(
    "PowerLaws", "Power laws: errors of linear networks against time, features, examples and compute, hard and easy",
    "[Bordelon24b], [Bordelon25]", ("power_law", "power_law_quick"), _draw,
)  # fmt: skip
