"""How rare an aligned network is under the prior: the exact bound on P* for 2-layer erf networks, target He_3 [Rubin25 App. B].

d      input dimension, inputs x ~ N(0, I_d)
N      width
alpha  alignment <f, y> / <y, y> of output f and target y = He_3(w*.x) / sqrt(6)
c      overlap w.w* of a neuron's weights with the target's direction, N(0, 1/d) under the prior
g(c)   projection of erf(w.x) on y
t      conjugate of alpha
kappa  ridge: the posterior is prior x exp(-sum of squares / (2 kappa)), and P* ~ kappa E(alpha)
"""

from functools import lru_cache
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

Array = np.ndarray[Any, Any]
Scaling = Literal["standard", "mean_field"]
Size = Literal["d", "width"]

MOST_C, N_C = 40.0, 80_001
"""The grid of overlaps: g is flat beyond c = 10, and the prior of d = 2 ends before 10; 0.0005 is a hundredth of its width at
d = 400, where the trapezoidal rule is exact to rounding."""


COARSEST = 0.05
"""Largest step of that grid in deviations of the prior: with a larger one, neurons beyond three would be miscounted."""
LOG_T = (-10.0, 60.0)
OUTLIER = 3.0
"""A neuron whose overlap has more prior standard deviations than this specialises [Rubin25 App. F]."""


class Aligned(NamedTuple):
    """The bound at one alpha: energy E, the t that attains it, and the distribution of overlaps that it asks for."""

    energy: float
    t: float
    overlap: Array
    density: Array
    """Density of each neuron's overlap, over `overlap`; its second peak holds the neurons that specialise."""


def projection(c: Array | float) -> Array:
    """g(c)^2 of a neuron whose weights across w* have norm 1: (8 / (3 pi)) c^6 / (3 + 2 c^2)^3."""
    square = np.asarray(c, dtype=float) ** 2
    return 8 / (3 * np.pi) * (square / (3 + 2 * square)) ** 3


def aligned(alpha: float, N: int, d: int, scaling: Scaling = "standard") -> Aligned:
    """E(alpha) = max over t of t alpha - N log E_c exp(t^2 v g(c)^2 / 2), with readouts of variance v = 1/N, in mean field 1/N^2.

    ValueError for alpha <= 0, N < 1, d < 1, or a d so large that the grid of overlaps is too coarse.
    """
    from scipy.optimize import minimize_scalar
    from scipy.special import logsumexp

    if alpha <= 0:
        raise ValueError(f"alpha = {alpha}: must be positive")
    c, prior, weights, gain = _neuron(N, d, scaling)

    def minus(log_t: float) -> float:
        return float(N * logsumexp(np.exp(2 * log_t) * gain + prior, b=weights) - np.exp(log_t) * alpha)

    # What is maximised is concave in t, so it has one maximum in log t too.
    found = minimize_scalar(minus, bounds=LOG_T, method="bounded", options={"xatol": 1e-10})
    t = float(np.exp(found.x))
    tilted = t**2 * gain + prior
    return Aligned(float(-found.fun), t, c, np.exp(tilted - logsumexp(tilted, b=weights)))


def overlap_density(z: Array, t: float, N: int, d: int, scaling: Scaling = "standard") -> Array:
    """Density of a neuron's overlap in standard deviations of the prior, z = sqrt(d) c of either sign, where the bound asks for
    this t: the prior tilted by exp(t^2 v g(c)^2 / 2), as its readout is integrated out. At t = 0 it is N(0, 1)."""
    from scipy.special import logsumexp

    _, prior, weights, gain = _neuron(N, d, scaling)
    total = logsumexp(t**2 * gain + prior, b=weights)
    at = np.abs(np.asarray(z, dtype=float)) / np.sqrt(d)
    log_prior = 0.5 * np.log(2 * d / np.pi) - d * at**2 / 2
    return np.asarray(np.exp(t**2 * _variance(N, scaling) * projection(at) / 2 + log_prior - total) / (2 * np.sqrt(d)))


def _variance(N: int, scaling: Scaling) -> float:
    return 1 / N if scaling == "standard" else 1 / N**2


def _neuron(N: int, d: int, scaling: Scaling) -> tuple[Array, Array, Array, Array]:
    """One neuron over the grid of |c|: c, log of the prior density, weights of the quadrature, v g(c)^2 / 2."""
    if N < 1 or d < 1:
        raise ValueError(f"N = {N}, d = {d}: both must be positive")
    c = np.linspace(0, MOST_C, N_C)
    if c[1] * np.sqrt(d) > COARSEST:
        raise ValueError(f"d = {d} needs a finer grid of overlaps")
    weights = np.full(N_C, c[1])
    weights[[0, -1]] /= 2
    return c, 0.5 * np.log(2 * d / np.pi) - d * c**2 / 2, weights, _variance(N, scaling) * projection(c) / 2


def as_scaling(name: str) -> Scaling:
    """The scaling that a cell's key `scaling` names. ValueError for any other name."""
    if name not in get_args(Scaling):
        raise ValueError(f"scaling {name!r}: one of {', '.join(get_args(Scaling))}")
    return "mean_field" if name == "mean_field" else "standard"


@lru_cache(maxsize=1024)
def energy(alpha: float, N: int, d: int, scaling: Scaling = "standard") -> float:
    """E(alpha) alone."""
    return aligned(alpha, N, d, scaling).energy


def n_specialised(alpha: float, N: int, d: int, scaling: Scaling = "standard", beyond: float = OUTLIER) -> float:
    """Neurons of N whose overlap is beyond this many standard deviations of the prior, in networks of this alignment."""
    found = aligned(alpha, N, d, scaling)
    return float(N * np.trapezoid(np.where(found.overlap > beyond / np.sqrt(d), found.density, 0.0), found.overlap))


def slope(alpha: float, N: Array, d: Array, scaling: Scaling = "standard", against: Size = "d") -> float:
    """Exponent of E(alpha) in d, or in N, fitted over these sizes, arrays (n,), for comparison with the exponent of their P*."""
    energies = [energy(alpha, int(n), int(k), scaling) for n, k in zip(N, d, strict=True)]
    return float(np.polyfit(np.log(np.asarray(d if against == "d" else N, dtype=float)), np.log(energies), 1)[0])
