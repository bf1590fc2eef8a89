"""Checks of input that all statistics share."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def finite(name: str, values: ArrayLike) -> Floats:
    """`values` as a 1-D float array. ValueError that names them if they are empty, not 1-D, NaN or infinite."""
    array = np.asarray(values, dtype=float)
    if array.ndim != 1 or len(array) == 0:
        raise ValueError(f"{name} is not a list of numbers: shape {array.shape}" if array.ndim != 1 else f"no values in {name}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} has values that are not finite: {array[~np.isfinite(array)][:3]}")
    return array


def same_length(**arrays: Sequence[object] | Floats) -> None:
    """Check that the arrays have one length. ValueError that gives the lengths if they differ."""
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError("lengths differ: " + ", ".join(f"{length} of {name}" for name, length in lengths.items()))


def level_between_0_and_1(level: float) -> None:
    """Check a confidence level. ValueError for one such as 95."""
    if not 0 < level < 1:
        raise ValueError(f"level {level} is not between 0 and 1, such as 0.95")
