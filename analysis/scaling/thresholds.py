"""Thresholds over one key, L*(d) and the like, from the networks of a selection."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from analysis.data.parts import has_training_set
from analysis.data.points import in_order, sorting
from analysis.data.sharing import shared_along
from analysis.scaling.predictions import Prediction, predicted
from sweepkit.declarations.columns import Column
from sweepkit.declarations.keys import KEYS
from sweepkit.declarations.metrics import SEEDS, STATISTICS
from sweepkit.stats import (
    FEWEST_OF_LAW,
    Interval,
    PowerLaw,
    Threshold,
    clear_rise,
    exponent_of_thresholds,
    power_law,
    threshold_of_means,
)

FEWEST_OF_CURVE = 2
"""Least number of points for a curve to have a threshold."""


def thresholds(
    points: pd.DataFrame,
    level: float,
    over: str = "L",
    falling: bool = False,
    declared: Mapping[str, Column] = KEYS,
) -> pd.DataFrame:
    """The threshold of each curve over `over`, where the curve's mean reaches `level`: a row with the curve's keys and
    `threshold`.

    A curve has points that agree in all other keys. `falling`: the measure falls to the level as `over` grows, instead of rising.
    `declared`: the columns of the store. points: the frame of `Points`, of which n, mean and sd are used.

    Curves of fewer than FEWEST_OF_CURVE points are left out. If most points of a curve have several seeds, its points of one seed
    are left out too, unless the level is reached only with them: without their spread the threshold has no interval.
    """
    keys = _keys_of_curves(points, over)
    with_gamma = "gamma" in points and over != "gamma"
    rows = []
    for keyed, curve in curves_of(points, over):
        several = curve[curve["n"] > 1]
        shared = shared_along(over, has_training_set(keyed), declared)

        def crossing(part: pd.DataFrame, shared: bool = shared) -> Threshold:
            x, n, means, sds = (part[name].to_numpy(float) for name in (over, "n", "mean", "sd"))
            return threshold_of_means(x, n, means, sds, level, increasing=not falling, shared=shared)

        part = several if len(several) > len(curve) / 2 and len(several) >= FEWEST_OF_CURVE else curve
        found = crossing(part)
        # A point of one seed beyond the others may reach it: then the threshold has no interval.
        if len(part) < len(curve) and not found.is_reached:
            found = crossing(curve)
        gamma = {"gamma": curve["gamma"].iloc[0]} if with_gamma else {}
        rows.append({**keyed, **gamma, "threshold": found})
    frame = pd.DataFrame(rows, columns=[*map(str, keys), *(["gamma"] if with_gamma else []), "threshold"])
    return frame.sort_values(sorting(str(c) for c in frame if c != "threshold"), ignore_index=True)


def falls_along(points: pd.DataFrame, over: str, usually: bool) -> bool:
    """True if the measure falls as `over` grows. `usually`: true if it does along training and with more examples, as errors do.
    Noise and the like turn it round: so it does where more curves clearly go the other way than not."""
    ordered = (curve.sort_values(over) for _, curve in curves_of(points, over))
    rises = sum(clear_rise(curve["n"], curve["mean"], curve["sd"]) for curve in ordered)
    return usually if rises == 0 else rises < 0


def curves_of(points: pd.DataFrame, over: str) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """The keys and points of each curve over `over`. A curve needs FEWEST_OF_CURVE points at which `over` is above 0."""
    keys = _keys_of_curves(points, over)
    points = points[points[over] > 0]  # thresholds are read off a logarithmic axis; at P = 0 there is nothing but the prior
    for values, curve in points.groupby(keys, dropna=False) if len(points) else []:
        if len(curve) >= FEWEST_OF_CURVE:
            yield dict(zip(keys, values, strict=True)), curve


def _keys_of_curves(points: pd.DataFrame, over: str) -> list[str]:
    # The lazy gamma changes with d: its label says which networks belong together. Along gamma, neither tells curves apart.
    apart = {over, "gamma", *STATISTICS, SEEDS, *(["gamma_label"] if over == "gamma" else [])}
    return [str(key) for key in points.columns if key not in apart and points[key].notna().any()]


class Exponent(NamedTuple):
    """Exponent of thresholds against a key, and the thresholds it rests on."""

    interval: Interval
    law: PowerLaw
    n_used: int
    n_not_reached: int
    n_below_range: int
    n_open: int = 0
    """Thresholds whose interval reaches beyond the measured range, where resampled thresholds have no value: the exponent's
    interval is too narrow."""

    @property
    def n_left_out(self) -> int:
        """Number of thresholds that are left out, or of which the interval is open."""
        return self.n_not_reached + self.n_below_range + self.n_open

    @property
    def censored(self) -> str:
        """How many thresholds were left out, and why; and how many of the others are open."""
        told = {
            "not reached (so the exponent may be too small)": self.n_not_reached,
            "left out as the smallest value already suffices": self.n_below_range,
            "with an interval beyond the range: the exponent's is too narrow": self.n_open,
        }
        return ", ".join(f"{n} {words}" for words, n in told.items() if n) or "all thresholds within the range"


def exponent(
    frame: pd.DataFrame, against: str = "d", within: tuple[float, float] = (0.0, np.inf), offset: bool = False
) -> Exponent | None:
    """The exponent of `thresholds` that differ in `against` alone, over its values `within` these ends; None if fewer than
    FEWEST_OF_LAW thresholds are reached.

    The interval comes from the thresholds' own uncertainty, or from their scatter about the law if that is larger (misfit above
    1). `offset` fits a constant beside the power and needs four thresholds: ValueError if there are fewer or no fit is found.
    """
    frame = frame[frame[against].between(*within)]
    found = list(frame["threshold"])
    reached = [t.is_reached for t in found]
    if sum(reached) < FEWEST_OF_LAW:
        return None
    n_open = sum(t.is_reached and bool(np.isinf([t.low, t.high]).any()) for t in found)
    if offset:
        law = _with_offset(frame[against].to_numpy(float)[reached], [t for t in found if t.is_reached])
        n_not_reached = sum(t.is_beyond for t in found)
        return Exponent(law.exponent, law, law.n, n_not_reached, len(found) - law.n - n_not_reached, n_open)
    fit = exponent_of_thresholds(frame[against].to_numpy(float), found)
    interval = fit.law.exponent if fit.misfit > 1 else fit.exponent
    return Exponent(interval, fit.law, fit.n_used, fit.n_not_reached, fit.n_below_range, n_open)


def _with_offset(x: np.ndarray[Any, Any], found: list[Threshold]) -> PowerLaw:
    values, lows, highs = (np.array([getattr(t, name) for t in found]) for name in ("value", "low", "high"))
    if np.isfinite(lows).all() and np.isfinite(highs).all() and (highs > lows).all():
        return power_law(x, values, lows, highs, offset=True)
    return power_law(x, values, offset=True)


def without_lazy(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows without lazy networks, whose gamma stands for its limit: on the axis of gamma it lies far from all others."""
    return frame[frame["gamma_label"] != "lazy"] if "gamma_label" in frame else frame


