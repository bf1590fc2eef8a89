"""Kinds of measurement on networks of the store; each gives a value with its 95% interval."""

from collections.abc import Mapping
from math import hypot
from typing import NamedTuple

import numpy as np
import pandas as pd

from analysis.claims.networks_used import Networks, Where, both_sides, either, like, networks, note_seeds
from analysis.claims.verdict import Measured, NotMeasured
from analysis.data.measures import measures
from analysis.data.parts import have_training_sets
from analysis.data.points import sd_of_ties, test_sizes
from analysis.data.sharing import shared_along
from analysis.overlays.overlays import beside
from analysis.scaling.proportion import in_power
from analysis.scaling.thresholds import Exponent, exponent, thresholds
from sweepkit.declarations.columns import Metric
from sweepkit.stats import FEWEST_OF_LAW, Interval, linear_fit, mean_interval
from sweepkit.stats.intervals import Spread

Found = Measured | NotMeasured


def mean(results: str, measure: str, of: Where, prefer: Where | None = None) -> Found:
    """Mean over the seeds of one setting."""
    found = networks(results, of, measure, prefer=prefer)
    if found.frame.empty:
        return NotMeasured(found.what)
    what = measures(results)[measure]
    interval = mean_interval(found.frame["value"], bounds=(what.low, what.high), sd_of_ties=ties(found.frame, what))
    return Measured(interval, f"mean {found.what}", found.again)


def difference_of_measures(results: str, measure: str, minus_measure: str, of: Where, prefer: Where | None = None) -> Found:
    """Mean over the seeds of one setting of a measure minus another one of the same network."""
    found = networks(results, of, measure, prefer=prefer)
    if found.frame.empty:
        return NotMeasured(found.what)
    other = networks(results, of, minus_measure, prefer=prefer, among=frozenset(found.frame["cell_id"]))
    if other.frame.empty:
        return NotMeasured(f"no network has both {measure} and {minus_measure}: {found.what}")
    both = found.frame[["cell_id", "value"]].merge(other.frame[["cell_id", "value"]], on="cell_id")
    told = f"{measure} {both['value_x'].mean():.3g} minus {minus_measure} {both['value_y'].mean():.3g}"
    known = measures(results)
    equal = hypot(ties(found.frame, known[measure]), ties(other.frame, known[minus_measure]))
    return Measured(mean_interval(both["value_x"] - both["value_y"], sd_of_ties=equal), f"{told}; {found.what}", found.again)


def slope(
    results: str,
    measure: str,
    of: Where,
    over: str,
    log: bool = False,
    growing: Mapping[str, float] | None = None,
    minus: Where | None = None,
    prefer: Where | None = None,
) -> Found:
    """Gain of the measure when `over` doubles; with `log`, the exponent of a power law.

    If `minus` is given, the slope of those networks is subtracted; both sides then have one setting of all keys, except those in
    which they must differ. Each network is a point of the fit. But if networks of one seed share their data along `over`, each
    seed that has a network at every value has a slope of its own, and a single seed gives no interval.

    growing: whole numbers that grow in proportion to these powers of `over`; networks with other values are left out.
    """
    powers = dict(growing or {})
    axes = (over, *powers)
    if minus is None:
        return slope_of(networks(results, of, measure, axes, prefer), over, log, powers)
    left, right = (slope_of(found, over, log, powers) for found in both_sides(results, of, minus, measure, axes, prefer))
    return left if isinstance(left, NotMeasured) else _less(left, right)


