"""How much of He_3 lazy networks learn: kernel ridge regression with the kernel of infinitely wide 2-layer erf networks.

d        input dimension, inputs x ~ N(0, I_d); R = |x|
y        target He_3(w*.x) / sqrt(6)
v        variance of a readout times the width: 1 in standard scaling, 1/N in mean field
K        kernel, v E_w erf(w.x) erf(w.x') = v (2/pi) arcsin(2 x.x' / sqrt((d + 2 R^2)(d + 2 R'^2)))  [Williams 1997]
l, h     degree of spherical harmonics, of which there are h; only odd l have an eigenvalue above 0
lambda   eigenvalues of K over the inputs: at each l those of a kernel over R, each h times
P        training samples; kappa ridge
s        effective ridge per sample: P = sum lambda / (lambda + s) + kappa / s  [Simon et al. 2023, arXiv:2110.03922]
A        alignment <f, y>, the sum of y's squared coefficients times lambda / (lambda + s). The formula takes features to be
         Gaussian: kernel ridge regression on drawn sets has 3 to 9% less at d = 6 and 16, P = 400 to 3200
E        test error <(f - y)^2>: the sum of y's squared coefficients times (1 - L)^2, L = lambda / (lambda + s), over
         1 - (sum L^2)/P [Simon et al. 2023]
"""

from functools import lru_cache
from typing import Any

import numpy as np

from analysis.theory.equilibrium.large_deviation import Scaling
from analysis.theory.lengths import lengths

Array = np.ndarray[Any, Any]

DEGREES = range(1, 14, 2)
LEAST = 1e-13
"""Least eigenvalue that is kept; below it are rounding errors of K. All others, like higher degrees, are part of the ridge, as
they are far below s."""
N_RADII, N_ANGLES = 60, 80
"""Nodes of the quadrature. R has a standard deviation below 1 at any d, and arcsin is analytic, as its argument stays below 1."""


def lazy_alignment(P: float, N: int, d: int, kappa: float, scaling: Scaling = "standard") -> float:
    """A of a lazy network, 0 without samples. ValueError unless P >= 0, kappa > 0, N >= 1 and d >= 2."""
    learnt, _, coefficients = _learnt(P, N, d, kappa, scaling)
    return float((coefficients * learnt).sum())


def lazy_error(P: float, N: int, d: int, kappa: float, scaling: Scaling = "standard") -> float:
    """E of a lazy network, 1 without samples. ValueError as for `lazy_alignment`."""
    learnt, multiplicities, coefficients = _learnt(P, N, d, kappa, scaling)
    if P == 0:
        return 1.0
    left = float((coefficients * (1 - learnt) ** 2).sum()) + 1 - float(coefficients.sum())
    return left / (1 - float((multiplicities * learnt**2).sum()) / P)


def _learnt(P: float, N: int, d: int, kappa: float, scaling: Scaling) -> tuple[Array, Array, Array]:
    """lambda / (lambda + s) of each eigenvalue, how many harmonics it has, and y's squared coefficients."""
    from scipy.optimize import brentq

    if P < 0 or kappa <= 0 or N < 1 or d < 2:
        raise ValueError(f"P = {P}, N = {N}, d = {d}, kappa = {kappa}: positive, and d at least 2")
    values, multiplicities, coefficients, rest = _spectrum(d)
    if P == 0:
        return 0 * values, multiplicities, coefficients
    v = 1.0 if scaling == "standard" else 1 / N
    values, ridge = v * values, kappa + v * rest

    def surplus(log_s: float) -> float:
        s = np.exp(log_s)
        return float((multiplicities * values / (values + s)).sum() + ridge / s - P)

    # s = (ridge + v) / P has a surplus below 0, as K's trace is less than v; ridge / P has one above 0.
    s = np.exp(brentq(surplus, np.log(ridge / P) - 1, np.log((ridge + v) / P) + 1, xtol=1e-12))
    return values / (values + s), multiplicities, coefficients


def less_lazy(alignment: float, lazy: float) -> float:
    """The alignment that specialising neurons supply in a network of this alignment whose lazy learning alone has A = `lazy`.

    They leave (1 - m) y of the target, and lazy learning supplies A of that: alignment = m + A (1 - m), solved for m. This is
    exact for ridge regression with the sum of two kernels, K and one along y. At most 0 where a lazy network has as much.
    """
    return (alignment - lazy) / (1 - lazy)


@lru_cache(maxsize=64)
def _spectrum(d: int) -> tuple[Array, Array, Array, float]:
    """At v = 1: eigenvalues of K, how many harmonics each has, y's squared coefficients, and the trace that is left of K."""
    from scipy.special import comb, eval_jacobi, roots_jacobi

    R, weights = lengths(d, N_RADII)
    b = (d - 3) / 2  # cosines between random directions have the density (1 - cosine^2)^b
    cosine, of_angle = roots_jacobi(N_ANGLES, b, b)
    of_angle = of_angle / of_angle.sum()
    size = R / np.sqrt(d + 2 * R**2)
    kernel = 2 / np.pi * np.arcsin(2 * np.outer(size, size)[..., None] * cosine)

    trace = float(weights @ np.arcsin(2 * size**2)) * 2 / np.pi
    values, multiplicities, coefficients = [], [], []
    for degree in DEGREES:
        harmonic = eval_jacobi(degree, b, b, cosine) / eval_jacobi(degree, b, b, 1.0)
        radial = np.sqrt(np.outer(weights, weights)) * (kernel @ (of_angle * harmonic))
        found, vectors = np.linalg.eigh(radial)
        h = (2 * degree + d - 2) / degree * comb(degree + d - 3, degree - 1)
        kept = found > LEAST
        values.append(found[kept])
        multiplicities.append(np.full(kept.sum(), h))
        coefficients.append((vectors.T[kept] @ (np.sqrt(weights) * _radial_part(degree, R, d))) ** 2)
    flat, h_of_each, squares = (np.concatenate(part) for part in (values, multiplicities, coefficients))
    return flat, h_of_each, squares, trace - float((flat * h_of_each).sum())


def _radial_part(degree: int, R: Array, d: int) -> Array:
    """y's part of this degree over R, times a harmonic of norm 1: u^3 - 3u is R^3 (xi^3 - 3 xi/(d+2)) + (3 R^3/(d+2) - 3 R) xi,
    xi = u/R."""
    if degree == 1:
        return (3 * R**3 / (d + 2) - 3 * R) / np.sqrt(6 * d)
    return R**3 * np.sqrt((d - 1) / (d * (d + 2) ** 2 * (d + 4))) if degree == 3 else 0 * R
