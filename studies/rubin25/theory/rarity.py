"""How rare an alignment is under the prior: the Legendre transform that all large-deviation bounds share [Rubin25 App. B].

alpha  alignment that N independent neurons are to have together
gain   what a neuron's state adds: its integrated readout gives E exp(t a g) = exp(t^2 gain), gain = v g^2 / 2
t      conjugate of alpha
"""

from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]

LOG_T = (-10.0, 60.0)
"""Between these the maximum is looked for: t is some alpha / (2 N gain) there, and E <= t alpha is nothing below exp(-10)."""


class Rarity(NamedTuple):
    """E, the t that attains it, and the log weights of the neuron's states under the prior tilted by exp(t^2 gain)."""

    energy: float
    t: float
    tilted: Array


def rarity(alpha: float, N: int, gain: Array, log_weights: Array) -> Rarity:
    """max over t of t alpha - N log sum exp(t^2 gain + log_weights), over a quadrature of the neuron's states, of sum 1."""
    from scipy.optimize import minimize_scalar
    from scipy.special import logsumexp

    def minus(log_t: float) -> float:
        return float(N * logsumexp(np.exp(2 * log_t) * gain + log_weights) - np.exp(log_t) * alpha)

    # The function is concave in t, so it has one maximum in log t too.
    found = minimize_scalar(minus, bounds=LOG_T, method="bounded", options={"xatol": 1e-10})
    t = float(np.exp(found.x))
    tilted = t**2 * gain + log_weights
    return Rarity(float(-found.fun), t, tilted - logsumexp(tilted))
