"""Monte Carlo values."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np


class Estimate(NamedTuple):
    """A mean of independent draws, and its standard error."""

    value: float
    standard_error: float

    @classmethod
    def of(cls, draws: Sequence[float] | np.ndarray[Any, Any]) -> Self:
        """Estimate of the mean of 2 draws or more."""
        return cls(float(np.mean(draws)), float(np.std(draws, ddof=1) / np.sqrt(len(draws))))
