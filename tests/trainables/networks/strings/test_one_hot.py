"""Perceptrons on one-hot tokens against PyTorch's layers on explicit one-hot vectors, and what they cannot learn."""

import numpy as np
import pytest
import torch
from torch.nn.functional import one_hot

from trainables.cell import cell_of
from trainables.engines import descent_engine
from trainables.streams import stream, stream_owner
from trainables.tasks import Template
from trainables.trainers.run import PackRun
from trainables.training.losses import loss_of

SMALL = {"network": "one_hot", "width": 9, "steps": 20, "eval_every": 10, "batch": 0, "test_size": 16, "dtype": "float64"}
ALONE = {"rtol": 1e-9}
"""Products of another size are rounded in another order; 20 steps do not enlarge the difference of 1e-16 a millionfold."""


def cell(seed=0, template="aba/abb", P=12, **keys):
    return cell_of(Template(template=template, P=P, test_alphabet=10), seed=seed, **{**SMALL, **keys})


def parameters(of, seed=0):
    """Initial parameters in float64."""
    rng = np.random.default_rng(seed)
    return {name: torch.from_numpy(np.float64(value)) for name, value in of.network.init(rng, of).items()}


def strings(of, n=7, seed=0):
    """Strings of unseen tokens (n, k) and labels."""
    x, y = of.task.test_examples(np.random.default_rng(seed), np.zeros(0), n)
    return torch.from_numpy(x), torch.from_numpy(y)


