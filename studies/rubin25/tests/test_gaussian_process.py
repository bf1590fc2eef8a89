"""The alignment of lazy networks: against kernel ridge regression on drawn sets, at its limits, and what is left beside it."""

import numpy as np
import pytest
from scipy.special import erf
from sweepkit.studies.rubin25.theory.gaussian_process import lazy_alignment, less_lazy
from sweepkit.studies.rubin25.theory.large_deviation import energy

from analysis.theory.ridge_curves import spectrum


def he3(x):
    return (x[:, 0] ** 3 - 3 * x[:, 0]) / np.sqrt(6)


def kernel(x, z):
    d = x.shape[1]
    norms = np.sqrt(np.outer(d + 2 * (x**2).sum(1), d + 2 * (z**2).sum(1)))
    return 2 / np.pi * np.arcsin(2 * x @ z.T / norms)


def of_drawn_sets(P, d, kappa, v, n_sets):
    """A_f of ridge regression with v K on each of `n_sets` drawn sets."""
    found = []
    for seed in range(n_sets):
        rng = np.random.default_rng(seed)
        x, z = rng.standard_normal((P, d)), rng.standard_normal((4096, d))
        f = v * kernel(z, x) @ np.linalg.solve(v * kernel(x, x) + kappa * np.eye(P), he3(x))
        found.append((f * he3(z)).mean() / (he3(z) ** 2).mean())
    return np.array(found)


def test_the_kernel_is_that_of_random_networks():
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((6, 8)), rng.standard_normal((400_000, 8)) / np.sqrt(8)
    features = erf(x @ w.T)
    np.testing.assert_allclose(kernel(x, x), features @ features.T / len(w), atol=5 / len(w) ** 0.5)


@pytest.mark.parametrize(("P", "d", "kappa", "N"), [(800, 16, 0.1, 1), (400, 6, 1.0, 1), (400, 6, 0.1, 8)])
def test_drawn_sets_have_this_alignment(P, d, kappa, N):
    found = of_drawn_sets(P, d, kappa, 1 / N, 16)
    said = lazy_alignment(P, N, d, kappa, "mean_field")  # at N = 1 both scalings are one
    error = found.std(ddof=1) / len(found) ** 0.5
    # Features are not Gaussian, as the formula has it: of longer runs the ratio is 0.91 to 0.97.
    assert 0.91 * said - 3 * error < found.mean() < 0.97 * said + 3 * error
    if d == 16:
        assert abs(found.mean() - 0.147) < 2 * found.std(ddof=1), "0.147, an audit's value, is that of an ordinary set"


def test_the_spectrum_is_that_of_kernel_and_target():
    for d in (2, 16, 100):
        values, multiplicities, coefficients, _, rest = spectrum(3, d)
        x = np.random.default_rng(0).standard_normal((200_000, d))
        share = 2 * (x**2).sum(1) / (d + 2 * (x**2).sum(1))
        trace = 2 / np.pi * np.arcsin(share)
        assert (values * multiplicities).sum() + rest == pytest.approx(trace.mean(), abs=5 * trace.std() / len(x) ** 0.5)
        assert 0 <= rest < 0.01 * trace.mean()
        assert coefficients.sum() == pytest.approx(1, abs=1e-3)  # the rest lies along eigenvalues too small to keep


def test_few_samples_and_a_large_ridge_leave_the_variance_along_the_target():
    """A = P <y, K y> / kappa to first order; <y, K y> = E g^2 is also the curvature of the bound of very wide networks."""
    variance = 0.25 / (2 * energy(0.5, 10**14, 16))
    assert lazy_alignment(10, 1, 16, 1e6) == pytest.approx(10 * variance / 1e6, rel=1e-3)
    assert lazy_alignment(0, 16, 16, 1.0) == 0
    assert lazy_alignment(10**9, 4, 4, 1e-3) == pytest.approx(1, abs=1e-2)


def test_what_lazy_learning_leaves_is_what_a_kernel_along_the_target_supplies():
    """Ridge regression with the sum of both kernels, K and 0.005 y y'; the second one's part of the output is m y."""
    rng = np.random.default_rng(0)
    x, z = rng.standard_normal((600, 8)), rng.standard_normal((4096, 8))
    y, of_z = he3(x), he3(z)

    def alignment(f):
        return (f * of_z).mean() / (of_z**2).mean()

    lazy = alignment(kernel(z, x) @ np.linalg.solve(kernel(x, x) + 0.5 * np.eye(600), y))
    dual = np.linalg.solve(kernel(x, x) + 0.005 * np.outer(y, y) + 0.5 * np.eye(600), y)
    m = 0.005 * y @ dual
    both = alignment(kernel(z, x) @ dual + m * of_z)
    assert 0.05 < lazy < 0.95 and 0.05 < m < 0.95  # neither of them decides alone
    assert less_lazy(both, lazy) == pytest.approx(m, rel=1e-9)


def test_what_is_refused():
    with pytest.raises(ValueError, match="d at least 2"):
        lazy_alignment(10, 10, 1, 1.0)