def slope_of(found: Networks, over: str, log: bool, growing: Mapping[str, float]) -> Found:
    """`slope` of the values of these networks."""
    for key, power in growing.items() if len(found.every) else ():
        found = found.narrowed(in_power(found.every, key, {over: power}), f"{key} ~ {over}^{power:g}")
    frame = found.frame
    n_all = len(frame)
    frame = frame[frame["value"] > 0] if log and n_all else frame
    if frame.empty:
        return NotMeasured(found.what)
    # The words say so, as these networks have the least values: without them a slope is biased.
    what = found.what + (f", {n_all - len(frame)} without a positive value left out" if len(frame) < n_all else "")
    if frame[over].nunique() < 2:
        return NotMeasured(f"networks of one {over} only")
    fixed = have_training_sets(frame)
    if all(shared_along(key, fixed, found.declared) for key in (over, *growing)):
        # Networks of one seed see the same data at all of these values: only seeds are independent.
        parts = [part for _, part in frame.groupby("seed")]
        whole = [part for part in parts if part[over].nunique() == frame[over].nunique()]
        note_seeds(len(whole))
        if len(whole) < len(parts):
            what += f"; slopes of the {len(whole)} of {len(parts)} seeds that have a network at every {over}"
        if not whole:
            return NotMeasured(f"no seed has a network at every {over}: {what}")
        interval = mean_interval([_of_line(part, over, log).value for part in whole])
    else:
        note_seeds(int(frame.groupby(over)["seed"].nunique().min()))
        interval = _of_line(frame, over, log)
    said = f"exponent of {over} in the {what}" if log else f"gain per doubling of {over} of the {what}"
    return Measured(interval, said, found.again)


def _of_line(frame: pd.DataFrame, over: str, log: bool) -> Interval:
    """The slope of the line through all networks."""
    x, y = (frame[name].to_numpy(float) for name in (over, "value"))
    return linear_fit(np.log(x), np.log(y)).slope if log else linear_fit(x, y, per_doubling=True).slope


def beside_theory(
    results: str, measure: str, of: Where, theory: str, largest: str | None = None, prefer: Where | None = None
) -> Found:
    """Mean of the measure minus a theory's value for the same networks; if `largest` names a key, only for its largest value."""
    axes = [largest] if largest else []
    found = networks(results, of, measure, axes, prefer)
    if found.frame.empty:
        return NotMeasured(found.what)
    frame = found.frame if largest is None else found.frame[found.frame[largest] == found.frame[largest].max()]
    said = said_of(frame, measure, theory)
    if said is None:
        return NotMeasured(f"{theory} does not apply to these networks")
    at = "" if largest is None else f" at {largest} = {frame[largest].iloc[0]:g}"
    error = 1.96 * said["error"].max()
    found_mean = mean_interval(frame["value"] - said["value"], sd_of_ties=ties(frame, measures(results)[measure]))
    value, low, high = found_mean[:3]
    interval = found_mean._replace(low=value - np.hypot(value - low, error), high=value + np.hypot(high - value, error))
    told = f"measured {frame['value'].mean():.3f} minus {theory} {said['value'].mean():.3f}{at}; {found.what}"
    return Measured(interval, told, found.again)


def error_beside_theory(results: str, measure: str, of: Where, theory: str, prefer: Where | None = None) -> Found:
    """Logarithm of the networks' mean error (1 minus an accuracy) over the error that a theory says.

    The logarithm is of the mean over all seeds: a seed without a single error counts, too. Where the interval of the mean
    reaches down to 0, that of the logarithm has no lower end.
    """
    found = networks(results, of, measure, prefer=prefer)
    if found.frame.empty:
        return NotMeasured(found.what)
    said = said_of(found.frame, measure, theory)
    if said is None:
        return NotMeasured(f"{theory} does not apply to these networks")
    expected = 1 - float(said["value"].mean())
    error = mean_interval(1 - found.frame["value"], bounds=(0, 1), sd_of_ties=ties(found.frame, measures(results)[measure]))
    with np.errstate(divide="ignore"):
        value, low, high = (float(np.log(end / expected)) for end in error[:3])
    told = f"natural logarithm of the factor {np.exp(value):.3g}: error {error.value:.3g} over {theory}'s {expected:.3g}"
    return Measured(error._replace(value=value, low=low, high=high), f"{told}; 1 - {found.what}", found.again)


