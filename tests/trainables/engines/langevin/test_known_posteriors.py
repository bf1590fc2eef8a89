"""Sampled cells where the answer is known: quadrature over what one neuron has, the prior, the Gaussian process."""

import numpy as np
import pytest
import torch

from trainables.engines.langevin.chains import Chains
from trainables.engines.langevin.energies.posterior import evaluate
from trainables.engines.langevin.measures import foremost
from trainables.engines.langevin.run import EquilibriumRun
from trainables.engines.langevin.sampler import Sampler
from trainables.tasks import Hermite3, Linear, Parity2, TokenPairs

GRID = torch.linspace(-7, 7, 281, dtype=torch.float64)
"""Each weight in units of its prior, which ends at 2e-11 of its peak; the integrands are smooth over many steps of 0.05."""
COARSE = torch.linspace(-6, 6, 61, dtype=torch.float64)
"""The grid of each of three weights: the prior ends at 1e-8 of its peak; where relu bends, steps of 0.2 are off by 0.003, next to
errors of 0.05."""


def sampled(cell):
    run = EquilibriumRun([cell])
    run.advance(np.inf)
    (result,) = run.results()
    return run.chains[0], result


def by_quadrature(posterior, values, keep=None):
    """Posterior mean of `values(u)` (n,) for one neuron of two weights, and its readout where that is sampled."""
    u = torch.cartesian_prod(GRID, GRID) if posterior.n_weights == 2 else torch.cartesian_prod(COARSE, COARSE, COARSE)
    log_weight = -posterior.energy(u) - u.square().sum(1) / 2
    if keep is not None:
        log_weight[~keep(u)] = -torch.inf
    return float((log_weight.softmax(0) * values(u)).sum())


PARITIES = [("relu2", Parity2(d=2, P=6), loss) for loss in ("mse", "cross_entropy")]


@pytest.mark.parametrize(
    ("network", "task", "loss"),
    [(n, t, "mse") for n in ("erf2", "relu2", "linear2") for t in (Hermite3(d=2, P=6), Linear(d=2, P=6))] + PARITIES,
)
def test_one_neuron_is_sampled_as_quadrature_says(make_cell, network, task, loss):
    cell = make_cell(task=task, network=network, loss=loss, width=1, steps=600, test_size=32, dtype="float32")
    chains, result = sampled(cell)
    aligned = lambda u: evaluate(chains.posterior, u, chains.x_test)[0] @ chains.y_test / 32  # noqa: E731
    exact = by_quadrature(chains.posterior, aligned)
    assert result.mixed and result.alignment_f_se < 0.05
    assert abs(result.alignment_f - exact) < 4 * result.alignment_f_se  # 1 in 16,000 by chance, and the draws are fixed
    beyond = lambda u: ((u[:, :2] @ chains.posterior.directions.T).abs() > 3).any(1).double()  # noqa: E731
    special = by_quadrature(chains.posterior, beyond)
    assert abs(result.n_specialised[0] - special) < 4 * np.sqrt(special / 100)  # of ESS >= 100 independent draws of 0 or 1
    assert result.overlap.sum() == pytest.approx(1)  # every neuron is in a bin


def test_jumps_alone_leave_the_posterior_as_it_is(make_cell):
    """A jump keeps the direction across w*: of two weights, its sign. So the half plane in which the chains start is sampled."""
    chains = Chains(make_cell(task=Hermite3(d=2, P=6), width=1, chains=64, kappa=0.2))
    posterior, w = chains.posterior, chains.posterior.directions[0]
    across = torch.stack([-w[1], w[0]])
    u = (w * 0.1 + across).repeat(64, 1)
    sampler, energy, rng = Sampler(posterior, posterior), posterior.energy(u), np.random.default_rng(0)
    squares, lengths = [], []
    for t in range(220):
        u, energy = sampler.jump(u, energy, rng, 0)
        if t >= 20:
            squares.append((u @ w).square().mean().item())
            lengths.append((u @ across).mean().item())
    torch.testing.assert_close(energy, posterior.energy(u), rtol=1e-9, atol=1e-9)  # 220 sums of float64 changes
    upper = lambda u: u @ across > 0  # noqa: E731
    for drawn, values in (
        (squares, lambda u: (u @ w).square()),
        (lengths, lambda u: u @ across),
    ):
        error = np.std(np.reshape(drawn, (20, 10)).mean(1), ddof=1) / np.sqrt(20)  # of 20 batches, each longer than the memory
        assert error < 0.03 and abs(np.mean(drawn) - by_quadrature(posterior, values, upper)) < 4 * error


