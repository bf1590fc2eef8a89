"""Networks: gradients against autograd, jumps against the energy, known features."""

import numpy as np
import pytest
import torch
from scipy.special import erf

from trainables.engines.langevin.energies.posterior import evaluate, make_posterior
from trainables.engines.langevin.setting import Setting
from trainables.tasks import Hermite3, Linear, Parity2, TokenPairs

ROUNDING = 1e-9
"""Relative. Sums of at most 100 terms in float64 (1e-16 each), through matrices whose condition is at most 1e4 here."""
NETWORKS = [{"network": "erf2"}, {"network": "relu2"}, {"network": "linear2"}, {"network": "erf3", "width1": 5},
            {"network": "cnn", "task": Linear(d=6, P=0, patch=2)},
            {"network": "attention", "task": TokenPairs(d=2, context=3, P=0)}]  # fmt: skip
LOGISTIC = [{"network": "relu2", "task": Parity2(d=6, P=0), "loss": "cross_entropy"},
            {"network": "erf3", "width1": 5, "task": Parity2(d=6, P=0), "loss": "cross_entropy"}]  # fmt: skip


def made(make_cell, n=7, **settings):
    """A posterior of width 4, d = 6 on n examples of noise, with as many directions as the task has, and u of two chains."""
    cell = make_cell(**({"task": Hermite3(d=6, P=0), "width": 4, "kappa": 0.1} | settings))
    rng = np.random.default_rng(1)
    x, y, target = (torch.from_numpy(rng.standard_normal(shape)) for shape in [(n, 6), n, 6])
    classifies = Setting(cell).classifies
    y = y.sign() if classifies else y
    directions = torch.from_numpy(cell.task.draw_symbols(rng)).double() if classifies else (target / target.norm())[None]
    posterior = make_posterior(cell, x, y, directions)
    return posterior, torch.from_numpy(rng.standard_normal((2, posterior.n_weights)))


