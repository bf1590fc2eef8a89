"""Optimisers on many networks at once, beside those of torch.optim on one."""

from functools import partial

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from torch.nn.functional import binary_cross_entropy_with_logits, mse_loss

from trainables.cell import cell_of
from trainables.engines.stacked.trainer import Stacked
from trainables.streams import BLOCK_STEPS, stream, stream_owner
from trainables.tasks import Hermite3, Parity2, SameDifferent
from trainables.training.adam import Adam
from trainables.training.adamw import AdamW

TASK = SameDifferent(L=4, d=8)
STEPS = 50
# 16 digits, and 50 steps that each lose a few units of the last one.
EXACT = 1e-12


def network(training: str, seed: int, **keys):
    own = {"width": 16, "depth": 2, "bias": True, "dtype": "float64", "batch": 16, "steps": STEPS, "eval_every": STEPS}
    return cell_of(TASK, network="mlp", training=training, seed=seed, **(own | keys))


def by_torch(cell, optimiser):
    """Parameters after STEPS steps of a torch.optim optimiser on the batches that the cell's stream draws."""
    owner = stream_owner(cell)
    symbols = cell.task.draw_symbols(stream(owner, "symbols"))
    drawn = cell.network.init(stream(owner, "weights"), cell)
    theta = {name: torch.from_numpy(value).double().requires_grad_() for name, value in drawn.items()}
    steps = optimiser(list(theta.values()))
    for step in range(STEPS):
        block, k = divmod(step, BLOCK_STEPS)
        x, y = cell.task.train_examples(stream(owner, "batches", block), symbols, BLOCK_STEPS * cell.batch)
        part = slice(k * cell.batch, (k + 1) * cell.batch)
        f = cell.network.apply(theta, torch.from_numpy(x[part]).double(), cell)
        steps.zero_grad()
        binary_cross_entropy_with_logits(f, torch.from_numpy(y[part]).double()).backward()
        steps.step()
    return {name: value.detach().numpy() for name, value in theta.items()}


