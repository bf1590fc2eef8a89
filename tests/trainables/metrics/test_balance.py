"""The drift of a neuron's balance, by a step's gradients, and by its law in the rate."""

import numpy as np
import pytest
import torch

from trainables.cell import Cell, cell_of
from trainables.engines import ENGINES
from trainables.metrics.measuring import measured
from trainables.streams import initial_parameters, training_probe
from trainables.tasks import Clusters, SameDifferent
from trainables.training.losses import loss_of


def drift(cell: Cell, engine: str = "stacked") -> float | None:
    run = ENGINES[engine].make([cell])
    run.advance(60)
    values, failures = measured(run, 0, ["balance_drift"])
    assert not failures
    return values["balance_drift"]


@pytest.mark.parametrize(
    "more", [{}, {"bias": True}, {"activation": "linear", "parametrisation": "ntk"}, {"parametrisation": "mup", "bias": True}]
)
def test_one_step_changes_it_by_the_square_of_the_rate(more):
    keys = {"network": "mlp", "depth": 2, "width": 6, "training": "gd", "dtype": "float64", "eval_every": 1, "test_size": 8}
    cell = cell_of(Clusters(d=4, classes=3, P=12), seed=0, base_lr=0.05, steps=1, **keys, **more)
    x, y = training_probe(cell)
    theta = {
        name: torch.tensor(value, dtype=torch.float64, requires_grad=True) for name, value in initial_parameters(cell).items()
    }
    f = cell.network.apply(theta, torch.tensor(x, dtype=torch.float64), cell)
    loss_of(cell).each(f, torch.tensor(y)).mean().backward()
    rates = {name: cell.network.rates(cell.training).get(name, 1.0) for name in theta}
    g = {name: rates[name] * value.grad.numpy() ** 2 for name, value in theta.items()}
    w = {name: value.detach().numpy() ** 2 / rates[name] for name, value in theta.items()}
    expected = max(
        np.abs(0.05**2 * (g[f"w{n}"].sum(0) + g.get(f"b{n}", 0) - g[f"w{n + 1}"].sum(1))).max()
        / (w[f"w{n}"].sum(0) + w.get(f"b{n}", 0)).mean()
        for n in (1, 2)
    )
    assert drift(cell) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("engine", ["reference", "stacked", "gram"])
def test_at_one_time_it_is_proportional_to_the_rate_with_every_engine(engine):
    def at(rate: float) -> float:
        steps = round(4 / rate)
        keys = {"gamma": 0.5, "width": 32, "base_lr": rate, "steps": steps, "eval_every": steps, "test_size": 8}
        found = drift(cell_of(SameDifferent(L=4, d=8), seed=0, **keys), engine)
        assert found is not None
        return found

    assert at(0.05) / at(0.025) == pytest.approx(2, rel=0.2)  # batches differ, and make up a tenth of the sum of squares


@pytest.mark.parametrize("more", [{"activation": "tanh"}, {"trained": "last"}])
def test_it_is_undefined_where_nothing_is_conserved(more):
    keys = {"network": "mlp", "width": 4, "training": "gd", "base_lr": 0.1, "steps": 1, "eval_every": 1, "test_size": 8}
    assert drift(cell_of(Clusters(d=4, classes=3, P=12), seed=0, **keys, **more)) is None