@pytest.mark.parametrize("network", NETWORKS + LOGISTIC)
@pytest.mark.parametrize("n", [0, 3, 14])
def test_gradient_is_the_energys(make_cell, network, n):
    posterior, u = made(make_cell, n, **network)
    (expected,) = torch.autograd.grad(posterior.energy(u.requires_grad_()).sum(), u)
    torch.testing.assert_close(posterior.gradient(u.detach()), expected, rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.parametrize(
    ("network", "in_layer"),
    [(n, k) for n in NETWORKS + LOGISTIC for k in range(2 if n["network"] == "erf3" else 1)],
)
def test_replacing_a_neuron_changes_the_energy_by_what_is_said(make_cell, network, in_layer):
    posterior, u = made(make_cell, **network)
    neuron, chain = torch.tensor([1, 3]), torch.arange(2)
    layer, n_layers = posterior.layers(u)[in_layer][0], len(posterior.layers(u))
    candidates = torch.randn(2, layer.shape[1], 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    candidates[:, :, 0] = layer[chain, :, neuron]
    special = torch.tensor([[False, True, False], [False, False, True]])
    energies, b, log_ratio = posterior.alternatives(u, in_layer, neuron, candidates, special, np.random.default_rng(0))
    before, readouts = posterior.energy(u), posterior.readouts(u)
    if in_layer < n_layers - 1:
        readouts = readouts[:, :0]  # a neuron below the last layer has none
        assert b.shape == (2, 0)
    assert (b.shape == (2, 3) and torch.equal(b[:, 0], readouts[chain, neuron])) if readouts.shape[1] else not log_ratio.any()
    for k in range(3):
        layer[chain, :, neuron] = candidates[:, :, k]  # a view of u
        if readouts.shape[1]:
            readouts[chain, neuron] = b[:, k]  # too
        torch.testing.assert_close(energies[:, k] - energies[:, 0], posterior.energy(u) - before, rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.parametrize("network", NETWORKS + LOGISTIC)
def test_directions_are_of_unit_length(make_cell, network):
    posterior, u = made(make_cell, **network)
    for layer, e in posterior.layers(u):
        assert e.shape == (2, 2 if "task" in network and network["task"].name == "parity2" else 1, layer.shape[1])
        atol = 1e-7 if e.shape[1] == 2 else 0.0  # as the task gives them, float32
        torch.testing.assert_close(e.norm(dim=2), torch.ones(e.shape[:2], dtype=torch.float64), rtol=ROUNDING, atol=atol)


def test_a_linear_network_is_bayesian_linear_regression_given_its_weights(make_cell):
    """f = theta.x with theta = W a ~ N(0, v W W^T): its posterior mean is ridge regression with that covariance."""
    posterior, u = made(make_cell, network="linear2", width=8)
    x, y = posterior.x, posterior.readout.y
    fresh = torch.from_numpy(np.random.default_rng(2).standard_normal((4, 6)))
    for c in range(2):
        w = u[c].view(6, 8) / np.sqrt(6)
        theta = torch.linalg.solve(torch.linalg.inv(w @ w.T / 8) + x.T @ x / 0.1, x.T @ y / 0.1)
        torch.testing.assert_close(evaluate(posterior, u, fresh)[0][c], fresh @ theta, rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.parametrize("network", ["erf3", "cnn", "attention"])
def test_outputs_are_those_of_the_features_written_out(make_cell, network):
    """f = phi_test m with phi by the definition, example by example, and m = (kappa + v phi^T phi)^-1 v phi^T y."""
    posterior, u = made(make_cell, **next(n for n in NETWORKS if n["network"] == network))

    def features(x, weights):
        if network == "attention":
            heads = weights.reshape(2, 2, 4) / np.sqrt(2)
            return np.array([np.concatenate([attended(row.reshape(3, 2), heads[:, :, h]) for h in range(4)]) for row in x])
        if network == "cnn":
            w = weights.reshape(2, 4)
            return np.array(
                [[erf(w[:, i] @ row[2 * s : 2 * s + 2] / np.sqrt(2)) for s in range(3) for i in range(4)] for row in x]
            )
        w1, w2 = weights[:30].reshape(6, 5), weights[30:].reshape(5, 4)
        return np.array([erf(erf(row @ w1 / np.sqrt(6)) @ w2 / np.sqrt(5)) for row in x])

    def attended(tokens, A):
        found = np.zeros(2)
        for a in tokens:
            weights = np.exp([a @ A @ b / np.sqrt(2) for b in tokens])
            found += sum(p * b for p, b in zip(weights / weights.sum(), tokens, strict=True)) / np.sqrt(3)
        return found

    # Readouts of a CNN: 4 channels of 3 patches; of attention: 4 heads of 2 components.
    v = {"cnn": 1 / 12, "attention": 1 / 8, "erf3": 1 / 4}[network]
    fresh = np.random.default_rng(2).standard_normal((4, 6))
    for c in range(2):
        phi = features(posterior.x.numpy(), u[c].numpy())
        mean = np.linalg.solve(0.1 * np.eye(phi.shape[1]) + v * phi.T @ phi, v * phi.T @ posterior.readout.y.numpy())
        np.testing.assert_allclose(
            evaluate(posterior, u, torch.from_numpy(fresh))[0][c], features(fresh, u[c].numpy()) @ mean, rtol=ROUNDING
        )


def test_a_cnns_direction_is_the_one_that_its_patches_share(make_cell):
    task = Linear(d=6, P=0, patch=2)
    target = torch.from_numpy(task.draw_symbols(np.random.default_rng(0))).double()
    cell = make_cell(task=task, network="cnn", width=4)
    posterior = make_posterior(cell, torch.zeros(0, 6).double(), torch.zeros(0).double(), target[None])
    e = posterior.layers(torch.zeros(1, posterior.n_weights).double())[0][1][0, 0]
    patches = target.view(3, 2)
    torch.testing.assert_close((patches @ e).abs(), patches.norm(dim=1), rtol=1e-6, atol=1e-6)  # w* is float32


def test_a_second_layer_neuron_along_its_direction_is_linear_in_the_target(make_cell):
    """With a wide first layer, h2 = e2 . erf(h1) follows w*.x but for erf's bend and 1/sqrt(N1)."""
    posterior, u = made(make_cell, 200, network="erf3", width1=1000)
    e2 = posterior.layers(u)[1][1][:, 0]
    linear = posterior.x @ posterior.directions[0]
    for c in range(2):
        h2 = torch.erf(posterior.x @ u[c, :6000].view(6, 1000) / np.sqrt(6)) @ e2[c]
        # Of erf's power at unit variance (4/pi)/3 / ((2/pi) arcsin(2/3)) = 0.91 is linear. Were the rest not averaged over
        # neurons, the correlation were sqrt(0.91) = 0.956; 1/sqrt(N1) and 200 examples take less than the same again.
        assert torch.corrcoef(torch.stack([h2, linear]))[0, 1] > 0.9