def needed(over: str, against: str) -> str:
    """Words for what an exponent takes, and why."""
    return f"that needs {FEWEST_OF_LAW} values of {against} with a threshold in the range of {over}: a power law fits any two"


class Fitted(NamedTuple):
    """Exponents, predictions, and why there is no exponent: each by the values of a grouping key (None without one)."""

    fits: dict[Any, Exponent]
    predictions: dict[Any, Prediction]
    problems: dict[Any, str]


def fitted(
    frame: pd.DataFrame,
    over: str,
    against: str,
    by: str | None,
    within: tuple[float, float] = (0.0, np.inf),
    offset: bool = False,
) -> Fitted:
    """Exponents of `thresholds` that differ in `by` and `against` alone, and the predictions for them."""
    found = Fitted({}, {}, {})
    for value in in_order(frame, by) if by else [None]:
        group = frame if by is None else frame[frame[by] == value]
        try:
            fit = exponent(group, against, within, offset)
        except ValueError as error:
            fit, found.problems[value] = None, str(error)
        if fit:
            found.fits[value] = fit
        elif value not in found.problems:
            found.problems[value] = needed(over, against)
        if said := predicted(over, against, {str(key): group[key].iloc[0] for key in group if key != "threshold"}):
            found.predictions[value] = said
    return found


def exponents(
    found: Fitted, frame: pd.DataFrame, by: str | None, against: str = "d", within: tuple[float, float] = (0.0, np.inf)
) -> pd.DataFrame:
    """One row per value of `by`, or one without it: the exponent of `fitted` with these arguments, its interval and the number of
    `thresholds` it rests on.

    A value with fewer than FEWEST_OF_LAW thresholds has no exponent.
    """
    rows = []
    for value in in_order(frame, by) if by else [None]:
        group = frame if by is None else frame[frame[by] == value]
        fit, said = found.fits.get(value), found.predictions.get(value)
        states = [t.reached for t in group[group[against].between(*within)]["threshold"]]
        rows.append(
            {
                **({by: value} if by else {}), **({"gamma": group["gamma"].iloc[0]} if by == "gamma_label" else {}),
                "exponent": fit.interval.value if fit else np.nan, "low": fit.interval.low if fit else np.nan,
                "high": fit.interval.high if fit else np.nan, "thresholds": states.count("reached"),
                "open": fit.n_open if fit else 0, "not reached": states.count("not reached"),
                "below range": states.count("already at the smallest x"),
                "predicted": said.exponent if said else np.nan, "prediction": str(said) if said else "",
            }
        )  # fmt: skip
    return pd.DataFrame(rows)


def threshold_table(frame: pd.DataFrame, keys: Iterable[str]) -> pd.DataFrame:
    """The keys and the numbers of each threshold, `seeds` behind it among them, as a table for people and CSV files."""

    def numbers(t: Threshold) -> dict[str, Any]:
        return {"threshold": t.value, "low": t.low, "high": t.high, "seeds": t.n_seeds, "state": t.reached,
                "smallest x": t.x_low, "largest x": t.x_high}  # fmt: skip

    told = frame[list(keys)].reset_index(drop=True)
    return pd.concat([told, pd.DataFrame([numbers(t) for t in frame["threshold"]])], axis=1)


def without_infinite(table: pd.DataFrame) -> pd.DataFrame:
    """A `threshold_table` for a screen: numbers beyond the range are left empty."""
    return table.replace({np.inf: np.nan, -np.inf: np.nan})
