"""The tangent kernel [Tong25 App. D] against random networks, and Theorem 2's bound at its limits."""

import numpy as np
import pytest
from sweepkit.studies.tong25.theory.lazy import accuracy_bound, error_bound, ntk, ntk_of_inputs, tangent_kernel


def test_kernel_is_that_of_a_wide_random_network():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((8, 6))
    x[1], x[2] = -x[0], 3 * x[0]  # the ends of K's range, and homogeneity
    width = 100_000
    w, a = rng.standard_normal((6, width)) / np.sqrt(width), rng.standard_normal(width) / np.sqrt(width)
    norms = np.linalg.norm(x, axis=1)
    # A neuron adds relu relu' + a^2 1 1' cos, for unit inputs and unit variances; its second moment is at most
    # 3/2 + 2 * 1/2 + 3 * 1/2 = 4 (at cos = 1), so an entry's standard error at most 2/sqrt(width); 4 of them for 64 entries.
    difference = (tangent_kernel(x, x, w, a) - ntk_of_inputs(x, x)) / np.outer(norms, norms)
    assert np.abs(difference).max() <= 4 * 2 / np.sqrt(width)


def test_tangent_kernel_is_the_product_of_gradients():
    rng = np.random.default_rng(1)
    x, w, a = rng.standard_normal((3, 4)), rng.standard_normal((4, 5)), rng.standard_normal(5)

    def f(theta):
        return np.maximum(x @ theta[5:].reshape(4, 5), 0) @ theta[:5]

    theta, h = np.concatenate([a, w.ravel()]), 1e-6
    gradients = np.array([(f(theta + h * e) - f(theta - h * e)) / (2 * h) for e in np.eye(len(theta))]).T
    # Away from kinks f is quadratic: central differences are exact up to rounding, 1e-16/h of sums and gradients near 10.
    np.testing.assert_allclose(tangent_kernel(x, x, w, a), gradients @ gradients.T, rtol=0, atol=1e-7)


def test_values_of_the_kernel():
    np.testing.assert_allclose(ntk([-1.0, 0.0, 1.0, 1 + 1e-12]), [0, 1 / (2 * np.pi), 1, 1], atol=1e-15)
    u = 1e-3
    # K = 1/(2 pi) + u/2 + 3 u^2/(4 pi) + O(u^4) [App. D]
    assert float(ntk(u)) == pytest.approx(1 / (2 * np.pi) + u / 2 + 3 * u**2 / (4 * np.pi), abs=u**4)


def test_bound():
    assert float(error_bound(1, 1000, c=1.0)) == 0.5  # chance, however few the symbols
    assert float(error_bound(4 * 64, 8, c=2.0)) == pytest.approx(np.exp(-8))
    assert float(accuracy_bound(1e9, 8, c=0.1)) == 1.0
    n = np.arange(2, 200)
    np.testing.assert_allclose(error_bound(4 * n, 32, c=0.7), error_bound(n, 16, c=0.7), rtol=1e-12)  # L/d^2 alone