@pytest.mark.parametrize(("network", "task", "loss"), PARITIES)
def test_jumps_along_either_direction_leave_the_posterior_as_it_is(make_cell, network, task, loss):
    """Of two weights each jump draws one anew, and the size of the other: along both directions they reach the whole plane."""
    chains = Chains(make_cell(task=task, network=network, loss=loss, width=1, chains=64, kappa=0.2))
    posterior, directions = chains.posterior, chains.posterior.directions
    u, rng = chains.u, np.random.default_rng(0)
    sampler, energy = Sampler(posterior, posterior), posterior.energy(u)
    margin = lambda u: evaluate(posterior, u, chains.x_test[:16])[0] @ chains.y_test[:16] / 16  # noqa: E731
    values = [lambda u: (u[:, :2] @ directions[0]).abs(), lambda u: u[:, :2].square().sum(1), margin]
    values += [lambda u: u[:, 2].square()] if posterior.n_weights == 3 else []
    drawn = np.empty((len(values), 400))
    for t in range(-40, 400):
        u, energy = sampler.jump(u, energy, rng, 0)
        if t >= 0:
            drawn[:, t] = [value(u).mean().item() for value in values]
    torch.testing.assert_close(energy, posterior.energy(u), rtol=1e-9, atol=1e-9)  # 440 sums of float64 changes
    for k, value in enumerate(values):
        error = np.std(drawn[k].reshape(20, 20).mean(1), ddof=1) / np.sqrt(20)  # of 20 batches, each longer than the memory
        exact = by_quadrature(posterior, value)
        assert error < 0.03 * abs(exact) + 0.01 and abs(drawn[k].mean() - exact) < 4 * error


@pytest.mark.parametrize(
    ("task", "loss", "kappa"), [(Hermite3(d=2, P=12), "mse", 0.2), (Parity2(d=2, P=6), "cross_entropy", 0.5)]
)
def test_jumps_in_the_first_of_two_layers_leave_the_posterior_as_it_is(make_cell, task, loss, kappa):
    """Two neurons of two weights, the rest as it is. Along one direction a jump keeps the sign of the weight across it, so that
    the quarter in which the chains start is sampled; along both directions of parity jumps reach everything."""
    deep = {"network": "erf3", "width1": 2, "width": 1, "explored": "all"}
    chains = Chains(make_cell(task=task, loss=loss, chains=64, kappa=kappa, **deep))
    posterior, e = chains.posterior, chains.posterior.directions
    across = torch.stack([-e[0, 1], e[0, 0]])
    u = torch.cat([(e[0] + across).repeat_interleave(2), chains.u[0, 4:]]).repeat(64, 1)
    first = lambda u: u[:, :4].view(-1, 2, 2).mT  # noqa: E731 - (n, neuron, weight)
    sampler, energy, rng = Sampler(posterior, posterior), posterior.energy(u), np.random.default_rng(0)
    values = [lambda u: (first(u) @ e[0]).square().sum(1), lambda u: (first(u) @ across).abs().sum(1), posterior.energy]
    drawn = np.empty((3, 600))
    for t in range(-60, 600):
        u, energy = sampler.jump(u, energy, rng, 0)
        if t >= 0:
            drawn[:, t] = [value(u).mean().item() for value in values]
    torch.testing.assert_close(energy, posterior.energy(u), rtol=1e-9, atol=1e-9)  # 660 sums of float64 changes
    c = torch.linspace(-6, 6, 41, dtype=torch.float64)  # as GRID: steps of 0.3 of a Gaussian, cut at 1e-8 of its peak
    nodes, weights = map(torch.from_numpy, np.polynomial.legendre.leggauss(24))
    rho, length = (3 * (nodes + 1), weights) if len(e) == 1 else (c, torch.ones_like(c))  # of one sign, from 0 to 6
    plane = torch.cartesian_prod(c, rho)
    neuron, log_area = plane @ torch.stack([e[0], across]), length.log().repeat(len(c))
    a, b = (k.reshape(-1) for k in torch.meshgrid(*[torch.arange(len(plane))] * 2, indexing="ij"))
    log_weights, found = [], []
    for i, j in zip(a.split(100_000), b.split(100_000), strict=True):
        at = torch.cat([torch.stack([neuron[i], neuron[j]], 2).flatten(1), u[:1, 4:].expand(len(i), -1)], 1)
        log_weights.append(log_area[i] + log_area[j] - posterior.energy(at) - at[:, :4].square().sum(1) / 2)
        found.append(torch.stack([value(at) for value in values]))
    exact = torch.cat(found, 1) @ torch.cat(log_weights).softmax(0)
    prior = 2.0  # of the two squares c^2
    assert abs(exact[0] - prior) > 0.2  # the data are felt
    for k in range(3):
        error = np.std(drawn[k].reshape(20, 30).mean(1), ddof=1) / np.sqrt(20)  # of 20 batches, each longer than the memory
        assert error < 0.03 * abs(exact[k]) + 0.01 and abs(drawn[k].mean() - exact[k]) < 4 * error


