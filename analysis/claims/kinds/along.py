"""Measurements along training: values at evaluations that bounds single out, and the steps at which two things happen."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.claims.kinds.measuring import Found, ties
from analysis.claims.networks_used import Networks, Where, networks
from analysis.claims.verdict import Measured, NotMeasured
from analysis.data.networks.evaluations import Bounds, evaluations_of, first_within, in_words
from sweepkit.declarations.columns import Metric
from sweepkit.stats import by_decades, linear_fit, mean_interval
from sweepkit.store.views import declared


def at_first(
    results: str, measure: str, when: Bounds, of: Where, since: Bounds | None = None, prefer: Where | None = None
) -> Found:
    """Mean of a metric along training at each network's first evaluation within the bounds `when`; if `since` is given, minus its
    value at the first one within those. Networks without such evaluations are left out and counted."""
    found, first = first_evaluations(results, (measure,), {"": when} | ({"since": since} if since else {}), of, prefer)
    if first.empty:
        return NotMeasured(counted(found, first))
    what = declared(results)[measure]
    assert isinstance(what, Metric)
    told, values = f"{what.title} at {_when(first['step'])}, with {in_words(when)}", first[measure]
    bounds = None if since else (what.low, what.high)
    if since:
        values = values - first[f"{measure} since"]
        told += f", minus that at {_when(first['step since'])}, with {in_words(since)}"
    interval = mean_interval(values, bounds=bounds, sd_of_ties=ties(found.frame.assign(value=values.mean()), what))
    return Measured(interval, f"{told}; {counted(found, first)}", found.again)


def steps_ratio(results: str, when: Bounds, before: Bounds, of: Where, prefer: Where | None = None) -> Found:
    """Geometric mean of a ratio of steps: of each network's first evaluation within the bounds `when`, over the first one within
    `before`. Networks that lack one of the two are left out and counted."""
    found, first = first_evaluations(results, (), {"": when, "before": before}, of, prefer)
    if first.empty:
        return NotMeasured(counted(found, first))
    # Both happen somewhere between two evaluations: ratios that are equal are known to no more than that.
    between = np.hypot(first["gap"] / first["step"], first["gap before"] / first["step before"]).mean() / 12**0.5
    logs = np.log(first["step"] / first["step before"])
    mean = mean_interval(logs, sd_of_ties=float(between))
    if np.ptp(logs) <= between * 12**0.5:
        mean = mean._replace(spread="")
    value, low, high = (float(np.exp(end)) for end in mean[:3])
    told = f"ratio of steps, {in_words(when)} at {_when(first['step'])}, {in_words(before)} at {_when(first['step before'])}"
    return Measured(mean._replace(value=value, low=low, high=high), f"{told}; {counted(found, first)}", found.again)


def first_evaluations(
    results: str,
    metrics: tuple[str, ...],
    events: dict[str, Bounds],
    of: Where,
    prefer: Where | None,
    axes: Sequence[str] = (),
) -> tuple[Networks, pd.DataFrame]:
    """The networks, which vary in `axes` only; and for those in which all events happen the first evaluation within the bounds of
    each, and `gap`, the steps since the evaluation before. Columns of an event end in its name."""
    names = dict.fromkeys((*metrics, *(name for bounds in events.values() for name in bounds)))
    evaluations = evaluations_of(results, names)[0]
    # A setting whose networks saved no such curves must not hide one whose networks did.
    found = networks(results, of, None, axes, prefer, among=frozenset(evaluations["cell_id"]))
    # Without networks there may be no column of ids either.
    evaluations = evaluations[evaluations["cell_id"].isin(found.frame.get("cell_id", []))].copy()
    evaluations["gap"] = evaluations.groupby("cell_id")["step"].diff().fillna(evaluations["step"])
    each = [first_within(evaluations, bounds).add_suffix(f" {name}" if name else "") for name, bounds in events.items()]
    return found, pd.concat(each, axis="columns", join="inner")


def counted(found: Networks, first: pd.DataFrame) -> str:
    """The networks in words, with the number of those in which an event does not happen."""
    lost = len(found.frame) - len(first)
    return f"{found.what}, {lost} of them without such evaluations" if lost else found.what


def _when(steps: "pd.Series[int]") -> str:
    return f"step {steps.median():g} (median)"


def curve_exponent(results: str, measure: str, of: Where, first: int, last: int, prefer: Where | None = None) -> Found:
    """Exponent with which a metric along training grows with the step, from step `first` to step `last`: the mean over networks
    of the slope of each one's line on logarithmic axes. A metric that is a mean since the evaluation before, as training losses
    are, wants evaluations that are even on a logarithmic axis, `eval_at: {log: 8}`."""
    evaluations = evaluations_of(results, (measure,))[0]
    found = networks(results, of, None, prefer=prefer, among=frozenset(evaluations["cell_id"]))
    inside = evaluations["step"].between(first, last) & (evaluations[measure] > 0)
    shown = evaluations[inside & evaluations["cell_id"].isin(found.frame.get("cell_id", []))]
    slopes = [slope for _, curve in shown.groupby("cell_id") if (slope := _slope(curve, measure, first, last)) is not None]
    if not slopes:
        return NotMeasured(f"no network has evaluations from step {first} to {last}: {found.what}")
    what = declared(results)[measure]
    assert isinstance(what, Metric)
    told = f"exponent b of {what.title} ~ step^b from step {first} to {last}; {found.what}"
    lost = len(found.frame) - len(slopes)
    return Measured(mean_interval(slopes), told + (f", {lost} of them without such evaluations" if lost else ""), found.again)


def _slope(curve: pd.DataFrame, measure: str, first: int, last: int) -> float | None:
    """The slope of one network; None if its evaluations do not span half of the range."""
    steps = curve["step"].to_numpy(float)
    wanted = by_decades(first, last)
    rows = np.unique(np.abs(np.log(steps[:, None] / wanted)).argmin(axis=0))
    x, y = np.log(steps[rows]), np.log(curve[measure].to_numpy(float)[rows])
    return linear_fit(x, y).slope.value if len(rows) > 2 and np.ptp(x) > np.log(last / first) / 2 else None
