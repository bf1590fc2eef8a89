"""Measurements along training: values at evaluations that bounds single out, and the steps at which two things happen."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from analysis.claims.kinds.measuring import Found, slope_of, ties
from analysis.claims.networks_used import Networks, Where, networks
from analysis.claims.verdict import Measured, NotMeasured
from analysis.data.keys import spoken
from analysis.data.networks.evaluations import Bounds, evaluations_of, first_within, in_words
from analysis.scaling.laws.envelope import COMPUTE, SIZE, envelope
from analysis.scaling.laws.samples import SAMPLES, growth, samples_until
from sweepkit.declarations.columns import Metric
from sweepkit.stats import FEWEST_OF_LAW, by_decades, linear_fit, mean_interval, power_law
from sweepkit.store.views import declared


def at_first(
    results: str, measure: str, when: Bounds, of: Where, since: Bounds | None = None, prefer: Where | None = None
) -> Found:
    """Mean of a metric along training at each network's first evaluation within the bounds `when`; if `since` is given, minus its
    value at the first one within those. Networks without such evaluations are left out and counted."""
    found, first = _first(results, (measure,), {"": when} | ({"since": since} if since else {}), of, prefer)
    if first.empty:
        return NotMeasured(_counted(found, first))
    what = declared(results)[measure]
    assert isinstance(what, Metric)
    told, values = f"{what.title} at {_when(first['step'])}, with {in_words(when)}", first[measure]
    bounds = None if since else (what.low, what.high)
    if since:
        values = values - first[f"{measure} since"]
        told += f", minus that at {_when(first['step since'])}, with {in_words(since)}"
    interval = mean_interval(values, bounds=bounds, sd_of_ties=ties(found.frame.assign(value=values.mean()), what))
    return Measured(interval, f"{told}; {_counted(found, first)}", found.again)


def steps_ratio(results: str, when: Bounds, before: Bounds, of: Where, prefer: Where | None = None) -> Found:
    """Geometric mean of a ratio of steps: of each network's first evaluation within the bounds `when`, over the first one within
    `before`. Networks that lack one of the two are left out and counted."""
    found, first = _first(results, (), {"": when, "before": before}, of, prefer)
    if first.empty:
        return NotMeasured(_counted(found, first))
    # Both happen somewhere between two evaluations: ratios that are equal are known to no more than that.
    between = np.hypot(first["gap"] / first["step"], first["gap before"] / first["step before"]).mean() / 12**0.5
    mean = mean_interval(np.log(first["step"] / first["step before"]), sd_of_ties=float(between))
    value, low, high = (float(np.exp(end)) for end in mean[:3])
    told = f"ratio of steps, {in_words(when)} at {_when(first['step'])}, {in_words(before)} at {_when(first['step before'])}"
    return Measured(mean._replace(value=value, low=low, high=high), f"{told}; {_counted(found, first)}", found.again)


def samples_exponent(
    results: str, when: Bounds, of: Where, against: str = "d", zipped: Sequence[str] = (), prefer: Where | None = None
) -> Found:
    """Exponent in `against` of the samples, batch times steps, that networks see until the bounds `when` hold first: the slope of
    the line through all networks on logarithmic axes, 95% by Student's t. NotMeasured where they do not hold for all networks of
    a size below the largest: without the late ones its mean would be too small.

    zipped: keys that differ between sizes, such as a rate that falls with d; steps and evaluations may, too.
    """
    evaluations = evaluations_of(results, [*when])[0]
    axes = (against, "steps", "eval_every", *zipped)
    found = networks(results, of, None, axes, prefer, frozenset(evaluations["cell_id"]))
    if found.frame.empty:
        return NotMeasured(found.what)
    seen = samples_until(found.frame, evaluations[evaluations["cell_id"].isin(found.frame["cell_id"])], when)
    grown = growth(seen, against)
    if grown.exponent is None or (grown.late[against] < grown.means[against].max()).any():
        late = grown.late.itertuples(index=False, name=None)
        lost = ", ".join(f"{some} of {n} at {against} = {size:g}" for size, some, n in late)
        told = (
            f"networks in which {in_words(when)} never holds: {lost}" if lost else f"fewer than {FEWEST_OF_LAW} {spoken(against)}"
        )
        return NotMeasured(f"{told}; {found.what}")
    shown = ", ".join(f"{mean:.3g} at {size:g}" for size, mean in zip(grown.means[against], grown.means["mean"], strict=True))
    return Measured(
        grown.exponent, f"exponent b of {SAMPLES} until {in_words(when)} ~ {against}^b: {shown}; {found.what}", found.again
    )


def steps_exponent(
    results: str,
    when: Bounds,
    of: Where,
    over: str,
    before: Bounds | None = None,
    growing: Mapping[str, float] | None = None,
    prefer: Where | None = None,
) -> Found:
    """Exponent in the key `over` of the first step within the bounds `when`; if `before` is given, of its ratio to the first one
    within those, as in `steps_ratio`. Seeds and `growing` are as in `slope`; networks without such evaluations are left out."""
    powers = dict(growing or {})
    events = {"": when} | ({"before": before} if before else {})
    found, first = _first(results, (), events, of, prefer, (over, *powers))
    if first.empty:
        return NotMeasured(_counted(found, first))
    value = first["step"] / first["step before"] if before else first["step"]
    # Networks without such evaluations stay in words only: their steps are unknown.
    reached = found.every.assign(value=found.every["cell_id"].map(value)).dropna(subset="value")
    told = f"step at which {in_words(when)}" + (f", over that at which {in_words(before)}" if before else "")
    lost = len(found.every) - len(reached)
    told += f"; {found.told}" + (f"; {lost} networks left out, without such evaluations" if lost else "")
    return slope_of(found._replace(every=reached, told=told), over, True, powers)


def _first(
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


def _counted(found: Networks, first: pd.DataFrame) -> str:
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


def envelope_exponent(
    results: str,
    measure: str,
    of: Where,
    over: str,
    first: float,
    last: float,
    of_size: bool = False,
    prefer: Where | None = None,
) -> Found:
    """Exponent of the least error that compute allows in compute, C = `over` times step, from C = `first` to `last`: the slope,
    on logarithmic axes, of the lower envelope over sizes of the curves' means over seeds. With `of_size` it is the exponent with
    which the best size grows. Value and interval are the jackknife's over seeds, as the least of noisy curves is biased."""
    evaluations = evaluations_of(results, (measure,))[0]
    found = networks(results, of, None, [over], prefer, among=frozenset(evaluations["cell_id"]))
    if found.frame.empty:
        return NotMeasured(found.what)
    sizes = found.frame.groupby("seed")[over].nunique()
    whole = sizes.index[sizes == found.frame[over].nunique()]  # the envelope of fewer sizes lies higher
    shown = evaluations[evaluations[measure] > 0].merge(found.frame[["cell_id", "seed", over]], on="cell_id")
    compute = by_decades(first, last)

    def exponent(seeds: "pd.Index[int]") -> float:
        means = shown[shown["seed"].isin(seeds)].groupby([over, "step"])[measure].mean().reset_index()
        least = envelope(means, over, measure, compute)
        inside = least[np.isfinite(least[SIZE])] if of_size else least
        if len(inside) < 3 or len(least) < len(compute):
            return np.nan
        return power_law(inside[COMPUTE], inside[SIZE if of_size else measure]).exponent.value

    n = len(whole)
    all_seeds = exponent(whole) if n else np.nan
    each = [n * all_seeds - (n - 1) * exponent(whole.drop(seed)) for seed in whole] if n > 1 else [all_seeds]
    if not np.isfinite(each).all():
        return NotMeasured(f"no seed reaches from C = {first:g} to {last:g} at every {over}: {found.what}")
    what = declared(results)[measure]
    assert isinstance(what, Metric)
    told = f"exponent b of best {over} ~ C^b" if of_size else f"exponent b of least {what.title} ~ C^b"
    lost = f", {len(sizes) - n} of {len(sizes)} seeds without every {over} left out" if n < len(sizes) else ""
    return Measured(mean_interval(each), f"{told}, C = {over} x step from {first:g} to {last:g}{lost}; {found.what}", found.again)


def _slope(curve: pd.DataFrame, measure: str, first: int, last: int) -> float | None:
    """The slope of one network; None if its evaluations do not span half of the range."""
    steps = curve["step"].to_numpy(float)
    wanted = by_decades(first, last)
    rows = np.unique(np.abs(np.log(steps[:, None] / wanted)).argmin(axis=0))
    x, y = np.log(steps[rows]), np.log(curve[measure].to_numpy(float)[rows])
    return linear_fit(x, y).slope.value if len(rows) > 2 and np.ptp(x) > np.log(last / first) / 2 else None
