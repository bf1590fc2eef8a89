"""Sharpness beside the whole Hessian of small networks, and the edge of stability."""

import numpy as np
import pytest
import torch
from torch.autograd.functional import hessian

from trainables.cell import Cell, cell_of
from trainables.engines import ENGINES
from trainables.metrics.measuring import measured, probe_of
from trainables.streams import initial_parameters, training_probe
from trainables.tasks import Clusters, Hermite, SameDifferent
from trainables.training.losses import loss_of

TRAINED = {"steps": 20, "eval_every": 20, "test_size": 8}


def trained(cell: Cell):
    run = ENGINES["stacked"].make([cell])
    run.advance(60)
    return run


def of_whole_hessian(cell: Cell, parameters: dict) -> float:
    """lambda_max(R H) of the dense Hessian: a step theta - rate R grad L is stable while rate lambda < 2."""
    x, y = training_probe(cell)
    names, parts = zip(*parameters.items(), strict=True)
    sizes = [value.size for value in parts]
    rates = np.concatenate(
        [np.full(n, cell.network.rates(cell.training).get(name, 1.0)) for name, n in zip(names, sizes, strict=True)]
    )
    inputs, targets = torch.tensor(x, dtype=torch.float64), torch.tensor(y)
    targets = targets.double() if cell.task.targets == "binary" else targets

    def loss(flat):
        pieces = flat.split(sizes)
        theta = {name: piece.view(value.shape) for name, piece, value in zip(names, pieces, parts, strict=True)}
        return loss_of(cell).each((cell.network.apply(theta, inputs, cell) - start) / cell.epsilon, targets).mean()

    first = {name: torch.tensor(value, dtype=torch.float64) for name, value in initial_parameters(cell).items()}
    start = cell.network.apply(first, inputs, cell) if cell.network.is_centred else 0.0
    flat = torch.tensor(np.concatenate([value.ravel() for value in parts]), dtype=torch.float64)
    h = hessian(loss, flat).numpy()
    return float(np.linalg.eigvals(cell.learning_rate / cell.training.base_lr * rates[:, None] * h).real.max())


GD = {"network": "mlp", "training": "gd", "base_lr": 0.1, "seed": 0, **TRAINED}


@pytest.mark.parametrize(
    "cell",
    [
        cell_of(Hermite(d=3, degree=2, P=10), width=5, activation="tanh", **GD),
        cell_of(Clusters(d=3, classes=3, P=10), width=4, parametrisation="mup", **GD),
        cell_of(Clusters(d=3, classes=3, P=10), width=4, loss="cross_entropy", bias=True, gamma=0.3, centred=True, **GD),
        cell_of(SameDifferent(L=3, d=2), width=5, gamma=0.5, seed=0, **TRAINED),
    ],
    ids=["tanh", "mup", "centred", "relu2"],
)
def test_it_is_the_largest_eigenvalue_of_the_whole_hessian(cell):
    run = trained(cell)
    values, failures = measured(run, 0, ["sharpness", "edge"])
    assert not failures
    expected = of_whole_hessian(cell, dict(probe_of(run, 0).parameters))
    assert values["sharpness"] == pytest.approx(expected, rel=2e-4)  # twice the tolerance of the iteration
    assert values["edge"] == pytest.approx(expected * cell.training.base_lr / 2, rel=2e-4)


def test_gradient_descent_goes_to_the_edge_of_stability_and_stays():
    keys = {"network": "mlp", "width": 24, "depth": 1, "activation": "tanh", "training": "gd", "steps": 1200, "eval_every": 100}
    run = ENGINES["stacked"].make([cell_of(Hermite(d=8, degree=2, P=40), base_lr=0.3, test_size=8, seed=0, **keys)])
    run.watch([["curve_edge"]])
    run.advance(60)
    values, failures = measured(run, 0, ["curve_edge"])
    assert not failures
    # From step 400 on the sharpness is 0.98 to 1.02 of its stable value in all of eight seeds.
    assert all(0.95 < edge < 1.1 for edge in values["curve_edge"][-6:])


def test_momentum_moves_the_edge():
    keys = {"network": "mlp", "width": 4, "training": "sgd", "batch": 0, "base_lr": 0.01, "seed": 0, **TRAINED}
    task = Clusters(d=3, classes=3, P=10)
    of = [measured(trained(cell_of(task, momentum=beta, **keys)), 0, ["sharpness", "edge"])[0] for beta in (0.0, 0.9)]
    assert [one["sharpness"] * 0.01 / 2 / one["edge"] for one in of] == pytest.approx([1, 1.9])
