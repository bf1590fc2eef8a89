"""Thresholds over one key, L*(d) and the like, from the networks of a selection."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from analysis.data.parts import at_equilibrium
from analysis.data.points import SEEDS, STATISTICS, in_order, sorting
from analysis.data.sharing import shared_along
from analysis.scaling.predictions import Prediction, predicted
from declarations.column import Column
from declarations.keys import KEYS
from stats import Interval, PowerLaw, Threshold, exponent_of_thresholds, power_law, threshold_of_means

FEWEST_OF_CURVE = 2
"""Points that a curve needs to have a threshold."""
FEWEST_OF_LAW = 3
"""Sizes that an exponent needs to be told: through two points every power law is perfect."""


def thresholds(
    points: pd.DataFrame,
    level: float,
    over: str = "L",
    falling: bool = False,
    declared: Mapping[str, Column] = KEYS,
) -> pd.DataFrame:
    """Of each curve over `over` (points that agree in all else): its keys and `threshold`, where its mean reaches `level`; the
    measure is one that is `falling` to it as `over` grows, or rises. `declared`: the columns of the store.

    points: the frame of `Points`, of which n, mean and sd are used. Curves of fewer than FEWEST_OF_CURVE points are left out, and
    points of one seed where most of the curve has several, unless it takes them to reach the level: one without a spread leaves
    the threshold without an interval.
    """
    keys = _keys_of_curves(points, over)
    with_gamma = "gamma" in points and over != "gamma"
    rows = []
    for keyed, curve in curves_of(points, over):
        several = curve[curve["n"] > 1]
        shared = shared_along(over, at_equilibrium(keyed), declared)

        def crossing(part: pd.DataFrame, shared: bool = shared) -> Threshold:
            x, n, means, sds = (part[name].to_numpy(float) for name in (over, "n", "mean", "sd"))
            return threshold_of_means(x, n, means, sds, level, increasing=not falling, shared=shared)

        part = several if len(several) > len(curve) / 2 and len(several) >= FEWEST_OF_CURVE else curve
        found = crossing(part)
        # One seed beyond the others may reach it: a threshold without an interval.
        if len(part) < len(curve) and found.reached != "reached":
            found = crossing(curve)
        gamma = {"gamma": curve["gamma"].iloc[0]} if with_gamma else {}
        rows.append({**keyed, **gamma, "threshold": found})
    frame = pd.DataFrame(rows, columns=[*map(str, keys), *(["gamma"] if with_gamma else []), "threshold"])
    return frame.sort_values(sorting(str(c) for c in frame if c != "threshold"), ignore_index=True)


def curves_of(points: pd.DataFrame, over: str) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """The keys and points of each curve over `over` that has FEWEST_OF_CURVE points or more where it is above 0."""
    keys = _keys_of_curves(points, over)
    points = points[points[over] > 0]  # thresholds are read off a logarithmic axis; at P = 0 there is nothing but the prior
    for values, curve in points.groupby(keys, dropna=False) if len(points) else []:
        if len(curve) >= FEWEST_OF_CURVE:
            yield dict(zip(keys, values, strict=True)), curve


def _keys_of_curves(points: pd.DataFrame, over: str) -> list[str]:
    # The lazy gamma changes with d: its label says which networks belong together. Over gamma neither does.
    apart = {over, "gamma", *STATISTICS, SEEDS, *(["gamma_label"] if over == "gamma" else [])}
    return [str(key) for key in points.columns if key not in apart and points[key].notna().any()]


class Exponent(NamedTuple):
    """Exponent of thresholds against a key, with what it stands on."""

    interval: Interval
    law: PowerLaw
    n_used: int
    n_not_reached: int
    n_below_range: int
    n_open: int = 0
    """Thresholds whose interval reaches beyond the range, where what is resampled has no value: the exponent's is too narrow."""

    @property
    def censored(self) -> str:
        """How many thresholds were left out, and why; and how many of the others are open."""
        open_ends = f", {self.n_open} with an interval beyond the range: this one is too narrow" if self.n_open else ""
        return f"{self.n_not_reached} not reached, {self.n_below_range} already at the smallest{open_ends}"


