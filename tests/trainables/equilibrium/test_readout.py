"""The integrated readout against the Gaussian it stands for, in both of its shapes, and its gradient against autograd."""

import numpy as np
import pytest
import torch

from trainables.equilibrium.networks import ACTIVATIONS, TwoLayer
from trainables.equilibrium.readout import Readout

ROUNDING = 1e-10
"""Relative. Sums of at most 100 terms in float64 (1e-16 each), through matrices whose condition is at most 1e4 here."""
SHAPES = [(7, 4), (4, 7), (5, 5), (1, 3)]


def drawn(n, m, seed=0):
    rng = np.random.default_rng(seed)
    return torch.from_numpy(rng.standard_normal((2, n, m))), Readout(torch.from_numpy(rng.standard_normal(n)), 0.3, 0.4)


@pytest.mark.parametrize("shape", SHAPES)
def test_energy_and_mean_are_those_of_the_gaussian(shape):
    phi, readout = drawn(*shape)
    for c in range(2):
        p, y = phi[c].numpy(), readout.y.numpy()
        k = 0.3 * p @ p.T + 0.4 * np.eye(len(y))
        assert readout.energy(phi)[c].item() == pytest.approx(
            (np.linalg.slogdet(k)[1] + y @ np.linalg.solve(k, y)) / 2, rel=ROUNDING
        )
        np.testing.assert_allclose(readout.mean(phi)[c], 0.3 * p.T @ np.linalg.solve(k, y), rtol=ROUNDING)
        np.testing.assert_allclose(readout.residual(phi)[c], 0.4 * np.linalg.solve(k, y), rtol=ROUNDING)


@pytest.mark.parametrize("shape", SHAPES)
def test_gradient_is_the_energys(shape):
    phi, readout = drawn(*shape)
    (expected,) = torch.autograd.grad(readout.energy(phi.requires_grad_()).sum(), phi)
    torch.testing.assert_close(readout.gradient(phi.detach()), expected, rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.parametrize("shape", SHAPES)
def test_replacing_a_column_changes_the_energy_by_what_is_said(shape):
    phi, readout = drawn(*shape)
    candidates = torch.randn(2, shape[0], 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    column = torch.tensor([0, shape[1] - 1])
    energies = readout.column_energies(phi, column, candidates)
    for k in range(3):
        replaced = phi.clone()
        replaced[torch.arange(2), :, column] = candidates[:, :, k]
        was = readout.column_energies(phi, column, phi[torch.arange(2), :, column].unsqueeze(-1)).squeeze(-1)
        torch.testing.assert_close(
            energies[:, k] - was, readout.energy(replaced) - readout.energy(phi), rtol=ROUNDING, atol=ROUNDING
        )


@pytest.mark.parametrize("network", ACTIVATIONS)
@pytest.mark.parametrize("n", [0, 5, 12])
def test_gradient_in_the_weights_is_the_energys(network, n):
    rng = np.random.default_rng(1)
    x, y, u = (torch.from_numpy(rng.standard_normal(shape)) for shape in [(n, 3), n, (2, 3, 6)])
    net = TwoLayer(x, Readout(y, 1 / 6, 0.1), torch.eye(3, dtype=torch.float64)[0], 6, ACTIVATIONS[network])
    (expected,) = torch.autograd.grad(net.energy(u.requires_grad_()).sum(), u)
    torch.testing.assert_close(net.gradient(u.detach()), expected, rtol=1e-9, atol=1e-9)  # ROUNDING, at kappa = 0.1 condition 1e3


def test_features_that_left_the_numbers_have_no_energy():
    phi, readout = drawn(7, 4)
    phi[0, 0, 0] = torch.nan
    energy = readout.energy(phi)
    assert energy[0].isnan() and energy[1] == drawn(7, 4)[1].energy(drawn(7, 4)[0])[1]


def test_a_linear_network_is_bayesian_linear_regression_given_its_weights():
    """f = theta.x with theta = W a ~ N(0, v W W^T): its posterior mean is ridge regression with that covariance."""
    rng = np.random.default_rng(2)
    x, y, u, fresh = (torch.from_numpy(rng.standard_normal(shape)) for shape in [(9, 3), 9, (2, 3, 5), (4, 3)])
    net = TwoLayer(x, Readout(y, 0.2, 0.1), torch.eye(3, dtype=torch.float64)[0], 5, ACTIVATIONS["linear2"])
    for c in range(2):
        precision = torch.linalg.inv(0.2 * u[c] @ u[c].T / 3) + x.T @ x / 0.1
        theta = torch.linalg.solve(precision, x.T @ y / 0.1)
        torch.testing.assert_close(net.outputs(u, fresh)[c], fresh @ theta, rtol=1e-9, atol=1e-9)
