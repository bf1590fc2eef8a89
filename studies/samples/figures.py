"""Figures of samples until a target is found: He_3 in three ways of learning, and targets of several leaps by SGD.

d        input dimension; a target is found once the test error is half of the target's power
SGD      batch x steps until then, geometric means over seeds
lazy     P at which the mean test error of the kernel of the erf network falls to that, and
Gibbs    P at which networks at equilibrium begin to learn, at an alignment of ONSET: thresholds, as in figure Nstar
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import altair as alt
import numpy as np
import pandas as pd

from analysis.charts.along import cells_of
from analysis.charts.curves import log_axis, styled
from analysis.data.measures import knows
from analysis.data.networks.evaluations import evaluations_of
from analysis.data.points import one_setting, points, seeds
from analysis.data.selection import Selection, Value, grid_keys
from analysis.figures.cases import found
from analysis.figures.drawn import Drawn, Figure, Missing
from analysis.scaling.proportion import in_proportion
from analysis.scaling.thresholds import exponent, thresholds
from analysis.studies.along import Case
from sweepkit.console.words import counted
from sweepkit.stats import Interval
from sweepkit.store.searches import Question

from ..rubin25.bound import ONSET, predicted_samples
from ..rubin25.figures.alignment import SCALING, measured
from ..rubin25.theory.large_deviation import as_scaling
from .growth import SAMPLES, growth, samples_until, spanning_slopes
from .theory import FOUND, flow_time, lazy_samples, leap_of
from .theory import exponent as exponent_of_leap

SERIES, SIZE, CURVE = "series", "d", "eval_test_mse"
_ZIPPED = ("base_lr", "steps", "eval_every")
_WIDEST = 256
"""The largest d that lines of theory reach to."""


class Series(NamedTuple):
    """Measured samples by d, the local slopes between them, the exponent, and a line of theory."""

    name: str
    points: pd.DataFrame
    exponent: Interval | None
    theory: pd.DataFrame
    """Columns d and mean; empty without a theory."""
    told: str
    sql: str


Law = Callable[[pd.DataFrame], pd.DataFrame]
"""A line of theory, columns d and mean, beside networks (one row each with `samples`)."""


def _flow(networks: pd.DataFrame) -> pd.DataFrame:
    """Network `sphere` by its flow. The rate is a power of d, of which rounded values are in the grid."""
    first = networks.iloc[0]
    k = int(first["degree"])
    power = max(1.0, k / 2)
    per_sample = float((networks["base_lr"] / networks["batch"] * networks[SIZE] ** power).median())
    sizes = _sizes(networks)
    return pd.DataFrame({SIZE: sizes, "mean": [flow_time(k, int(d)) * d**power / per_sample for d in sizes]})


def _of_leap(leap: int) -> Law:
    def shape(d: Any) -> Any:
        return d ** exponent_of_leap(leap) * (np.log(d) if leap == 2 else 1.0)

    def line(networks: pd.DataFrame) -> pd.DataFrame:
        """The power of the leap through the measured means: no theory gives its height."""
        reached = networks[np.isfinite(networks[SAMPLES])]
        height = np.exp(np.log(reached[SAMPLES] / shape(reached[SIZE].astype(float))).mean())
        sizes = _sizes(networks)
        return pd.DataFrame({SIZE: sizes, "mean": height * shape(sizes)})

    return line


def _sizes(frame: pd.DataFrame, last: float | None = None) -> Any:
    least, most = float(frame[SIZE].min()), float(frame[SIZE].max())
    return np.unique(np.geomspace(least, last or most, 13).round())


def _staircase(degree: int, leap: int) -> tuple[Case, Law]:
    terms = [range(1, j + 1) for j in range(leap, degree + 1)]
    title = " + ".join("".join(f"x{i}" for i in term) for term in terms)
    where: dict[str, Value] = {"task": "staircase", "degree": degree, "leap": leap, "network": "mlp"}
    return Case(title, where, (SIZE, *_ZIPPED)), _of_leap(leap_of(terms))


def _sphere(degree: int, title: str, **more: int) -> tuple[Case, Law]:
    return Case(title, {"task": "hermite", "network": "sphere", "degree": degree, **more}, (SIZE, *_ZIPPED)), _flow


_QUICK, _HE3 = _sphere(3, "He_3, four times the rate", batch=16), _sphere(3, "He_3", batch=64)
SPHERES = (_sphere(1, "He_1"), _sphere(2, "He_2"), _HE3, _QUICK, _sphere(4, "He_4"))
_RELU = Case("He_3", {"task": "hermite", "degree": 3, "network": "mlp", "bias_scale": 1.0}, (SIZE, *_ZIPPED)), _of_leap(3)
STAIRCASES = (_staircase(3, 1), _staircase(3, 2), _staircase(2, 2), _staircase(3, 3), _RELU)


def _by_sgd(results: str, sweep: str | None, cases: Iterable[tuple[Case, Law]]) -> Iterable[Series]:
    for case, law in cases:
        for one in found(results, sweep, [case], "test_mse"):
            networks = seeds(results, one.selection, "test_mse", grid_keys(results))
            evaluations, sql = evaluations_of(results, (CURVE,), cells_of(one.selection))
            seen = samples_until(networks, evaluations, {CURVE: {"at_most": FOUND}})
            grown = growth(seen, SIZE)
            late = "".join(f", {row.late} of {row.n} late at d = {row.d:g}" for row in grown.late.itertuples())
            if len(grown.means):
                told = f"{one.told}, {counted(len(seen), 'network')}{late}"
                yield Series(case.title, grown.means, grown.exponent, law(seen), told, sql)


def leaps(results: str, sweep: str | None) -> Drawn | Missing:
    """Samples by SGD for polynomials of several degrees, and for sums of products of bits of several leaps."""
    columns = [[*_by_sgd(results, sweep, cases)] for cases in (SPHERES, STAIRCASES)]
    titles = ("neurons on the sphere, Gaussian inputs", "ReLU networks with random biases: bits, and He_3")
    shown = [(title, series) for title, series in zip(titles, columns, strict=True) if series]
    if not shown:
        return Missing("no networks of task hermite on network sphere, nor of task staircase, at two d and rates")
    chart = alt.hconcat(*(_panels(series, title) for title, series in shown), spacing=30).resolve_scale(color="independent")
    dashed = (
        "Dashed: on the left the flow, nothing fitted; on the right d^max(leap - 1, 1), d log d for a leap of 2, through the mean"
    )
    return _drawn(chart, [one for _, series in shown for one in series], dashed)


def three_ways(results: str, sweep: str | None) -> Drawn | Missing:
    """Samples of the one target He_3 by SGD, at equilibrium and by the kernel, over d."""
    sphere, relu = (_HE3[0]._replace(title="SGD, neurons on the sphere"), _RELU[0]._replace(title="SGD, ReLU network"))
    series = [
        *_by_sgd(results, sweep, [(sphere, lambda seen: _flow(_wide(seen))), (relu, _of_leap(3))]),
        *_at_equilibrium(results, sweep),
        *_lazy(results, sweep),
    ]
    if not series:
        return Missing("no networks of task hermite of degree 3 by SGD or ridge, nor of he3 at equilibrium, at two d")
    dashed = (
        "Dashed: the flow, the large-deviation bound and the kernel's learning curve, nothing fitted; for the ReLU network d^2"
    )
    return _drawn(_panels(series, "He_3"), series, dashed)


def _wide(networks: pd.DataFrame) -> pd.DataFrame:
    """The networks, and one of the widest d, for lines that go on beyond what is measured."""
    last = networks.iloc[[-1]].copy()
    last["base_lr"] *= (_WIDEST / last[SIZE]) ** -1.5
    last[SIZE] = _WIDEST
    return pd.concat([networks, last], ignore_index=True)


def _at_equilibrium(results: str, sweep: str | None) -> Iterable[Series]:
    of = measured(results, sweep)
    if isinstance(of, Missing):
        return
    whole, sql = of
    frame = in_proportion(whole.frame)
    frame = frame[(frame["P"] > 0) & (frame[SCALING] == "standard") & (frame["width"] == frame[SIZE])]
    if frame[SIZE].nunique() < 2:
        return
    reached = thresholds(frame, ONSET, "P")
    reached = reached[[t.is_reached for t in reached["threshold"]]].reset_index(drop=True)
    if len(reached) < 2:
        return
    sizes = _sizes(reached, _WIDEST)
    asked = pd.DataFrame({SIZE: sizes, "width": sizes, "kappa": float(reached["kappa"].iloc[0])})
    theory = pd.DataFrame({SIZE: sizes, "mean": predicted_samples(asked, as_scaling("standard"), ONSET).to_numpy()})
    yield _series("equilibrium, erf network, N = d", reached, theory, f"A_f = {ONSET:g}", frame, sql)


def _lazy(results: str, sweep: str | None) -> Iterable[Series]:
    selection = Selection(sweep).only({"task": "hermite", "degree": 3, "network": "erf_kernel"})
    if not knows(results, "test_mse", [key for key, _ in selection.where]):
        return
    of = points(results, selection, "test_mse")
    if of.frame.empty:
        return
    whole = one_setting(of.frame, of.keys, (SIZE, "P"), {}, of.declared)
    reached = thresholds(whole.frame, FOUND, "P", falling=True, declared=of.declared)
    reached = reached[[t.is_reached for t in reached["threshold"]]].reset_index(drop=True)
    if len(reached) < 2:
        return
    sizes, ridge = _sizes(reached, _WIDEST), float(reached["ridge"].iloc[0])
    theory = pd.DataFrame({SIZE: sizes, "mean": [lazy_samples(int(d), ridge) for d in sizes]})
    yield _series("lazy, kernel of the erf network", reached, theory, f"ridge = {ridge:g}", whole.frame, of.sql)


def _series(name: str, reached: pd.DataFrame, theory: pd.DataFrame, told: str, networks: pd.DataFrame, sql: str) -> Series:
    """Thresholds as a series; ends of intervals beyond the range are left open."""
    found_at = reached["threshold"]
    ends = {"mean": [t.value for t in found_at], "low": [t.low for t in found_at], "high": [t.high for t in found_at]}
    frame = pd.DataFrame({SIZE: reached[SIZE].astype(float), **ends, "n": [t.n_seeds for t in found_at]}).sort_values(SIZE)
    frame = frame.replace([np.inf, -np.inf], np.nan)
    fit = exponent(reached, SIZE)
    words = f"{name}: {told}, {counted(int(networks['n'].sum()), 'network')}"
    return Series(name, frame, fit.interval if fit else None, theory, words, sql)


def _drawn(chart: Any, series: list[Series], dashed: str) -> Drawn:
    said = []
    for one in series:
        law = f"; ~ d^{one.exponent.value:.2f} ({one.exponent.low:.2f} to {one.exponent.high:.2f})" if one.exponent else ""
        said.append(f"{one.told}{law}")
    frame = pd.concat([one.points.assign(**{SERIES: one.name}) for one in series], ignore_index=True)
    caption = (
        f"{'. '.join(said)}. {dashed}. Lower panel: exponents between each d and the one about twice as large. "
        f"Found: {FOUND:g} of the test error of the output 0; at another level the exponents differ. Means with 95% intervals."
    )
    return Drawn(
        styled(chart), frame[[SERIES, SIZE, "mean", "low", "high", "n"]], caption, ";\n\n".join(one.sql for one in series)
    )


def _panels(series: list[Series], title: str) -> Any:
    """Samples over d, and below the local slopes of the same series and of theory."""
    names = [one.name for one in series]
    measured_ones, theory, slopes, of_theory = (
        pd.concat([frame.assign(**{SERIES: one.name}) for one, frame in zip(series, frames, strict=True)], ignore_index=True)
        for frames in (
            [one.points for one in series],
            [one.theory for one in series],
            [spanning_slopes(one.points, SIZE) for one in series],
            [spanning_slopes(one.theory.assign(low=np.nan, high=np.nan), SIZE) for one in series],
        )
    )
    sizes = pd.concat([measured_ones[SIZE], theory[SIZE]])
    scale = alt.Scale(type="log", domain=[0.9 * sizes.min(), 1.1 * sizes.max()], nice=False)
    x = alt.X(f"{SIZE}:Q", title="input dimension d", scale=scale,
              axis=log_axis(sizes, at_values=False))  # fmt: skip
    colour = alt.Color(f"{SERIES}:N", title=None, sort=names, legend=alt.Legend(labelLimit=260))
    y = alt.Y("mean:Q", title="samples until found", scale=alt.Scale(type="log", nice=False),
              axis=log_axis(measured_ones["mean"], at_values=False))  # fmt: skip
    above = _layers(measured_ones, theory, x, y, colour).properties(width=400, height=300, title=title)
    y = alt.Y("mean:Q", title="exponent in d", scale=alt.Scale(domain=[0, 4], clamp=True))
    below = _layers(slopes, of_theory, x, y, colour).properties(width=400, height=180)
    return alt.vconcat(above, below, spacing=12)


def _layers(points_: pd.DataFrame, theory: pd.DataFrame, x: Any, y: Any, colour: Any) -> Any:
    base = alt.Chart(points_).encode(x=x, color=colour)
    tooltip = [SERIES, SIZE, alt.Tooltip("mean:Q", format=".3g"), *(["n"] if "n" in points_ else [])]
    bars = base.mark_rule().encode(y=alt.Y("low:Q"), y2="high:Q").transform_filter("isValid(datum.low) && isValid(datum.high)")
    dots = base.mark_point(filled=True, size=45).encode(y=y, tooltip=tooltip)
    dashed = alt.Chart(theory).mark_line(strokeDash=[5, 3]).encode(x=x, y=y, color=colour)
    return alt.layer(dashed, bars, dots)


_GRIDS = ("samples", "samples_quick")

SAMPLE_FIGURES = [
    Figure("Samples", "Samples until He_3 is found: by SGD, at equilibrium, and by the lazy network's kernel",
           "[BenArous21], [Rubin25]", (*_GRIDS, "nstar_he3_quick"), three_ways,
           thresholds=(Question("P", "test_mse", FOUND, falling=True), Question("P", "alignment_f", ONSET))),
    Figure("Leaps", "Samples that SGD takes until it finds targets of one to four degrees, staircases and parities",
           "[BenArous21], [Abbe23]", _GRIDS, leaps),
]  # fmt: skip