def said_of(frame: pd.DataFrame, measure: str, theory: str) -> pd.DataFrame | None:
    """The theory's value and error for each network; None if it does not apply to them."""
    said = beside(frame, measure, only=[theory]).values.set_index("point").reindex(frame.index)
    return None if said["value"].isna().any() else said


def threshold_ratio(
    results: str,
    level: float,
    of: Where,
    a: Where,
    b: Where,
    over: str = "L",
    measure: str = "best_test_acc",
    prefer: Where | None = None,
) -> Found:
    """Ratio of two thresholds: how many times as much of `over` (symbols or samples) networks `a` need as networks `b`, for the
    mean of the measure to reach `level`."""
    found = networks(results, {**of, **either(a, b)}, measure, (over, *a), prefer)
    if found.frame.empty:  # such a store need not know the keys of the sides
        return NotMeasured(found.what)
    sides = [like(found.frame, side) for side in (a, b)]
    if any(side.empty for side in sides):
        return NotMeasured(f"networks of one side only: {found.what}")
    what = measures(results)[measure]
    curves = [thresholds(by_point(side), level, over, what.falls, found.declared) for side in sides]
    if any(len(curve) != 1 for curve in curves):
        return NotMeasured(f"networks of one {over} only")
    left, right = (curve["threshold"].iloc[0] for curve in curves)
    told = f"{left.describe(over)} against {right.describe(over)} for {what.short} {level:g}; {found.what}"
    if not len(left.draws) or not len(right.draws):
        return NotMeasured(f"one seed at some {over} leaves no interval: {told}")
    if right.reached != "reached":
        return NotMeasured(f"the threshold of the second networks is not within the range: {told}")
    # A level already reached at the smallest x is reached somewhere below it. If neither side reaches it, the ratio is unknown.
    drawn = np.random.default_rng(0).permutation(left.draws)
    with np.errstate(invalid="ignore", divide="ignore"):
        least = np.where(drawn == -np.inf, 0.0, drawn) / np.where(right.draws == -np.inf, right.x_low, right.draws)
        most = np.where(drawn == -np.inf, left.x_low, drawn) / np.where(right.draws == -np.inf, 0.0, right.draws)
    low = np.quantile(np.nan_to_num(least, nan=0.0, posinf=np.inf), 0.025, method="inverted_cdf")
    high = np.quantile(np.nan_to_num(most, nan=np.inf, posinf=np.inf), 0.975, method="inverted_cdf")
    value = max(left.value, 0.0) / right.value
    interval = Interval(value, float(low), float(high), min(left.n_seeds, right.n_seeds), "resampled", "seeds")
    return Measured(interval, f"ratio of thresholds: {told}", found.again)


def threshold_exponent(
    results: str,
    level: float,
    of: Where,
    over: str = "L",
    against: str = "d",
    measure: str = "best_test_acc",
    as_powers: Mapping[str, float] | None = None,
    growing: Mapping[str, float] | None = None,
    minus: Where | None = None,
    prefer: Where | None = None,
) -> Found:
    """Exponent in `against` of the threshold over `over`; if `minus` is given, minus that of those networks in the same setting.

    as_powers: keys that are these powers of `against`; growing: keys that grow as its powers, in one proportion. Networks with
    other values are left out.
    """
    law = Law(level, over, against, measures(results)[measure], dict(as_powers or {}), dict(growing or {}))
    axes = (over, against, *law.powers, *law.growing)
    if minus is None:
        return _threshold_exponent(networks(results, of, measure, axes, prefer), law)
    left, right = (_threshold_exponent(found, law) for found in both_sides(results, of, minus, measure, axes, prefer))
    return left if isinstance(left, NotMeasured) else _less(left, right)


class Law(NamedTuple):
    """The law of a threshold: the measure and its level, the key `over` along which the measure crosses the level, the key
    `against` with which the threshold grows, and the powers of `against` that other keys are, or grow as."""

    level: float
    over: str
    against: str
    measure: Metric
    powers: dict[str, float]
    growing: dict[str, float]