def test_a_small_network_of_three_layers_is_sampled_as_drawing_from_its_prior_says(make_cell):
    """All moves together, from all four starts, against importance sampling: draws of the prior, weighed by exp(-U)."""
    deep = {"network": "erf3", "width1": 2, "width": 1, "explored": "all"}
    cell = make_cell(task=Hermite3(d=2, P=12), kappa=0.2, steps=600, test_size=32, **deep)
    chains, result = sampled(cell)
    u = torch.from_numpy(np.random.default_rng(1).standard_normal((400_000, chains.posterior.n_weights)))
    weights = (-chains.posterior.energy(u)).softmax(0)
    aligned = evaluate(chains.posterior, u, chains.x_test)[0] @ chains.y_test / 32
    exact = float(weights @ aligned)
    error = float((weights.square() @ (aligned - exact).square()).sqrt())  # of importance sampling
    assert result.mixed and result.alignment_f_se < 0.02 and error < 0.1 * result.alignment_f_se
    assert abs(result.alignment_f - exact) < 4 * np.hypot(result.alignment_f_se, error)


@pytest.mark.parametrize("deep", [{}, {"network": "erf3", "width1": 50}])
def test_without_data_the_prior_is_sampled(make_cell, deep):
    """P = 0: every step is accepted, nothing is learned, overlaps are N(0, 1), whatever the chains started from."""
    chains, result = sampled(make_cell(d=4, P=0, width=50, steps=100, eval_every=1, **deep))
    assert result.acceptance == pytest.approx(1, abs=1e-9) and result.mixed  # the rotation conserves H but for rounding
    assert result.alignment_f == 0 and result.alignment_f_se == 0
    assert result.test_mse == pytest.approx(float(chains.y_test.square().mean()), rel=1e-12)
    # 4 x 50 trajectories of 50 neurons; one is like the last by half at most, so that two in three count: 6600 draws.
    assert len(result.n_specialised) == 1 + bool(deep)
    assert np.abs(np.array(result.n_specialised) / 50 - 0.0027).max() < 4 * np.sqrt(0.0027 / 6600)
    inside = result.overlap[58:62].sum() / 50  # |c| < 1
    assert abs(inside - 0.6827) < 4 * np.sqrt(0.68 * 0.32 / 6600)


