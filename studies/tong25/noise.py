"""Noisy networks beside the two Bayes classifiers: the settings that have noise, and the differences at the largest L."""

import pandas as pd

from analysis.charts.curves import with_residuals

from .theory.of_same_different import GENERALISING, MEMORISING

BAYES = {GENERALISING: "generalising", MEMORISING: "memorising"}
"""The columns of `beside_bayes` with the values of these theories."""


def noisy_settings(frame: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """The points in settings that have noise at some sigma2: noiseless points stay only beside noisy ones."""
    rest = [key for key in keys if key in frame and key not in ("L", "gamma", "gamma_label", "sigma2")]
    noisy = frame["sigma2"].fillna(0) > 0
    if not rest:
        return frame if noisy.any() else frame[:0]
    return frame[noisy.groupby([frame[key] for key in rest], dropna=False).transform("any")]


def beside_bayes(points: pd.DataFrame, values: pd.DataFrame) -> pd.DataFrame:
    """One row per sigma2 and gamma, at the largest L: the mean and the mean minus each classifier, each with its interval.

    values: `overlays.beside(points).values`; NaN where a classifier is not computed yet.
    """
    noisy = points[points["sigma2"].fillna(0) > 0]
    gamma, label = ([key] if key in points else [] for key in ("gamma", "gamma_label"))  # networks of other kinds have none
    last = noisy.loc[noisy.groupby(["sigma2", *label], dropna=False)["L"].idxmax()].sort_values(["sigma2", *gamma])
    table = last[["sigma2", *label, "L", "n", "mean", "low", "high"]]
    of_last = with_residuals(points, values)
    of_last = of_last[of_last["point"].isin(last.index)].set_index("point")
    for theory, name in BAYES.items():
        part = of_last[of_last["theory"] == theory]
        columns = {"value": name, "residual": f"minus {name}", "residual_low": f"{name}: low", "residual_high": f"{name}: high"}
        table = table.join(part[list(columns)].rename(columns=columns))
    return table.rename(columns={"gamma_label": "gamma"}).reset_index(drop=True)
