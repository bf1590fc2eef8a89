"""The integrated readout against the Gaussian it stands for, in both of its shapes, and its gradient against autograd."""

import numpy as np
import pytest
import torch

from trainables.engines.langevin.energies.readout import IntegratedReadout

ROUNDING = 1e-10
"""Relative. Sums of at most 100 terms in float64 (1e-16 each), through matrices whose condition is at most 1e4 here."""
NO_B = torch.zeros(2, 0, dtype=torch.float64)
SHAPES = [(7, 4), (4, 7), (5, 5), (1, 3)]


def drawn(n, m, seed=0):
    rng = np.random.default_rng(seed)
    return torch.from_numpy(rng.standard_normal((2, n, m))), IntegratedReadout(torch.from_numpy(rng.standard_normal(n)), 0.3, 0.4)


@pytest.mark.parametrize("shape", SHAPES)
def test_energy_and_mean_are_those_of_the_gaussian(shape):
    phi, readout = drawn(*shape)
    for c in range(2):
        p, y = phi[c].numpy(), readout.y.numpy()
        k = 0.3 * p @ p.T + 0.4 * np.eye(len(y))
        assert readout.energy(phi, NO_B)[c].item() == pytest.approx(
            (np.linalg.slogdet(k)[1] + y @ np.linalg.solve(k, y)) / 2, rel=ROUNDING
        )
        mean, f = readout.fit(phi, NO_B)
        np.testing.assert_allclose(mean[c], 0.3 * p.T @ np.linalg.solve(k, y), rtol=ROUNDING)
        np.testing.assert_allclose(y - f[c].numpy(), 0.4 * np.linalg.solve(k, y), rtol=ROUNDING)
        assert readout.loss(f)[c].item() == pytest.approx(np.mean((0.4 * np.linalg.solve(k, y)) ** 2), rel=ROUNDING)


@pytest.mark.parametrize("shape", SHAPES)
def test_gradient_is_the_energys(shape):
    phi, readout = drawn(*shape)
    (expected,) = torch.autograd.grad(readout.energy(phi.requires_grad_(), NO_B).sum(), phi)
    torch.testing.assert_close(readout.gradient(phi.detach(), NO_B)[0], expected, rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("shape", SHAPES)
def test_replacing_columns_changes_the_energy_by_what_is_said(shape, size):
    phi, readout = drawn(shape[0], shape[1] + 2)
    own = torch.tensor([[0, 2, 4], [shape[1] + 1, 1, 0]])[:, :size]
    chain = torch.arange(2).unsqueeze(1)
    candidates = torch.randn(2, shape[0], 4, size, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    candidates[:, :, 0] = phi[chain, :, own].mT  # as it is
    energies = readout.alternatives(phi, NO_B, own, candidates, torch.zeros(2, 4).bool(), np.random.default_rng(0)).energies
    for k in range(4):
        replaced = phi.clone()
        replaced[chain, :, own] = candidates[:, :, k].mT
        change = readout.energy(replaced, NO_B) - readout.energy(phi, NO_B)
        torch.testing.assert_close(energies[:, k] - energies[:, 0], change, rtol=ROUNDING, atol=ROUNDING)


def test_features_that_left_the_numbers_have_no_energy():
    phi, readout = drawn(7, 4)
    phi[0, 0, 0] = torch.nan
    energy = readout.energy(phi, NO_B)
    assert energy[0].isnan() and energy[1] == drawn(7, 4)[1].energy(drawn(7, 4)[0], NO_B)[1]
