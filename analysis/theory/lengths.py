"""Quadrature over the length R = |x| of x ~ N(0, I_d)."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

REACH = 9.0
"""R differs from sqrt(d) by more than this with a probability below exp(-40)."""


def lengths(d: int, n: int) -> tuple[Array, Array]:
    """n Gauss-Legendre nodes R, (n,), and their weights under R's density, which is analytic; the weights' sum is 1."""
    nodes, weights = np.polynomial.legendre.leggauss(n)
    low, high = max(0.0, np.sqrt(d) - REACH), np.sqrt(d) + REACH
    R = low + (high - low) * (nodes + 1) / 2
    log_density = (d - 1) * np.log(R) - R**2 / 2
    weights = weights * np.exp(log_density - log_density.max())
    return R, weights / weights.sum()
