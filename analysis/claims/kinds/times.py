"""Measurements of times along training: when a metric reaches a level, as a power of a key."""

import numpy as np
import pandas as pd

from analysis.claims.kinds.measuring import Found
from analysis.claims.networks_used import Networks, Where, networks
from analysis.claims.verdict import Measured, NotMeasured
from analysis.data.keys import spoken
from analysis.data.networks.evaluations import crossings, evaluations_of
from sweepkit.stats import linear_fit, mean_interval


def time_exponent(results: str, measure: str, reaches: float, of: Where, over: str, prefer: Where | None = None) -> Found:
    """Exponent of `over` in the time rate x steps at which a metric along training first reaches a level: the mean of the slopes
    of each seed that gets there at every value of `over`."""
    found, frame = crossed(results, measure, reaches, of, (over,), prefer)
    if frame.empty or frame[over].nunique() < 2:
        return NotMeasured(f"networks of one {over} only: {counted(found, frame)}" if len(frame) else counted(found, frame))
    frame = frame.assign(time=frame["crossed"] * frame["base_lr"])
    whole = [part for _, part in frame.groupby("seed") if part[over].nunique() == found.frame[over].nunique()]
    if not whole:
        return NotMeasured(f"no seed reaches {reaches:g} at every {over}: {counted(found, frame)}")
    slopes = [linear_fit(np.log(part[over].to_numpy(float)), np.log(part["time"].to_numpy(float))).slope.value for part in whole]
    means = pd.concat(whole).groupby(over)["time"].mean()
    told = ", ".join(f"{time:.3g} at {value:g}" for value, time in means.items())
    what = f"exponent b of rate x steps to {measure} = {reaches:g} ~ {spoken(over)}^b: {told}; {counted(found, frame)}"
    return Measured(mean_interval(slopes), what, found.again)


def crossed(
    results: str, measure: str, reaches: float, of: Where, axes: tuple[str, ...], prefer: Where | None
) -> tuple[Networks, pd.DataFrame]:
    """The networks, and those that reach the level with the step at which they do, `crossed`."""
    evaluations = evaluations_of(results, (measure,))[0]
    found = networks(results, of, None, axes, prefer, among=frozenset(evaluations["cell_id"]))
    steps = crossings(evaluations, measure, reaches)
    # Without networks there may be no column of ids either.
    frame = found.frame.assign(crossed=found.frame["cell_id"].map(steps) if len(found.frame) else [])
    return found, frame.dropna(subset="crossed")


def counted(found: Networks, frame: pd.DataFrame) -> str:
    """Words that name the networks, and count those that do not reach the level."""
    lost = len(found.frame) - len(frame)
    return f"{found.what}, {lost} of them do not reach it" if lost else found.what
