"""Networks whose width grows with the input dimension, N = c d."""

import pandas as pd


def in_proportion(frame: pd.DataFrame, of: str = "width", to: str = "d") -> pd.DataFrame:
    """The rows in which `of` is one multiple of `to`: of those, where there are several, the one with most values of `to`."""
    ratio = (frame[of] / frame[to]).round(9)
    spanned = frame.groupby(ratio)[to].nunique()
    return frame[ratio == spanned.idxmax()].reset_index(drop=True)
