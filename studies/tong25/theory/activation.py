"""How far hidden activations move in training [Tong25 App. F, Fig. F1].

h          preactivations W x of test examples
change     mean |h(t) - h(0)| / mean |h(0)| over neurons and examples
gamma      richness
d          dimension of one symbol
prefactor  `sqrt_d`: f = 1/(gamma sqrt(d)) ..., rate gamma^2 d alpha_0; `none`: both without d
scale      constant of proportionality; depends on steps, L, width and base rate, not on gamma and d
"""

from typing import Any, Literal, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]
Prefactor = Literal["sqrt_d", "none"]


class Fit(NamedTuple):
    """The fitted scale and the number of networks behind it."""

    scale: float
    n: int


def relative_change(gamma: Array | float, d: Array | float, prefactor: Prefactor, scale: float = 1.0) -> Array:
    """Change to leading order in gamma, App. F: scale gamma, without the prefactor / sqrt(d); not for gamma near 1."""
    by_d = 1.0 if prefactor == "sqrt_d" else np.sqrt(np.asarray(d, dtype=float))
    return np.asarray(scale * np.asarray(gamma, dtype=float) / by_d + np.zeros(np.shape(d)))


def fitted_scale(change: Array, gamma: Array, d: Array | float, prefactor: Prefactor, largest_gamma: float = 0.01) -> Fit:
    """Geometric mean of change / `relative_change` over the lazy part, arrays (n,); ValueError if nothing moved there."""
    x = np.asarray(change, dtype=float)
    is_lazy = np.atleast_1d((np.asarray(gamma) <= largest_gamma) & (x > 0))
    if not is_lazy.any():
        raise ValueError(f"no network with gamma <= {largest_gamma} has a positive change")
    ratios = np.atleast_1d(x / relative_change(gamma, d, prefactor))[is_lazy]
    return Fit(float(np.exp(np.log(ratios).mean())), len(ratios))
