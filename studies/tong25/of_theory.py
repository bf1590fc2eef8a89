"""Thresholds that a theory has for the networks whose thresholds were measured, at their own sizes and evaluations."""

import numpy as np
import pandas as pd

from analysis.overlays import overlays
from analysis.overlays.overlays import Later
from analysis.scaling.thresholds import thresholds
from sweepkit.declarations.columns import Metric

LADDER = np.unique(np.round(2.0 ** (np.arange(2, 17) / 2))).astype(int)
"""Values of `over`, two to an octave, of which those near a measured threshold are taken. Kernels of more than 256 symbols take
minutes each, so that larger thresholds have no theory beside them."""
BELOW, ABOVE = 16.0, 1.5
"""How many times as small or large as a measured threshold they may be. Values far above cost minutes. Far below theory may well
cross: infinitely wide networks need fewer symbols for an AUC than wide ones do."""

DRAWS = 1000
"""Number of values that a theory's mean counts as, so that its standard error gives a normal interval."""


def theory_thresholds(
    found: pd.DataFrame, measure: Metric, level: float, over: str = "L", wait: bool = True
) -> tuple[pd.DataFrame, list[Later]]:
    """The thresholds of each theory that speaks of networks with measured ones, as `thresholds` gives both, with a column
    `theory`; and the values that are missing (`overlays.beside`)."""
    keys = [key for key in found.columns if key != "threshold"]
    at = found["threshold"].map(lambda t: t.value if t.is_reached else np.nan)
    rungs = found[keys].assign(middle=at).merge(pd.DataFrame({over: LADDER}), how="cross")
    near = rungs[rungs[over].between(rungs["middle"] / BELOW, rungs["middle"] * ABOVE)]
    said = overlays.beside(near, measure.name, wait)
    rows = said.values.join(near[[*keys, over]], on="point")
    drawn = rows.assign(n=DRAWS, mean=rows["value"], sd=rows["error"].fillna(0) * np.sqrt(DRAWS))
    reached = thresholds(drawn.drop(columns=["point", "value", "error"]), level, over, measure.falls)
    return reached if len(reached) else found.iloc[:0].assign(theory=""), said.missing


def as_lines(theory: pd.DataFrame, against: str, by: str) -> pd.DataFrame:
    """The thresholds of `theory_thresholds` as lines of `threshold_panel`: those that are reached."""
    reached = theory[theory["threshold"].map(lambda t: t.is_reached).astype(bool)]
    gamma = ["gamma"] if "gamma" in reached else []
    lines = reached[[against, by, *gamma]].assign(value=[t.value for t in reached["threshold"]], line=reached["theory"])
    return lines[lines.groupby([by, "line"])[against].transform("nunique") > 1]  # one point makes no line
