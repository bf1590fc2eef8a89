"""Learning curves beside kernel networks: whose they are, and that networks trained here have them."""

import numpy as np
import pandas as pd
import pytest

from analysis.overlays import overlays
from trainables.cell import cell_of
from trainables.engines.ridge.run import Solved
from trainables.tasks import Hermite

SEEDS = 30


def a_cell(seed=0, d=32):
    return cell_of(Hermite(d=d, degree=1, P=56), network="erf_kernel", training="ridge", ridge=0.1, seed=seed, test_size=2048)


def said(measure, *cells):
    return overlays.beside(pd.DataFrame([cell.columns() for cell in cells]), measure).values


@pytest.mark.parametrize("measure", ["test_mse", "final_train_loss"])
def test_trained_networks_have_it_and_not_the_bias_alone(measure):
    cells, errors = [a_cell(seed) for seed in range(SEEDS)], []
    for cell in cells:
        solved = Solved(cell)
        solved.solve()
        errors.append(solved.result().summary()[measure])
    theories = said(measure, cells[0]).set_index("theory")["value"]
    error = np.std(errors, ddof=1) / SEEDS**0.5
    # Three standard errors, and 8% as lengths spread by an eighth (theory/ridge_curves.py).
    assert np.mean(errors) == pytest.approx(theories["ridge regression"], abs=3 * error + 0.08 * theories["ridge regression"])
    if measure == "test_mse":
        assert np.mean(errors) > 1.2 * theories["ridge regression, bias"]


def test_it_speaks_of_the_kernel_in_three_dimensions_and_more():
    other = cell_of(
        Hermite(d=32, degree=1, P=56), seed=0, network="mlp", training="gd", width=8, base_lr=0.1, steps=10, eval_every=10
    )
    found = said("test_mse", a_cell(), a_cell(d=2), other)
    assert set(found["point"]) == {0} and set(found["theory"]) == {"ridge regression", "ridge regression, bias"}
