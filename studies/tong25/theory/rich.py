"""The rich regime of same-different [Tong25 S3.1, App. C.5].

L     number of training symbols
rho   readout ratio |mean a-| / |mean a+| of the trained network; 1.5 in Eq. 3
Phi   standard normal distribution function
"""

from typing import Any

import numpy as np
from scipy.special import ndtr

Array = np.ndarray[Any, Any]

EQ3_RHO = 1.5


def different_accuracy(n_symbols: Array | float, rho: float = EQ3_RHO) -> Array:
    """Probability that a different pair of unseen symbols is classified right, Eq. C.18; for L >= 3."""
    pairs = np.asarray(n_symbols, dtype=float) ** 2 - np.asarray(n_symbols, dtype=float)
    return np.asarray(ndtr(np.sqrt(2 * pairs * (rho - 1) ** 2 / ((np.pi - 2) * (rho**2 + 1)))))


def test_accuracy(n_symbols: Array | float, rho: float = EQ3_RHO) -> Array:
    """Test accuracy of a rich network, Eq. 3: all same pairs right, different ones by C.18; 3/4 for L = 2. No dependence on d."""
    n = np.asarray(n_symbols, dtype=float)
    return np.where(n == 2, 0.75, 0.5 + 0.5 * different_accuracy(n, rho))
