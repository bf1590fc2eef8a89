"""The figure of grokking as the way from lazy to rich: errors along training, and the delay of the test error. [Kumar23]"""

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from analysis.charts.along import cells_of, groups_along
from analysis.charts.curves import log_axis, styled
from analysis.data.networks.evaluations import Bounds, evaluations_of, first_within
from analysis.data.points import seeds, with_intervals
from analysis.data.selection import Value, grid_keys
from analysis.figures.cases import CASE, Found, found
from analysis.figures.drawn import Drawn, Figure, Missing
from analysis.studies.along import Case
from analysis.theory.cache import kept
from sweepkit.console.words import counted
from sweepkit.declarations.columns import Metric
from sweepkit.stats import local_slopes, mean_interval, power_law
from sweepkit.store.views import declared

from .theory import delay, drawn

LEVEL = 0.1
"""Errors that count as learnt; those of a network that answers 0 are 0.75."""
DRAWS = 8
"""Training sets that the theory's delay is a geometric mean of."""
SERIES = {
    "train_loss": "training error",
    "eval_test_mse": "test error",
    "curve_error_linear": "of it, linear part",
    "curve_error_quadratic": "of it, quadratic part",
    "curve_error_constant": "of it, constant",
}
_SQUARE: Mapping[str, Value] = {"task": "square", "network": "committee", "training": "gd"}
_LEARNT: Bounds = {"train_loss": {"at_most": LEVEL}}
_GENERAL: Bounds = {"eval_test_mse": {"at_most": LEVEL}}
LAZINESS, ALIGNMENT, SAMPLES = "laziness 1/gamma", "alignment e", "P/d^2"
CASES = (
    Case("committee, over laziness", {**_SQUARE, "curvature": 0.25}, ("gamma",)),
    Case("committee, over alignment", {**_SQUARE, "gamma": 1.0}, ("curvature",)),
    Case("committee, over examples", {**_SQUARE, "gamma": 1.0, "curvature": 0.25}, ("P", "steps")),
)
MODULAR = Case("x + y mod p, with decay", {"task": "modular", "training": "adamw"}, ("gamma",))


def _draw(results: str, sweep: str | None) -> Drawn | Missing:
    known = declared(results)
    of = [*found(results, sweep, CASES, "test_mse")] if {*SERIES} <= {*known} else []
    if not of or of[0].case is not CASES[0]:
        return Missing("no networks of task square at two gamma and curvature 0.25 whose grid saves error_terms")
    along = _along(results, of[0])
    said, delays = [], []
    for one in of:
        rows = _delays(results, one, _GENERAL, _LEARNT)
        if len(rows):
            delays.append(_means(one.case.title, rows).merge(_theory(one), how="left", on="x"))
            said.append(f"{one.case.title}: {_told_exponent(rows)}")
    of_modular = [*found(results, sweep, [MODULAR], "final_test_acc")]
    for one in of_modular:
        rows = _delays(results, one, {"test_acc": {"at_least": 0.95}}, {"train_acc": {"at_least": 0.99}})
        if len(rows):
            delays.append(_means(one.case.title, rows).assign(theory=np.nan))
            said.append(f"{one.case.title}: {_told_exponent(rows)}")
    frame = pd.concat([along, *delays], ignore_index=True)
    networks = counted(sum(int(one.setting.frame["n"].sum()) for one in [*of, *of_modular]), "network")
    caption = (
        f"{of[0].told}; {networks}. Delay: the first step with a test error of at most {LEVEL:g} over that of the training error "
        f"(modular: accuracies 0.95 and 0.99); geometric means with 95% intervals; dashed: infinitely many neurons on "
        f"{DRAWS} other training sets. Exponents of the delay: {'; '.join(said)}."
    )
    chart = alt.vconcat(_curves(along), *([_panels(pd.concat(delays, ignore_index=True))] if delays else []), spacing=25)
    return Drawn(styled(chart.resolve_scale(color="independent")), frame, caption, ";\n\n".join(one.sql for one in of))


