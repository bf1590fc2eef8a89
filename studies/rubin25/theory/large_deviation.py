"""How rare an aligned network is under the prior: a bound on P* for 2-layer erf networks, target He_3 [Rubin25 App. B].

d      input dimension, inputs x ~ N(0, I_d)
N      width
alpha  alignment <f, y> / <y, y> of output f and target y = He_3(w*.x) / sqrt(6)
c      overlap w.w* of a neuron's weights with the target's direction, N(0, 1/d) under the prior
r      length of its weights across w*: r^2 ~ chi^2_{d-1} / d under the prior (`free`); the paper sets r = 1 (`fixed`)
g(c)   projection of erf(w.x) on y
v      variance of a readout: 1/N, in mean field 1/N^2
t      conjugate of alpha: t = E'(alpha)
kappa  ridge: the posterior is prior x exp(-sum of squares / (2 kappa))

E(alpha) = max over t of t alpha - N log E_{c,r} exp(t^2 v g^2 / 2). A neuron that specialises also shrinks, to r near 0.51 for
alpha = 1 and N = d, so that the fixed length costs a quarter more than is needed. Where only the part of f along y errs, the
squares sum to P (1 - alpha)^2. Then alpha is most probable where t = P (1 - alpha) / kappa: P* = kappa t / (1 - alpha), with no
constant open.
"""

from functools import lru_cache
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from .rarity import rarity

Array = np.ndarray[Any, Any]
Scaling = Literal["standard", "mean_field"]
Length = Literal["free", "fixed"]
Size = Literal["d", "width"]

LARGEST_D = 10**6
"""Largest d, for which the grid of overlaps has 100,000 points for the energy."""
MOST_C, MOST_Z = 8.0, 60.0
"""The grid of overlaps ends at the larger of c = MOST_C, where g is flat, and MOST_Z standard deviations of the prior."""
COARSE, FINE = 0.1, 0.02
"""Steps of that grid in standard deviations of the prior. The integrand is even and smooth: with the coarse step the trapezoidal
rule is exact to rounding. The fine one counts neurons beyond a threshold."""
OUTLIER = 3.0
"""A neuron whose overlap has more prior standard deviations than this specialises [Rubin25 App. F]."""


class Aligned(NamedTuple):
    """The bound at one alpha: energy E, the t that attains it, and the distribution of overlaps that it asks for."""

    energy: float
    t: float
    overlap: Array
    density: Array
    """Density of each neuron's overlap, over `overlap`; its second peak holds the neurons that specialise."""


class _Neuron(NamedTuple):
    """One neuron on a grid of |c| (n,) and r (k,)."""

    c: Array
    log_prior: Array
    """Log of the prior's probability at each point, (n, k), as weights of a quadrature."""
    gain: Array
    """v g^2 / 2, (n, k)."""


def projection(c: Array | float, r: Array | float = 1.0) -> Array:
    """g^2 of a neuron with overlap c and length r across w*: (8 / (3 pi)) c^6 / (1 + 2 r^2 + 2 c^2)^3."""
    square = np.asarray(c, dtype=float) ** 2
    return 8 / (3 * np.pi) * (square / (1 + 2 * np.asarray(r, dtype=float) ** 2 + 2 * square)) ** 3


def aligned(alpha: float, N: int, d: int, scaling: Scaling = "standard", length: Length = "free") -> Aligned:
    """The bound at alignment alpha. ValueError for alpha <= 0, N < 1, d < 1, or d beyond LARGEST_D."""
    from scipy.special import logsumexp

    least, t = _solved(alpha, N, d, scaling, length)
    neuron = _neuron(N, d, scaling, length, FINE)
    tilted = logsumexp(t**2 * neuron.gain + neuron.log_prior, axis=1)
    weights = np.full(len(neuron.c), neuron.c[1])
    weights[[0, -1]] /= 2
    return Aligned(least, t, neuron.c, np.exp(tilted - logsumexp(tilted)) / weights)


def overlap_density(z: Array, t: float, N: int, d: int, scaling: Scaling = "standard", length: Length = "free") -> Array:
    """Density of a neuron's overlap in standard deviations of the prior, z = sqrt(d) c of either sign, where the bound asks for
    this t: the prior tilted by exp(t^2 v g^2 / 2), as its readout is integrated out. At t = 0 it is N(0, 1)."""
    from scipy.special import logsumexp

    neuron = _neuron(N, d, scaling, length, COARSE)
    total = logsumexp(t**2 * neuron.gain + neuron.log_prior)
    at, (r, log_r) = np.abs(np.asarray(z, dtype=float)) / np.sqrt(d), _lengths(d, length)
    tilt = logsumexp(t**2 * _variance(N, scaling) * projection(at[..., None], r) / 2 + log_r, axis=-1)
    return np.asarray(np.exp(tilt - d * at**2 / 2 - total) / np.sqrt(2 * np.pi))


