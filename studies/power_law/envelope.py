"""The least error that compute allows: the lower envelope of training curves of several sizes."""

import numpy as np
import pandas as pd

from analysis.scaling.optimum import optimum
from sweepkit.stats.checks import Floats

COMPUTE, SIZE = "compute", "best_size"


def envelope(curves: pd.DataFrame, over: str, measure: str, compute: Floats) -> pd.DataFrame:
    """The least `measure` over sizes at each compute C = size x step, and the best size: columns COMPUTE, `measure`, SIZE.

    curves: one row per size `over` and step, with the measure above 0. Between steps the measure is interpolated on logarithmic
    axes; a size that was not evaluated before and after the step C/size is left out, and a compute that no size reaches, too.
    The best size is the least of a parabola in logarithms through the best three, and NaN where it is the first or last one.
    """
    sizes = np.sort(curves[over].unique())
    values = np.full((len(sizes), len(compute)), np.inf)
    for row, size in zip(values, sizes, strict=True):
        of = curves[(curves[over] == size) & (curves["step"] > 0)].sort_values("step")
        steps, logs = np.log(of["step"].to_numpy(float)), np.log(of[measure].to_numpy(float))
        row[:] = np.interp(np.log(compute / size), steps, logs, left=np.inf, right=np.inf)
    reached = np.isfinite(values).any(0)
    best = [optimum(sizes, column) for column in values[:, reached].T]
    return pd.DataFrame({
        COMPUTE: compute[reached],
        measure: np.exp(values[:, reached].min(0)),
        SIZE: [one.x if not one.at else np.nan for one in best],
    })  # fmt: skip
