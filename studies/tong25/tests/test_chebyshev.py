"""The Runge-Kutta-Chebyshev integrator against exact solutions and against Euler's method."""

import numpy as np
import pytest
from scipy.special import expit
from sweepkit.studies.tong25.theory.chebyshev import integrate, spectral_radius


def norm(y):
    return float(np.linalg.norm(y))


def test_linear_flow_from_slow_to_stiff():
    rates = np.array([0.0, 1e-3, 0.1, 1.0, 30.0])
    calls = 0

    def flow(y):
        nonlocal calls
        calls += 1
        return 1 - rates * y

    times = [0.01, 1.0, 100.0]
    for y, t in zip(integrate(flow, np.zeros(5), times, lam=30.0, norm=norm, tolerance=1e-6), times, strict=True):
        exact = np.where(rates > 0, -np.expm1(-rates * t) / np.maximum(rates, 1e-300), t)
        # Errors of steps are at most 1e-6 (|y| + h |F|) each and add up over the steps, fewer than 1000 here and each
        # smaller than the last by far; 1e-4 of |y| leaves room for ten of them at their largest.
        assert norm(y - exact) <= 1e-4 * norm(exact)
    assert calls < 100 * 30 / 2  # Euler needs one evaluation each 2/lambda to be stable at all


def test_second_order():
    """A hundredth of the tolerance takes steps 100^(1/3) shorter: errors of order h^2 fall by 21, first order's by 4.6."""
    y0, rates = np.ones(3), np.array([0.3, 1.0, 2.0])
    error = []
    for tolerance in (1e-4, 1e-6):
        (y,) = integrate(lambda y: -rates * y, y0, [2.0], lam=2.0, norm=norm, tolerance=tolerance)
        error.append(norm(y - np.exp(-2 * rates)))
    assert error[0] / error[1] > 10


def test_logistic_flow_against_euler():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((12, 20))
    kernel, label = x @ x.T / 20, rng.integers(0, 2, 12)

    def flow(r):
        return label - expit(kernel @ r)

    def euler(n, end=20.0):
        r = np.zeros(12)
        for _ in range(n):
            r = r + end / n * flow(r)
        return r

    coarse, fine = euler(2000), euler(4000)
    radius = spectral_radius(lambda y: kernel @ y, np.ones(12))
    assert radius == pytest.approx(np.linalg.eigvalsh(kernel)[-1], rel=0.1)  # what the 1.1 of kernel_flow makes up for
    (ours,) = integrate(flow, np.zeros(12), [20.0], lam=1.1 * radius / 4, norm=norm, tolerance=1e-8)
    # Euler's error halves with its step, so extrapolation removes it up to its second order, (coarse - fine) * step; ours
    # adds 1e-8 a step for some hundred steps.
    assert norm(ours - (2 * fine - coarse)) <= 1e-2 * norm(coarse - fine) + 1e-6 * norm(fine)


def test_a_flow_that_is_not_finite_ends():
    with pytest.raises(FloatingPointError, match="not finite at t = 0"):
        next(integrate(lambda y: y * np.nan, np.ones(3), [1.0], lam=1.0, norm=norm, tolerance=1e-4))