def _variance(N: int, scaling: Scaling) -> float:
    return 1 / N if scaling == "standard" else 1 / N**2


def _neuron(N: int, d: int, scaling: Scaling, length: Length, step: float) -> _Neuron:
    """One neuron on a grid with this step of overlaps, in standard deviations of the prior."""
    if N < 1 or d < 1:
        raise ValueError(f"N = {N}, d = {d}: both must be positive")
    if d > LARGEST_D:
        raise ValueError(f"d = {d} needs a finer grid of overlaps; the largest is {LARGEST_D}")
    c = np.arange(0, max(MOST_C, MOST_Z / np.sqrt(d)), step / np.sqrt(d))
    log_c = 0.5 * np.log(2 * d / np.pi) - d * c**2 / 2 + np.log(c[1])
    log_c[[0, -1]] -= np.log(2)
    r, log_r = _lengths(d, length)
    return _Neuron(c, log_c[:, None] + log_r, _variance(N, scaling) * projection(c[:, None], r) / 2)


def _lengths(d: int, length: Length) -> tuple[Array, Array]:
    """Values of r (k,) and the logs of their weights: Gauss-Legendre nodes at least as dense as the prior's width asks for."""
    from scipy.special import gammaln

    if length == "fixed":
        return np.ones(1), np.zeros(1)
    k = d - 1
    if k == 0:
        return np.zeros(1), np.zeros(1)
    nodes, weights = np.polynomial.legendre.leggauss(40 + int(4 * np.sqrt(d)))
    longest = np.sqrt(k / d) + 9 / np.sqrt(d)
    r = (nodes + 1) / 2 * longest
    log_density = np.log(2) + k / 2 * np.log(d / 2) - gammaln(k / 2) + (k - 1) * np.log(r) - d * r**2 / 2
    return r, log_density + np.log(weights / 2 * longest)


@lru_cache(maxsize=4096)
def _solved(alpha: float, N: int, d: int, scaling: Scaling, length: Length) -> tuple[float, float]:
    """E(alpha), and the t that attains it."""
    if alpha <= 0:
        raise ValueError(f"alpha = {alpha}: must be positive")
    neuron = _neuron(N, d, scaling, length, COARSE)
    found = rarity(alpha, N, neuron.gain, neuron.log_prior)
    return found.energy, found.t


def as_scaling(name: str) -> Scaling:
    """The scaling that a cell's key `scaling` names. ValueError for any other name."""
    if name not in get_args(Scaling):
        raise ValueError(f"scaling {name!r}: one of {', '.join(get_args(Scaling))}")
    return "mean_field" if name == "mean_field" else "standard"


def energy(alpha: float, N: int, d: int, scaling: Scaling = "standard", length: Length = "free") -> float:
    """E(alpha)."""
    return _solved(alpha, N, d, scaling, length)[0]


def samples(alpha: float, N: int, d: int, kappa: float = 1.0, scaling: Scaling = "standard", length: Length = "free") -> float:
    """P* = kappa t / (1 - alpha), the samples at which networks are expected to have alignment alpha < 1.

    The part of the output orthogonal to y is taken to be 0; networks pay for it too, so that measured P* are larger.
    """
    if alpha >= 1:
        raise ValueError(f"alpha = {alpha}: must be below 1")
    return kappa * _solved(alpha, N, d, scaling, length)[1] / (1 - alpha)


def n_specialised(alpha: float, N: int, d: int, scaling: Scaling = "standard", beyond: float = OUTLIER) -> float:
    """Neurons of N whose overlap is beyond this many standard deviations of the prior, in networks of this alignment."""
    from scipy.integrate import cumulative_trapezoid

    found = aligned(alpha, N, d, scaling)
    below = cumulative_trapezoid(found.density, found.overlap, initial=0.0)
    return float(N * (below[-1] - np.interp(beyond / np.sqrt(d), found.overlap, below)))


def slope(alpha: float, N: Array, d: Array, scaling: Scaling = "standard", against: Size = "d") -> float:
    """Exponent of P* in d, or in N, fitted over these sizes, arrays (n,), for comparison with that of measured P*."""
    # P* is t times what no size enters; t has a value at alpha = 1 too.
    found = [_solved(alpha, int(n), int(k), scaling, "free")[1] for n, k in zip(N, d, strict=True)]
    return float(np.polyfit(np.log(np.asarray(d if against == "d" else N, dtype=float)), np.log(found), 1)[0])
