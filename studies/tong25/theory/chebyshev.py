"""Stabilised explicit integration: the second-order Runge-Kutta-Chebyshev method of Sommeijer, Shampine and Verwer,
RKC: an explicit solver for parabolic PDEs, J. Comput. Appl. Math. 88 (1997).

dy/dt = F(y)   with the eigenvalues of -dF/dy real and in [0, lambda], as those of a gradient flow
s     stages of a step, each one evaluation of F; a step of length h is stable for h lambda <= 2/3 (s^2 - 1)(1 - 2 EPS/15),
      so that a stiff stretch costs the square root of what it costs Euler's method
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from math import ceil, sqrt
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev

Array = np.ndarray[Any, Any]

EPS = 2 / 13
"""Damping of the method."""
REACH = 2 / 3 * (1 - 2 * EPS / 15)
SAFETY, MOST_GROWTH, LEAST_GROWTH = 0.8, 5.0, 0.1
"""A step takes 0.8 of the length that the error of the last one allows, and is at most 5 times longer or 10 times shorter."""


def integrate(
    flow: Callable[[Array], Array], y: Array, times: Sequence[float], lam: float, norm: Callable[[Array], float], tolerance: float
) -> Iterator[Array]:
    """y at each of the ascending times, from y at t = 0. A step's estimated error is at most tolerance * (|y| + h |F(y)|).

    `lam` bounds the spectral radius of dF/dy on the whole way. FloatingPointError if y or F stops being finite.
    """
    t, h, slope = 0.0, min(1 / lam, times[0]), flow(y)
    for end in times:
        while t < end:
            # Two halves rather than a whole step and a sliver.
            step = end - t if end - t <= h else min(h, (end - t) / 2)
            new, new_slope = _step(flow, y, slope, step, lam)
            scale = tolerance * (norm(y) + step * norm(slope))
            error = norm(0.8 * (y - new) + 0.4 * step * (slope + new_slope)) / scale if scale != 0 else 0.0
            if not np.isfinite(error):
                raise FloatingPointError(f"the flow is not finite at t = {t:g}, in a step of {step:g}")
            if error <= 1:
                t = end if step == end - t else t + step
                y, slope = new, new_slope
            growth = min(max(SAFETY / max(error, 1e-9) ** (1 / 3), LEAST_GROWTH), MOST_GROWTH)
            # A step cut short by `end` says little about longer ones.
            h = step * growth if error > 1 else max(h, step * growth) if step < h else step * growth
        yield y


def spectral_radius(product: Callable[[Array], Array], start: Array, rounds: int = 12) -> float:
    """Largest eigenvalue of a linear map with non-negative ones, from below, by the power method."""
    y, radius = start / np.linalg.norm(start), 0.0
    for _ in range(rounds):
        y = product(y)
        radius = float(np.linalg.norm(y))
        y = y / radius
    return radius


def _step(flow: Callable[[Array], Array], y: Array, slope: Array, h: float, lam: float) -> tuple[Array, Array]:
    s = max(2, ceil(sqrt(1 + h * lam / REACH)))
    first, rest = _coefficients(s)
    before, now = y, y + first * h * slope
    for mu, nu, mu_t, gamma_t in rest:
        before, now = now, (1 - mu - nu) * y + mu * now + nu * before + h * (mu_t * flow(now) + gamma_t * slope)
    return now, flow(now)


@cache
def _coefficients(s: int) -> tuple[float, list[tuple[float, float, float, float]]]:
    """mu~_1 and (mu, nu, mu~, gamma~) of the stages 2..s."""
    w0 = 1 + EPS / s**2
    basis = np.eye(s + 1)
    value, first, second = (np.array([chebyshev.chebval(w0, chebyshev.chebder(e, n)) for e in basis]) for n in range(3))
    w1 = first[s] / second[s]
    b = np.empty(s + 1)
    b[2:] = second[2:] / first[2:] ** 2
    b[:2] = b[2]
    a = 1 - b * value
    rest = []
    for j in range(2, s + 1):
        mu_t = 2 * b[j] * w1 / b[j - 1]
        rest.append((2 * b[j] * w0 / b[j - 1], -b[j] / b[j - 2], mu_t, -a[j - 1] * mu_t))
    return float(b[1] * w1), [tuple(map(float, row)) for row in rest]  # type: ignore[misc]