def as_modules(of, theta):
    """The layers as torch.nn.Linear with these weights, on one-hot vectors and equalities."""
    layers = []
    for layer in range(1, of.network.depth + 2):
        w = theta[f"w{layer}"]
        if layer == 1 and of.network.equalities:
            w = torch.cat([w, theta["w_equal"]])
        linear = torch.nn.Linear(*w.shape, dtype=torch.float64)
        linear.weight.data, linear.bias.data = w.T.clone(), theta[f"b{layer}"].clone()
        layers += [linear, torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


def as_vectors(of, x):
    found = one_hot(x, of.task.n_tokens).flatten(1)
    if of.network.equalities:
        found = torch.cat([found, (x.unsqueeze(1) == x.unsqueeze(-1)).flatten(1)], dim=1)
    return found.double()


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("equalities", [False, True])
def test_outputs_and_gradients_are_those_of_linear_layers_on_one_hot_vectors(depth, equalities):
    of = cell(depth=depth, equalities=equalities)
    theta, (x, _) = parameters(of), strings(of)
    modules = as_modules(of, theta)
    theta = {name: value.requires_grad_() for name, value in theta.items()}
    found, wanted = of.network.apply(theta, x, of), modules(as_vectors(of, x)).squeeze(1)
    assert found.shape == (7,)
    torch.testing.assert_close(found, wanted, rtol=1e-12, atol=1e-12)
    found.square().sum().backward()
    wanted.square().sum().backward()
    k_v = len(theta["w1"])
    torch.testing.assert_close(theta["w1"].grad, modules[0].weight.grad.T[:k_v], rtol=1e-12, atol=1e-12)
    if equalities:
        torch.testing.assert_close(theta["w_equal"].grad, modules[0].weight.grad.T[k_v:], rtol=1e-12, atol=1e-12)
    assert of.network.n_parameters(of) == sum(value.numel() for value in modules.parameters())
    features = of.network.features(theta, x, of)
    torch.testing.assert_close(features, modules[:-1](as_vectors(of, x)), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("equalities", [False, True])
def test_initial_weights_have_the_law_of_linear_layers(equalities):
    of = cell(width=200, P=90, equalities=equalities)
    fan_in = 3 * of.task.n_tokens + 9 * equalities
    for name, value in parameters(of).items():
        bound = (fan_in if name in ("w1", "b1", "w_equal") else 200) ** -0.5
        assert value.abs().max() <= bound and (value.numel() == 1 or value.abs().max() > 0.9 * bound)
        # The variance is bound^2 / 3; that of squares of such numbers 4/45 bound^4.
        assert abs(value.square().mean() / bound**2 - 1 / 3) < 5 * (4 / 45 / value.numel()) ** 0.5


def trained(cells):
    run = PackRun(cells, descent_engine("stacked").trainer(cells))
    while not run.done:
        run.advance(1e9)
    return run


@pytest.mark.parametrize("equalities", [False, True])
def test_networks_alone_train_as_in_a_pack(equalities):
    cells = [cell(seed=seed, base_lr=lr, equalities=equalities) for seed, lr in ((0, 1e-3), (1, 1e-3), (0, 1e-2))]
    together, alone = trained(cells), [trained([one]) for one in cells]
    for c, one in enumerate(alone):
        np.testing.assert_allclose(together.curves[:, c], one.curves[:, 0], **ALONE)
    assert len(set(together.curves[0, :, -1])) == 3


@pytest.mark.parametrize("training", ["sgd", "adam"])
def test_unseen_tokens_that_swap_at_one_place_swap_outputs_during_all_of_training(training):
    """The symmetry behind [Boix23 Theorem I.2]: no step changes or reads the rows of unseen tokens."""
    of = cell(training=training, base_lr=1e-2 if training == "adam" else 0.1)
    theta, last = parameters(of), 2
    a, b = of.task.n_tokens - 2, of.task.n_tokens - 1  # test tokens
    rows = torch.arange(len(theta["w1"]))
    rows[last * of.task.n_tokens + torch.tensor([a, b])] = last * of.task.n_tokens + torch.tensor([b, a])
    swapped = {**theta, "w1": theta["w1"][rows]}
    aba, abb = torch.tensor([[a, b, a], [b, a, b]]), torch.tensor([[a, b, b], [b, a, a]])
    rng = stream(stream_owner(of), "batches")
    x, y = map(torch.from_numpy, of.task.train_examples(rng, np.zeros(0), of.task.P))
    losses, at_aba, at_abb = descended(of, theta, x, y.double(), [aba, abb])
    for found, wanted in zip(descended(of, swapped, x, y.double(), [abb, aba]), (losses, at_aba, at_abb), strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-12, atol=1e-12)
    assert losses[-1] < 0.9 * losses[0] and (at_aba[-1] - at_aba[0]).abs().max() > 1e-3  # training moves them
    assert (at_aba - at_abb).abs().max() > 1e-3


def descended(of, theta, x, y, probes):
    """Loss (steps,) and outputs (steps, n) at each of the probes, during 60 steps on all of the training set."""
    theta = {name: value.clone()[None] for name, value in theta.items()}
    kept = {name: of.training.start(value, {}) for name, value in theta.items()}
    loss, found = loss_of(of), []
    for step in range(60):
        own = {name: value[0].detach().requires_grad_() for name, value in theta.items()}
        f = of.network.apply(own, x, of)
        outputs = [of.network.apply(own, probe, of).detach() for probe in probes]
        slopes = loss.slopes(f.detach()[None], y[None])[0] / len(x)
        found.append(((f.detach() - y).square().mean(), *outputs))
        gradients = torch.autograd.grad(f, list(own.values()), slopes)
        for name, gradient in zip(own, gradients, strict=True):
            rate = torch.full((1,) * theta[name].dim(), of.descent.rate(of), dtype=torch.float64)
            of.training.update(theta[name], gradient[None], kept[name], rate, {}, of.training.scheduled(step))
    return [torch.stack(each) for each in zip(*found, strict=True)]


def test_trained_outputs_at_unseen_strings_have_one_mean_for_both_templates():
    """[Boix23 Theorem I.2], over 200 networks; with equalities as inputs they have not."""
    mean, error = {}, {}
    for equalities in (False, True):
        short = {"P": 16, "steps": 30, "eval_every": 30, "base_lr": 1e-2, "test_size": 2}
        cells = [cell(seed=seed, equalities=equalities, **short) for seed in range(200)]
        (stack,) = trained(cells).trainer.stacks
        x, y = strings(cells[0], n=40)
        with torch.no_grad():
            f = stack.apply(stack.theta, x.expand(200, -1, -1))
        difference = f[:, y > 0].mean(1) - f[:, y < 0].mean(1)  # (200,), independent: each network has its own training set
        mean[equalities], error[equalities] = difference.mean(), difference.std() / 200**0.5
    assert abs(mean[False]) < 3 * error[False]
    assert mean[True] > 10 * error[True]


def test_vectors_are_refused():
    from trainables.tasks import Step

    with pytest.raises(ValueError, match="network one_hot does not take vector inputs, as task step has"):
        cell_of(Step(P=4), seed=0, network="one_hot", batch=4)