def _threshold_exponent(found: Networks, law: Law) -> Found:
    level, over, against = law[:3]
    for key, power in law.powers.items() if len(found.every) else ():
        frame = found.every
        found = found.narrowed(frame[frame[key] == (frame[against] ** power).round()], f"{key} = {against}^{power:g}")
    for key, power in law.growing.items() if len(found.every) else ():
        found = found.narrowed(in_power(found.every, key, {against: power}), f"{key} ~ {against}^{power:g}")
    if found.frame.empty:
        return NotMeasured(found.what)
    curves = thresholds(by_point(found.frame), level, over, law.measure.falls, found.declared)
    fit = exponent_of(curves, level, over, against)
    if isinstance(fit, NotMeasured):
        return fit
    interval = fit.interval
    note_seeds(min(one.n_seeds for one in curves["threshold"] if one.is_reached))
    at = f"at {fit.n_used} {against} from {fit.law.x_low:g} to {fit.law.x_high:g} ({fit.censored})"
    reached = f"{law.measure.short} {level:g}"
    return Measured(interval, f"exponent b of {over}* ~ {against}^b for {reached} {at}; {found.what}", found.again)


def exponent_of(curves: pd.DataFrame, level: float, over: str, against: str) -> Exponent | NotMeasured:
    """The exponent of thresholds that differ in `against` alone. NotMeasured if there are too few, or if one is missing below the
    largest `against` with a threshold."""
    reached = curves.loc[[t.reached == "reached" for t in curves["threshold"]], against]
    beyond = curves.loc[[t.reached == "not reached" for t in curves["threshold"]], against]
    if len(reached) and (beyond < reached.max()).any():
        # Leaving these out would draw the exponent towards 0. Thresholds missing beyond the others only shorten the range.
        return NotMeasured(
            f"the level {level:g} is not reached at some {against} below {reached.max():g}: more {over} are needed"
        )
    fit = exponent(curves, against)
    if fit is None:
        return NotMeasured(f"the level {level:g} is reached within the range at fewer than {FEWEST_OF_LAW} values of {against}")
    return fit


def _less(of: Measured, other: Found) -> Found:
    """The difference of two measurements; their errors add in quadrature on each side.

    For networks that share seeds and data, as those of two gamma do, the interval is too wide rather than too narrow.
    """
    if isinstance(other, NotMeasured):
        return NotMeasured(f"for the networks to subtract: {other.why}")
    a, b = of.interval, other.interval
    value, low, high = a.value - b.value, np.hypot(a.value - a.low, b.high - b.value), np.hypot(a.high - a.value, b.value - b.low)
    counting = [one for one in (a, b) if one.counts in ("values", "seeds")] or [a, b]
    fewest = min(counting, key=lambda one: one.n)
    spread: Spread = "two groups" if "two groups" in (a.spread, b.spread) else ""
    ends = value - float(low), value + float(high)
    found = Interval(value, *ends, fewest.n, "errors in quadrature", fewest.counts, spread)
    return Measured(found, f"difference, {a.value:.3g} minus {b.value:.3g}; {of.what}", of.again)


def ties(frame: pd.DataFrame, measure: Metric) -> float:
    """Standard deviation to take for networks with equal values (`points.sd_of_ties`)."""
    return float(sd_of_ties(measure, frame["value"].mean(), test_sizes(frame, measure)[0]))


def by_point(frame: pd.DataFrame) -> pd.DataFrame:
    """Networks as points for `scaling.thresholds`: one row per point with n, mean and standard deviation over its seeds."""
    keys = [key for key in frame.columns if key not in ("cell_id", "seed", "value", "n") and frame[key].notna().any()]
    return frame.groupby(keys, dropna=False)["value"].agg(n="count", mean="mean", sd="std").reset_index()
