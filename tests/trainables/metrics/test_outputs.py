"""Outputs at test examples: what the test error is made of, at examples that networks with the same data share."""

import numpy as np
import pytest

from trainables import streams
from trainables.cell import Cell, cell_of
from trainables.engines import ENGINES
from trainables.metrics.base import MOST
from trainables.metrics.measuring import measured
from trainables.tasks import Hermite, SameDifferent

KEYS = {"network": "relu2", "gamma": 1.0, "width": 8, "base_lr": 0.1, "steps": 20, "eval_every": 10, "dtype": "float64"}


def outputs(cells: list[Cell], engine: str) -> np.ndarray:
    run = ENGINES[engine].make(cells)
    run.advance(60)
    found = [measured(run, c, ["output"]) for c in range(len(cells))]
    assert not any(failures for _, failures in found)
    return np.array([values["output"] for values, _ in found])


@pytest.mark.parametrize("seed", [0, 1])
def test_they_make_the_test_error(seed):
    cell = cell_of(Hermite(d=4, degree=2, P=12, data_seed=3), seed=seed, test_size=100, **KEYS)
    task, owner = cell.task, streams.stream_owner(cell)
    _, y = streams.tests_of(owner, task, task.draw_symbols(streams.stream(owner, "symbols")), 20, 100)
    run = ENGINES["stacked"].make([cell])
    run.advance(60)
    (f,) = outputs([cell], "stacked")
    assert np.mean((f - y) ** 2) == pytest.approx(run.results()[0].scores["mse"][-1], rel=1e-6)  # kept in float32


def test_networks_of_one_data_seed_are_compared_at_the_same_examples():
    """With the data of seed 3, seed 3 is the network without a seed of the data; the others differ from it."""
    task = SameDifferent(L=4, d=6, data_seed=3)
    together = outputs([cell_of(task, seed=s, test_size=400, **KEYS) for s in (3, 4)], "batched")
    (own,) = outputs([cell_of(SameDifferent(L=4, d=6), seed=3, test_size=400, **KEYS)], "stacked")
    assert together.shape == (2, MOST["example"])
    np.testing.assert_allclose(together[0], own, atol=1e-9)
    assert np.abs(together[1] - own).max() > 1e-3