def exponent(
    frame: pd.DataFrame, against: str = "d", within: tuple[float, float] = (0.0, np.inf), offset: bool = False
) -> Exponent | None:
    """Of `thresholds` that differ in `against` alone, from its values `within` these ends; None where fewer than two reach.

    The interval comes from the thresholds' own uncertainty; where they scatter more about the law than that (misfit above 1),
    from the scatter. `offset` fits a constant beside the power and needs four. ValueError where it has fewer or finds no fit.
    """
    frame = frame[frame[against].between(*within)]
    found = list(frame["threshold"])
    reached = [t.reached == "reached" for t in found]
    if sum(reached) < 2:
        return None
    n_open = sum(t.reached == "reached" and bool(np.isinf([t.low, t.high]).any()) for t in found)
    if offset:
        law = _with_offset(frame[against].to_numpy(float)[reached], [t for t in found if t.reached == "reached"])
        n_not_reached = sum(t.reached == "not reached" for t in found)
        return Exponent(law.exponent, law, law.n, n_not_reached, len(found) - law.n - n_not_reached, n_open)
    fit = exponent_of_thresholds(frame[against].to_numpy(float), found)
    interval = fit.law.exponent if fit.misfit > 1 and fit.n_used > 2 else fit.exponent
    return Exponent(interval, fit.law, fit.n_used, fit.n_not_reached, fit.n_below_range, n_open)


def _with_offset(x: np.ndarray[Any, Any], found: list[Threshold]) -> PowerLaw:
    values, lows, highs = (np.array([getattr(t, name) for t in found]) for name in ("value", "low", "high"))
    if np.isfinite(lows).all() and np.isfinite(highs).all() and (highs > lows).all():
        return power_law(x, values, lows, highs, offset=True)
    return power_law(x, values, offset=True)


class Fitted(NamedTuple):
    """By the values of a grouping key, None without one: exponents, what is predicted, and why there is no exponent."""

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
    """Of `thresholds` that differ in `by` and `against` alone."""
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
            found.problems[value] = f"fewer than two {against} have a threshold"
        if said := predicted(over, against, {str(key): group[key].iloc[0] for key in group if key != "threshold"}):
            found.predictions[value] = said
    return found


def exponents(
    found: Fitted, frame: pd.DataFrame, by: str, against: str = "d", within: tuple[float, float] = (0.0, np.inf)
) -> pd.DataFrame:
    """A row for each value of `by`: what `fitted` found there with these arguments, its interval and what it stands on.

    A value with too few thresholds has no exponent.
    """
    rows = []
    for value in in_order(frame, by):
        group = frame[frame[by] == value]
        fit, said = found.fits.get(value), found.predictions.get(value)
        states = [t.reached for t in group[group[against].between(*within)]["threshold"]]
        rows.append(
            {
                by: value, **({"gamma": group["gamma"].iloc[0]} if by == "gamma_label" else {}),
                "exponent": fit.interval.value if fit else np.nan, "low": fit.interval.low if fit else np.nan,
                "high": fit.interval.high if fit else np.nan, "n": states.count("reached"), "open": fit.n_open if fit else 0,
                "not reached": states.count("not reached"), "below range": states.count("already at the smallest x"),
                "predicted": said.exponent if said else np.nan, "prediction": str(said) if said else "",
            }
        )  # fmt: skip
    return pd.DataFrame(rows)


def threshold_table(frame: pd.DataFrame, keys: Iterable[str]) -> pd.DataFrame:
    """For a person or a CSV: the keys and the threshold's numbers."""

    def numbers(t: Threshold) -> dict[str, Any]:
        return {"threshold": t.value, "low": t.low, "high": t.high, "n": t.n_seeds, "state": t.reached,
                "smallest x": t.x_low, "largest x": t.x_high}  # fmt: skip

    return pd.concat([frame[list(keys)], pd.DataFrame([numbers(t) for t in frame["threshold"]])], axis=1)