def test_without_data_the_prior_of_both_layers_is_sampled(make_cell):
    """Of a readout that is sampled, too: f is of variance |phi|^2 v, without preference for the target."""
    chains, result = sampled(
        make_cell(task=Parity2(d=4, P=0), loss="cross_entropy", network="relu2", width=50, steps=100, eval_every=1)
    )
    assert result.acceptance == pytest.approx(1, abs=1e-9) and result.mixed
    assert abs(result.alignment_f) < 4 * result.alignment_f_se and result.summary()["final_train_loss"] is None
    outside = 1 - 0.9973**2  # of either of two directions; as above of 6600 draws
    assert abs(result.n_specialised[0] / 50 - outside) < 4 * np.sqrt(outside / 6600)
    assert abs(result.overlap[58:62].sum() / 50 - 0.6827**2) < 4 * np.sqrt(0.25 / 6600)
    assert chains.u.shape == (4, 4 * 50 + 50)
    assert abs(chains.u.square().mean() - 1) < 4 * np.sqrt(2 / 1000)
    (layer, e), b = chains.posterior.layers(chains.u)[0], chains.posterior.readouts(chains.u)
    assert foremost((e @ layer).numpy()).shape == b.shape == (4, 50)


def test_one_head_of_attention_is_sampled_as_draws_from_the_prior_say(make_cell):
    """A head of d^2 = 4 numbers: the mean over draws from the prior, weighted by exp(-U)."""
    cell = make_cell(task=TokenPairs(d=2, context=6, P=40), network="attention", width=1, kappa=1.0, steps=600, test_size=32)
    chains, result = sampled(cell)
    u = torch.from_numpy(np.random.default_rng(5).standard_normal((40_000, 4)))
    weights = (-chains.posterior.energy(u)).softmax(0)
    aligned = evaluate(chains.posterior, u, chains.x_test)[0] @ chains.y_test / 32
    exact = float(weights @ aligned)
    error = float((weights.square() @ (aligned - exact).square()).sqrt())
    error = (result.alignment_f_se**2 + error**2) ** 0.5
    assert result.mixed and abs(result.alignment_f - exact) < 4 * error
    assert abs(exact - float(aligned.mean())) > 20 * error  # far from what the prior alone would say


def arcsine(inner, of_a, of_b):
    """E erf(h) erf(h') of Gaussian h, h' with these second moments [Williams 1997]."""
    return 2 / np.pi * np.arcsin(2 * inner / np.sqrt(np.outer(1 + 2 * of_a, 1 + 2 * of_b)))


def kernel(network, a, b):
    """Of infinitely many neurons, on inputs (n, d) and (m, d)."""
    inner, of_a, of_b = a @ b.T / a.shape[1], (a**2).mean(1), (b**2).mean(1)
    if network == "linear2":
        return inner  # Bayesian linear regression, theta ~ N(0, I/d)
    if network == "cnn":
        patches = range(0, a.shape[1], 2)
        return np.mean([kernel("erf2", a[:, s : s + 2], b[:, s : s + 2]) for s in patches], axis=0)
    first = arcsine(inner, of_a, of_b)
    if network == "erf2":
        return first
    return arcsine(first, *(2 / np.pi * np.arcsin(2 * of / (1 + 2 * of)) for of in (of_a, of_b)))


@pytest.mark.parametrize(("network", "width"), [("erf2", 4096), ("linear2", 4096), ("cnn", 4096), ("erf3", 400)])
def test_a_wide_network_predicts_what_its_gaussian_process_does(make_cell, network, width):
    task = Linear(d=4, P=10, patch=2 if network == "cnn" else None)
    settings = {"width": width, "width1": width if network == "erf3" else None, "test_size": 16}
    chains, result = sampled(make_cell(task=task, network=network, kappa=0.3, steps=60, eval_every=1, **settings))
    x, fresh = chains.posterior.x.numpy(), chains.x_test.numpy()
    y = chains.posterior.readout.y.numpy()
    expected = kernel(network, fresh, x) @ np.linalg.solve(kernel(network, x, x) + 0.3 * np.eye(10), y)
    # A kernel of N features is off by 1/sqrt(N) in each sample, and so is f, of order 1. The mean over samples, of which 40 at
    # least are independent, is off by 1/sqrt(40 N), and by a bias of order P/N: four times their sum.
    assert np.abs(chains.means.f / chains.means.n - expected).max() < 4 * ((40 * width) ** -0.5 + 10 / width)
    assert result.ess > 40 and np.abs(expected).max() > 0.5