def _along(results: str, one: Found) -> pd.DataFrame:
    """Means along training at the least, a middle and the greatest laziness."""
    gammas = np.sort(one.setting.frame["gamma"].unique())[::-1]
    shown = gammas[np.unique([0, len(gammas) // 2, len(gammas) - 1])]
    selection, parts = one.selection.only({"gamma": [float(gamma) for gamma in shown]}), []
    for name, title in SERIES.items():
        metric = declared(results)[name]
        assert isinstance(metric, Metric)
        means = with_intervals(groups_along(results, selection, metric, ["gamma"])[0], metric)
        parts.append(means.assign(**{CASE: [f"laziness {1 / gamma:g}" for gamma in means["gamma"]], "series": title}))
    return pd.concat(parts, ignore_index=True)[[CASE, "series", "gamma", "step", "mean", "low", "high", "n"]]


def _delays(results: str, one: Found, when: Bounds, before: Bounds) -> pd.DataFrame:
    """The delay of each network that reaches both, with its abscissa x, and the keys of the case."""
    measure = "test_mse" if one.case is not MODULAR else "final_test_acc"
    networks = seeds(results, one.selection, measure, grid_keys(results)).set_index("cell_id")
    evaluations, _ = evaluations_of(results, [*when, *before], cells_of(one.selection))
    late, early = (first_within(evaluations, bounds)["step"] for bounds in (when, before))
    rows = networks.assign(delay=late / early).dropna(subset="delay")
    return rows.assign(x=_abscissa(rows, one.case.axes[0]))


def _abscissa(frame: pd.DataFrame, axis: str) -> Any:
    return 1 / frame[axis] if axis == "gamma" else frame["P"] / frame["d"] ** 2 if axis == "P" else frame[axis]


def _means(case: str, rows: pd.DataFrame) -> pd.DataFrame:
    found_rows = []
    for x, delays in rows.groupby("x")["delay"]:
        interval = mean_interval(np.log(delays))
        mean, low, high = (float(np.exp(end)) for end in interval[:3])
        found_rows.append({CASE: case, "x": x, "mean": mean, "low": low, "high": high, "n": interval.n})
    return pd.DataFrame(found_rows)


def _told_exponent(rows: pd.DataFrame) -> str:
    """The mean over seeds of each one's slope, and local slopes between neighbours."""
    slopes = [power_law(of["x"], of["delay"]).exponent.value for _, of in rows.groupby("seed") if of["x"].nunique() > 1]
    if not slopes:
        return "none, as no seed has two delays"
    means = np.exp(np.log(rows["delay"]).groupby(rows["x"]).mean())
    _, local = local_slopes(means.index, means)
    mean = mean_interval(slopes)
    return f"{mean.value:.2f} ({mean.low:.2f} to {mean.high:.2f}; between neighbours {', '.join(f'{b:.2f}' for b in local)})"


def _theory(one: Found) -> pd.DataFrame:
    """Geometric means of the delay of infinitely many neurons, NaN where a draw does not reach the level."""
    points = one.setting.frame.assign(**one.setting.values)
    rows = []
    for point in points.assign(x=_abscissa(points, one.case.axes[0])).to_dict("records"):
        where = [point[key] for key in ("d", "P", "gamma", "curvature", "base_lr", "steps")]
        rows.append({"x": point["x"], "theory": kept(mean_delay, *map(float, where))})
    return pd.DataFrame(rows)


def mean_delay(d: float, n: float, gamma: float, e: float, rate: float, steps: float) -> float:
    """Geometric mean of the delay over DRAWS training sets of n examples."""
    at = np.unique(np.geomspace(1, steps, 1 + round(24 * np.log10(steps))).round().astype(int)).tolist()
    courses = [drawn(int(d), int(n), 1 / gamma, e, rate, at, seed, LEVEL) for seed in range(DRAWS)]
    return float(np.exp(np.mean([np.log(delay(of, LEVEL)) for of in courses])))


def _curves(frame: pd.DataFrame) -> Any:
    lowest = 1e-4
    shown = frame.assign(**{name: frame[name].clip(lower=lowest) for name in ("mean", "low", "high")})
    panels = []
    for case, part in shown.groupby(CASE, sort=False):
        base = alt.Chart(part).encode(
            x=alt.X("step:Q", title="training step", scale=alt.Scale(type="log", nice=False), axis=log_axis(part["step"])),
            color=alt.Color("series:N", title=None, sort=[*SERIES.values()], legend=alt.Legend(labelLimit=260)),
        )
        y = alt.Y("mean:Q", title="squared error", scale=alt.Scale(type="log", nice=False), axis=log_axis(shown["mean"]))
        band = base.mark_area(opacity=0.15, strokeWidth=0).encode(y=alt.Y("low:Q", title="squared error"), y2="high:Q")
        line = base.mark_line().encode(y=y, tooltip=["series", "step", alt.Tooltip("mean:Q", format=".3g"), "n"])
        panels.append(alt.layer(band, line).properties(width=250, height=220, title=str(case)))
    return alt.hconcat(*panels, spacing=20).resolve_scale(color="shared", y="shared")


def _panels(frame: pd.DataFrame) -> Any:
    titles = {CASES[0].title: LAZINESS, MODULAR.title: LAZINESS, CASES[1].title: ALIGNMENT, CASES[2].title: SAMPLES}
    panels = []
    for case, part in frame.groupby(CASE, sort=False):
        scale, y = alt.Scale(type="log", nice=False, padding=10), alt.Scale(type="log", nice=False, padding=8)
        base = alt.Chart(part).encode(x=alt.X("x:Q", title=titles[str(case)], scale=scale, axis=log_axis(part["x"])))
        bars = base.mark_rule().encode(y=alt.Y("low:Q", title="delay", scale=y), y2="high:Q")
        line = base.mark_line(point=True).encode(
            y=alt.Y("mean:Q", title="delay", scale=y, axis=log_axis(part["mean"], at_values=False)),
            tooltip=["x", alt.Tooltip("mean:Q", format=".3g"), "n"],
        )
        layers = [bars, line]
        if part["theory"].notna().any():
            dashed = part.dropna(subset="theory")
            layers.append(
                alt.Chart(dashed).mark_line(strokeDash=[5, 3], color="black").encode(x="x:Q", y=alt.Y("theory:Q", scale=y))
            )
        panels.append(alt.layer(*layers).properties(width=250, height=200, title=str(case)))
    return alt.concat(*panels, columns=4, spacing=20)


LAZY_TO_RICH = Figure(
    "LazyToRich", "Grokking from lazy to rich: the test error falls the later, the lazier a network is", "[Kumar23]",
    ("lazy_to_rich_quick", "lazy_to_rich"), _draw,
)  # fmt: skip
