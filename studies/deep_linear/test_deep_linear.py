"""Half times of deep linear networks beside quadrature, independent numbers, and descent on weights by hand."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from sweepkit.studies.deep_linear.theory import d_lr, gaussian_start, leading, start, time_to, typical_start


@pytest.mark.parametrize("layers", [2, 3, 4, 5])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.95])
def test_it_solves_the_equation(layers, share):
    s, u_0 = 3.0, 1e-4

    def inverse(log_u):
        u = np.exp(log_u)
        return u / (layers * u ** (2 - 2 / layers) * (s - u))

    said, _ = quad(inverse, np.log(u_0), np.log(share * s), epsabs=1e-12, epsrel=1e-12)
    assert time_to(share, s, u_0, layers) == pytest.approx(said, rel=1e-9)


def test_numbers_of_an_independent_calculation():
    assert time_to(0.5, 3, 1e-4, 3) == pytest.approx(6.98, abs=0.005)  # given to three digits
    assert leading(3, 1e-4, 3) == pytest.approx(7.18, abs=0.005)


def test_descent_from_small_weights_has_the_half_times_of_an_independent_calculation():
    """2.018, 3.734 and 7.254 were measured for strengths 4, 2 and 1 where the closed form says 2.012, 3.726 and 7.200."""
    s, closed, measured = np.array([4.0, 2.0, 1.0]), np.array([2.012, 3.726, 7.2]), np.array([2.018, 3.734, 7.254])
    u_0 = s / (1 + np.exp(2 * s * closed))
    np.testing.assert_allclose(time_to(0.5, s, u_0, 2), closed, rtol=1e-12)
    rng = np.random.default_rng(0)
    w1, w2 = 1e-3 * rng.standard_normal((8, 64)) / 8**0.5, 1e-3 * rng.standard_normal((64, 3)) / 8
    for k in range(3):  # |z_k|^2/4 of each mode as in that calculation
        factor = 2 * u_0[k] ** 0.5 / np.linalg.norm(w1[k] + w2[:, k])
        w1[k], w2[:, k] = factor * w1[k], factor * w2[:, k]
    halves = half_times([w1, w2], s, step=0.002, until=9)
    # Steps lose rate x s, 0.4%; modes overlap at random, which moved that calculation by 0.2 to 0.8%.
    np.testing.assert_allclose(halves, measured, rtol=0.012)


@pytest.mark.parametrize("layers", [3, 4, 5])
def test_descent_from_balanced_weights(layers):
    s, u_0 = np.array([3.0, 1.5]), 1e-3
    rng = np.random.default_rng(layers)
    bases = [np.eye(4, 2), *(np.linalg.qr(rng.standard_normal((6, 2)))[0] for _ in range(layers - 1)), np.eye(2)]
    weights = [u_0 ** (1 / layers) * a @ b.T for a, b in pairwise(bases)]
    halves = half_times(weights, s, step=0.001, until=1.3 * float(time_to(0.5, s[-1], u_0, layers)))
    assert u_0 == pytest.approx(start("balanced", u_0 ** (1 / layers), layers, 4, 6))
    np.testing.assert_allclose(halves, time_to(0.5, s, u_0, layers), rtol=0.005)  # steps of 0.001 of times above 2


@pytest.mark.parametrize("layers", [3, 4])
def test_rescaled_gaussian_weights_take_a_power_of_the_scale(layers):
    rng = np.random.default_rng(layers)
    sizes = [(4, 6), *[(6, 6)] * (layers - 2), (6, 1)]
    weights = [rng.standard_normal(size) / size[0] ** 0.5 for size in sizes]
    scales = np.array([0.05, 0.1]) if layers == 3 else np.array([0.12, 0.18])
    halves = [half_times([scale * w for w in weights], np.ones(1), step=0.02, until=80)[0] for scale in scales]
    slope = np.diff(np.log(halves))[0] / np.diff(np.log(scales))[0]
    # Times of order 1 after the plateau, of about 20 or more, make it steeper.
    assert slope == pytest.approx(-(layers - 2), abs=0.1)
    assert start("gaussian", 0.1, layers, 4, 6) is None


def test_the_typical_start_is_the_geometric_mean():
    rng, d, m = np.random.default_rng(0), 4, 9
    draws = [gaussian_start(rng.standard_normal((3, m)) / d**0.5, rng.standard_normal((3, m)) / m**0.5) for _ in range(10_000)]
    mean = np.exp(np.log(draws).mean(axis=0))
    # The logarithm's standard deviation is about sqrt(2/m), 0.5: four standard errors are 2%.
    assert [typical_start(0.1, d, m, k) for k in (1, 2, 3)] == pytest.approx(0.01 * mean, rel=0.02)


@pytest.mark.parametrize("layers", [2, 4])
def test_d_lr_of_trained_balanced_weights(layers):
    s = np.array([3.0, 1.0])
    rng = np.random.default_rng(0)
    bases = [np.eye(4, 2), *(np.linalg.qr(rng.standard_normal((6, 2)))[0] for _ in range(layers - 1)), np.eye(2)]
    weights = [0.3 * a @ b.T for a, b in pairwise(bases)]
    descend(weights, s, 0.01, 6000)
    h = np.linalg.multi_dot([np.eye(4), *weights[:-1]])  # features of inputs of covariance 1
    kernel, output = h @ h.T, h @ weights[-1] @ weights[-1].T @ h.T
    assert d_lr(s, layers) == pytest.approx(
        1 - (kernel * output).sum() / np.linalg.norm(kernel) / np.linalg.norm(output), abs=1e-6
    )


def descend(weights, s, step, n):
    """Descent on |product - diag(s)|^2/2 in place. The modes before each step, (n, modes)."""
    target, modes = np.eye(len(weights[0]), len(s)) * s, np.empty((n, len(s)))
    for i in range(n):
        before = [np.eye(len(weights[0]))]
        for w in weights:
            before.append(before[-1] @ w)
        modes[i] = before[-1].diagonal()
        after, missing = np.eye(len(s)), target - before[-1]
        for layer in reversed(range(len(weights))):
            slope = before[layer].T @ missing @ after.T
            after = weights[layer] @ after
            weights[layer] = weights[layer] + step * slope
    return modes


def half_times(weights, s, step, until):
    """The times at which each mode of diag(s) is half learnt, on the line between two steps."""
    modes = descend(list(weights), s, step, round(until / step)) / s
    first = (modes >= 0.5).argmax(axis=0)
    assert (first > 0).all(), "no mode is learnt in time"
    k = np.arange(len(s))
    return step * (first - 1 + (0.5 - modes[first - 1, k]) / (modes[first, k] - modes[first - 1, k]))
