"""Learning curves of kernel ridge regression: the error that P drawn examples leave, in the typical case.

P        training examples; ridge: what is added to the diagonal of the kernel's matrix
rho_k    eigenvalues of the kernel over the inputs, h_k times each; v_k^2 power of the target along them, `lost` beyond them
L_k      rho_k/(rho_k + kappa), the share of eigenfunction k that is learnt
kappa    effective ridge per example: sum_k L_k + ridge/kappa = P, with df = sum_k L_k degrees of freedom
naive    sum_k (1 - L_k)^2 v_k^2 + lost, the error of the mean output over training sets
test     naive/(1 - sum_k L_k^2/P) [Simon21, Canatar21, Bordelon20]: what is not yet learnt acts as noise on what is
train    test (1 - df/P)^2, generalised cross validation read backwards; 1 - df/P = ridge/(kappa P)
kernel   that of wide erf networks of two layers, inputs x ~ N(0, I_d), R = |x|, y = He_k(w*.x)/sqrt(k!): E_w erf(w.x) erf(w.x')
         = (2/pi) arcsin(2 x.x'/sqrt((d + 2 R^2)(d + 2 R'^2))) [Williams97]. By degrees of spherical harmonics it is a kernel over
         R, each eigenvalue h times; it is odd, so that all of an even y is lost to it
The formula takes eigenfunctions to be Gaussian, which functions of R are not; R has a spread of 1/sqrt(2d), a fifth at d = 12.
On inputs of one length it holds there, too, but for the test error of He_1 with hardly any ridge (tests).
Rivals: 1/P at once, without steps; and the naive error.
"""

from functools import lru_cache
from math import factorial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from analysis.theory.lengths import lengths
from sweepkit.stats.checks import Floats

DEGREES = range(1, 14, 2)
"""Degrees of spherical harmonics."""
LEAST = 1e-13
"""Least eigenvalue that is kept; below it are rounding errors of the kernel. All others, like higher degrees, are part of the
ridge, as they are far below kappa."""
N_RADII, N_ANGLES = 60, 80
"""Nodes of the quadrature. R has a standard deviation below 1 at any d, and arcsin is analytic, as its argument stays below 1."""


class Spectrum(NamedTuple):
    """A kernel and a target over its eigenfunctions, arrays (K,)."""

    values: Floats
    """rho_k."""
    multiplicities: Floats
    """h_k."""
    powers: Floats
    """v_k^2, summed over the h_k functions."""
    lost: float = 0.0
    """Power of the target along functions of eigenvalue 0."""
    rest: float = 0.0
    """Trace of the kernel along eigenvalues too small to list, which act as ridge."""


class Errors(NamedTuple):
    """Theory for P examples: kappa, degrees of freedom, and mean squared errors."""

    kappa: float
    df: float
    naive: float
    test: float
    train: float


def errors(of: Spectrum, P: float, ridge: float) -> Errors:
    """The errors of ridge regression. ValueError unless P > 0 and ridge > 0."""
    if P <= 0 or ridge <= 0:
        raise ValueError(f"P = {P}, ridge = {ridge}: both must be positive")
    kappa = effective_ridge(of.values, of.multiplicities, ridge + of.rest, P)
    learnt = shares(of, kappa)
    naive = float((1 - learnt) ** 2 @ of.powers) + of.lost
    test = naive / (1 - float(of.multiplicities @ learnt**2) / P)
    return Errors(kappa, P - ridge / kappa, naive, test, test * (ridge / (kappa * P)) ** 2)


def effective_ridge(values: Floats, multiplicities: Floats, ridge: float, P: float) -> float:
    """kappa with sum_k h_k rho_k/(rho_k + kappa) + ridge/kappa = P. ValueError unless P > 0 and ridge > 0."""
    from scipy.optimize import brentq

    if P <= 0 or ridge <= 0:
        raise ValueError(f"P = {P}, ridge = {ridge}: both must be positive")

    def surplus(log_kappa: float) -> float:
        kappa = float(np.exp(log_kappa))
        return float(multiplicities @ (values / (values + kappa))) + ridge / kappa - P

    # At ridge/P the ridge alone is P; at (ridge + trace)/P all is less than P, as rho/(rho + kappa) < rho/kappa.
    highest = (ridge + float(values @ multiplicities)) / P
    return float(np.exp(brentq(surplus, np.log(ridge / P), np.log(highest), xtol=1e-12)))


def shares(of: Spectrum, kappa: float) -> Floats:
    """L_k (K,)."""
    return np.asarray(of.values / (of.values + kappa))


def of_hermite(degree: int, d: int, P: float, ridge: float) -> Errors:
    """The errors of network `erf_kernel` on task `hermite`."""
    return errors(spectrum(degree, d), P, ridge)


@lru_cache(maxsize=64)
def spectrum(degree: int, d: int, one_length: bool = False) -> Spectrum:
    """The erf network's kernel and He_degree(w*.x)/sqrt(degree!), by degrees of spherical harmonics and the length of x, which is
    sqrt(d) for all x if there is `one_length`."""
    from scipy.special import comb, eval_jacobi, roots_jacobi

    R, weights = (np.array([d**0.5]), np.ones(1)) if one_length else lengths(d, N_RADII)
    b = (d - 3) / 2  # cosines between random directions have the density (1 - cosine^2)^b
    cosine, of_angle = roots_jacobi(N_ANGLES, b, b)
    of_angle = of_angle / of_angle.sum()
    size = R / np.sqrt(d + 2 * R**2)
    kernel = 2 / np.pi * np.arcsin(2 * np.outer(size, size)[..., None] * cosine)
    target = hermite(degree, R[:, None] * cosine)

    values, multiplicities, powers = [], [], []
    for harmonic_degree in DEGREES:
        zonal = eval_jacobi(harmonic_degree, b, b, cosine) / eval_jacobi(harmonic_degree, b, b, 1.0)
        h = (2 * harmonic_degree + d - 2) / harmonic_degree * comb(harmonic_degree + d - 3, harmonic_degree - 1)
        found, vectors = np.linalg.eigh(np.sqrt(np.outer(weights, weights)) * (kernel @ (of_angle * zonal)))
        kept = found > LEAST
        # The zonal function has the norm 1/sqrt(h).
        along = vectors.T[kept] @ (np.sqrt(weights) * (target @ (of_angle * zonal))) * np.sqrt(h)
        values.append(found[kept])
        multiplicities.append(np.full(kept.sum(), h))
        powers.append(along**2)
    flat, h_of_each, squares = (np.concatenate(part) for part in (values, multiplicities, powers))
    trace = float(weights @ np.arcsin(2 * size**2)) * 2 / np.pi
    power = float(weights @ (target**2 @ of_angle))
    return Spectrum(flat, h_of_each, squares, max(power - float(squares.sum()), 0.0), trace - float(flat @ h_of_each))


def hermite(degree: int, c: ArrayLike) -> Floats:
    """He_degree(c)/sqrt(degree!), of power 1 over c ~ N(0, 1)."""
    series = np.array([0.0] * degree + [factorial(degree) ** -0.5])
    return np.asarray(np.polynomial.hermite_e.hermeval(np.asarray(c, float), series), float)
