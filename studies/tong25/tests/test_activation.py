"""Scaling of the activation change [Tong25 App. F] against small networks trained by a plain loop."""

import numpy as np
import pytest
from sweepkit.studies.tong25.theory.activation import fitted_scale, relative_change

N_SYMBOLS = 8


def trained_change(gamma, d, prefactor, seed=0, width=64, n_steps=100, batch=32, base_lr=0.1):
    rng = np.random.default_rng(seed)
    root = np.sqrt(d) if prefactor == "sqrt_d" else 1.0
    w0, a0 = rng.normal(0, width**-0.5, (width, 2 * d)), rng.normal(0, width**-0.5, width)
    s = rng.normal(0, d**-0.5, (N_SYMBOLS, d))
    w, a = w0, a0
    for _ in range(n_steps):
        u = rng.integers(N_SYMBOLS, size=batch)
        v = np.where(rng.random(batch) < 0.5, u, (u + rng.integers(1, N_SYMBOLS, size=batch)) % N_SYMBOLS)
        x = np.hstack([s[u], s[v]])
        hidden = np.maximum(x @ w.T, 0)
        f = (hidden @ a - np.maximum(x @ w0.T, 0) @ a0) / (gamma * root)
        residual = ((u == v) - 1 / (1 + np.exp(-f))) / (batch * gamma * root)
        rate = (gamma * root) ** 2 * base_lr
        w, a = w + rate * ((hidden > 0) * residual[:, None] * a).T @ x, a + rate * residual @ hidden
    z1, z2 = rng.normal(0, d**-0.5, (2, 256, d))
    z2[:128] = z1[:128]
    x = np.hstack([z1, z2])
    return np.abs(x @ (w - w0).T).mean() / np.abs(x @ w0.T).mean()


@pytest.mark.parametrize("prefactor", ["sqrt_d", "none"])
def test_trained_networks_move_in_proportion_to_gamma(prefactor):
    gamma = np.array([1e-5, 1e-4, 1e-3])
    change = np.array([trained_change(g, 32, prefactor) for g in gamma])
    scale, n = fitted_scale(change, gamma, 32, prefactor)
    assert n == 3
    # parameters move by O(gamma) of themselves [F.3], so the next order is of that size: 3 gamma at the largest
    np.testing.assert_allclose(relative_change(gamma, 32, prefactor, scale), change, rtol=3e-3)


@pytest.mark.parametrize("prefactor", ["sqrt_d", "none"])
def test_trained_networks_depend_on_d_only_without_the_prefactor(prefactor):
    def scale(d, seed):
        return fitted_scale(trained_change(1e-3, d, prefactor, seed), 1e-3, d, prefactor).scale

    scales = [[scale(d, seed) for seed in range(6)] for d in (64, 256)]
    (near, far), errors = np.mean(scales, 1), np.std(scales, 1, ddof=1) / np.sqrt(6)
    # 4 standard errors and L / d, the squared overlap of a symbol with the others; a wrong power of d would be off by 2
    assert near / far == pytest.approx(1, abs=4 * np.hypot(*errors) / far + N_SYMBOLS / 64)


def test_the_fit_takes_the_lazy_part_only():
    gamma = np.array([1e-4, 1e-3, 1e-2, 1.0])
    d = np.array([128, 256, 512, 1024])
    change = relative_change(gamma, d, "none", 0.3) * [2, 0.5, 1, 7]  # the factors of the lazy part have geometric mean 1
    scale, n = fitted_scale(change, gamma, d, "none")
    assert (scale, n) == (pytest.approx(0.3, rel=1e-12), 3)
    with pytest.raises(ValueError, match="gamma <= 1e-06"):
        fitted_scale(change, gamma, d, "none", largest_gamma=1e-6)


def test_values():
    assert relative_change(0.5, np.array([100, 400]), "sqrt_d", 2).tolist() == [1, 1]
    np.testing.assert_allclose(relative_change(0.5, np.array([100, 400]), "none", 2), [0.1, 0.05], rtol=1e-15)