SGD = torch.optim.SGD
CASES = {
    "plain": ("sgd", [({"base_lr": 0.3}, partial(SGD, lr=0.3)), ({"base_lr": 0.1}, partial(SGD, lr=0.1))]),
    "momentum": ("sgd", [
        ({"base_lr": 0.1, "momentum": 0.9}, partial(SGD, lr=0.1, momentum=0.9)),
        ({"base_lr": 0.1}, partial(SGD, lr=0.1)),
    ]),
    "decay": ("sgd", [
        ({"base_lr": 0.1, "momentum": 0.5, "weight_decay": 0.1}, partial(SGD, lr=0.1, momentum=0.5, weight_decay=0.1)),
        ({"base_lr": 0.2, "weight_decay": 0.02}, partial(SGD, lr=0.2, weight_decay=0.02)),
    ]),
    "adam": ("adam", [({}, partial(torch.optim.Adam, lr=1e-3)), ({"base_lr": 1e-2}, partial(torch.optim.Adam, lr=1e-2))]),
    "betas": ("adam", [
        ({"beta1": 0.0, "beta2": 0.9, "adam_epsilon": 1e-3}, partial(torch.optim.Adam, lr=1e-3, betas=(0.0, 0.9), eps=1e-3)),
    ]),
    "adamw": ("adamw", [
        ({}, partial(torch.optim.AdamW, lr=1e-3)),
        ({"base_lr": 1e-2, "weight_decay": 0.3}, partial(torch.optim.AdamW, lr=1e-2, weight_decay=0.3)),
        ({"weight_decay": 0.0}, partial(torch.optim.AdamW, lr=1e-3, weight_decay=0.0)),
    ]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_agrees_with_torch(case):
    """All in one pack, although their keys differ."""
    training, members = CASES[case]
    cells = [network(training, seed, **keys) for seed, (keys, _) in enumerate(members)]
    assert len({cell.shape() for cell in cells}) == 1
    made = Stacked(cells)
    made.train(0, STEPS)
    for c, (cell, (_, optimiser)) in enumerate(zip(cells, members, strict=True)):
        ours = made.probed(c)(np.zeros((1, 16), np.float32)).parameters
        for name, theirs in by_torch(cell, optimiser).items():
            np.testing.assert_allclose(ours[name], theirs, rtol=0, atol=EXACT)


@pytest.mark.parametrize(("training", "optimiser"), [
    ({"training": "gd"}, partial(SGD, lr=0.1)),
    ({"training": "sgd", "batch": "full", "momentum": 0.9}, partial(SGD, lr=0.1, momentum=0.9)),
    ({"training": "adamw", "batch": "full", "beta2": 0.98, "weight_decay": 0.3},
     partial(torch.optim.AdamW, lr=1e-3, betas=(0.9, 0.98), weight_decay=0.3)),
])  # fmt: skip
def test_a_full_batch_is_the_whole_set_at_each_step(training, optimiser):
    cell = cell_of(Hermite3(d=6, P=20), network="mlp", width=8, dtype="float64", steps=10, eval_every=10, seed=3, **training)
    owner = stream_owner(cell)
    symbols = cell.task.draw_symbols(stream(owner, "symbols"))
    x, y = map(torch.from_numpy, cell.task.train_examples(stream(owner, "batches"), symbols, 20))
    drawn = cell.network.init(stream(owner, "weights"), cell)
    theta = {name: torch.from_numpy(value).double().requires_grad_() for name, value in drawn.items()}
    steps, losses = optimiser(list(theta.values())), []
    for _ in range(10):
        loss = mse_loss(cell.network.apply(theta, x.double(), cell), y)
        losses.append(loss.item())
        steps.zero_grad()
        loss.backward()
        steps.step()
    np.testing.assert_allclose(Stacked([cell]).train(0, 10)[0][0], losses, rtol=0, atol=EXACT)
    assert cell.batch == 20
    assert cell.columns().get("batch", 0) == 0


def test_gd_needs_a_training_set():
    with pytest.raises(ValidationError, match="task same_different has none; take sgd"):
        cell_of(TASK, network="mlp", training="gd", width=8, seed=0)
    with pytest.raises(ValidationError, match=r"adam with batch = full \(or 0\) takes .* give batch a number"):
        cell_of(TASK, network="mlp", training="adam", batch="full", width=8, seed=0)
    with pytest.raises(ValidationError, match="training gd learns from examples, and task parity2 has P = 0"):
        cell_of(Parity2(d=4, P=0), network="mlp", training="gd", width=8, seed=0)


@pytest.mark.parametrize("training", ["gd", "adam", "adamw"])
def test_keys_at_their_default_are_not_in_the_id(training):
    cell = cell_of(Parity2(d=4, P=8), network="mlp", training=training, width=8, seed=0)
    assert set(cell.keys()) == {"task", "d", "P", "loss", "network", "width", "training", "seed"}
    assert cell.descent.base_lr == (0.1 if training == "gd" else 1e-3)


def test_rates_of_normalised_steps_leave_gamma_out():
    """A step of Adam is base_lr long whatever the gradient's size."""
    assert network("adam", 0, gamma=0.1).descent.rate(network("adam", 0, gamma=0.1)) == 1e-3
    small = network("sgd", 0, gamma=0.1, base_lr=0.5)
    assert small.descent.rate(small) == pytest.approx(0.5 * 0.1**2)
    large = network("sgd", 0, gamma=10.0, base_lr=0.5)
    assert large.descent.rate(large) == pytest.approx(0.5 * 10)


@pytest.mark.parametrize("kind", [Adam, AdamW])
@pytest.mark.parametrize("turned", [False, True])
def test_the_compiled_pass_of_adam_is_its_operations(kind, turned, monkeypatch):
    """Parameters may lie in any order of memory; one whose gradient lies in another goes by operations anyway."""

    def followed():
        rng = torch.Generator().manual_seed(1)
        theta = torch.randn(3, 4, 6, generator=rng, dtype=torch.float64)
        theta = theta.mT.contiguous().mT if turned else theta
        training = kind(loss="mse", base_lr=0.01)
        rate, free = torch.tensor([0.1, 0.02, 0.5], dtype=torch.float64).view(3, 1, 1), {}
        if kind is AdamW:
            free["weight_decay"] = torch.tensor([0.0, 0.1, 0.5], dtype=torch.float64).view(3, 1, 1)
        state = training.start(theta, free)
        for update in range(5):
            gradient = torch.randn(3, 4, 6, generator=rng, dtype=torch.float64)
            gradient = gradient.mT.contiguous().mT if turned and update < 4 else gradient
            training.update(theta, gradient, state, rate, free, training.schedule(update))
        return theta, state["mean"], state["square"]

    compiled = followed()
    monkeypatch.setattr("trainables.training.adam._lie_alike", lambda tensors: False)
    for ours, exact in zip(compiled, followed(), strict=True):
        torch.testing.assert_close(ours, exact, rtol=0, atol=EXACT)
