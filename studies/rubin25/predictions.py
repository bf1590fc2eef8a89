"""The large-deviation bound as a theory of thresholds P* over the alignment, for page Scaling [Rubin25 App. B]."""

import pandas as pd

from analysis.scaling.predictions import AtSizes

from .bound import BOUND_UNIT, MEANING, MEASURE, OVER, lines, predicted_samples, scaling_of, slopes


def _thresholds(frame: pd.DataFrame, level: float) -> "pd.Series[float]":
    scaling = scaling_of(frame, MEASURE, OVER)
    assert scaling is not None  # as AtSizes.applies said
    return predicted_samples(frame, scaling, level)


AT_SIZES = (
    AtSizes(
        meaning=MEANING,
        unit=BOUND_UNIT,
        applies=lambda frame, measure, over: scaling_of(frame, measure, over) is not None,
        thresholds=_thresholds,
        lines=lines,
        slopes=slopes,
    ),
)
