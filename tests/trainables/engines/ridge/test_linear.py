"""Linear regression by ridge: on the inputs, and on random linear features of them."""

import numpy as np
import pytest

from trainables.cell import cell_of
from trainables.engines import ENGINES
from trainables.engines.ridge.run import Solved
from trainables.streams import initial_parameters
from trainables.tasks import PowerLaw


def solved(P=20, network="linear1", ridge=1e-9, **keys):
    cell = cell_of(PowerLaw(d=30, P=P), network=network, training="ridge", ridge=ridge, test_size=64, seed=0, **keys)
    found = Solved(cell)
    found.solve()
    return cell, found


def test_linear1_is_the_least_solution_through_the_examples():
    _, of = solved()
    (x, y), (unseen, targets) = of.training_set(), of.test_set()
    w = np.linalg.lstsq(x.astype(float), y)[0]
    assert of.losses[0] < 1e-12
    assert of.losses[1] == pytest.approx(((unseen.astype(float) @ w - targets) ** 2).mean(), rel=1e-4)


def test_random_features_are_least_squares_in_them():
    cell, of = solved(P=200, network="random_features", width=8)
    (x, y), (unseen, targets) = of.training_set(), of.test_set()
    f = initial_parameters(cell)["f"]
    assert f.shape == (30, 8) and (f**2).sum() == pytest.approx(30, rel=0.4)  # sum of 240 squares of variance 1/8
    v = np.linalg.lstsq((x @ f).astype(float), y)[0]
    assert of.coefficients.shape == (8,), "the smaller of the two systems"
    assert of.losses[1] == pytest.approx((((unseen @ f).astype(float) @ v - targets) ** 2).mean(), rel=1e-3)


def test_features_are_drawn_anew_for_each_seed_and_examples_are_shared_by_widths():
    cells = [
        cell_of(PowerLaw(d=30, P=20), network="random_features", training="ridge", width=width, seed=seed)
        for width, seed in ((8, 0), (8, 1), (4, 0))
    ]
    first, second, _ = (initial_parameters(cell)["f"] for cell in cells)
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(Solved(cells[0]).training_set()[0], Solved(cells[2]).training_set()[0])


@pytest.mark.parametrize(("network", "keys"), [("linear1", {}), ("random_features", {"width": 512})])
def test_cost_and_memory_grow_with_what_is_held(network, keys):
    engine = ENGINES["ridge"]
    small, large = (
        cell_of(PowerLaw(d=d, P=64), network=network, training="ridge", test_size=64, seed=0, **keys) for d in (100, 10_000)
    )
    assert engine.trains(small)
    assert engine.step_amounts(large)["product"] > 10 * engine.step_amounts(small)["product"]
    grown = engine.memory([large]) - engine.memory([small])
    assert grown == 128 * 9900 * (12 if network == "linear1" else 4)  # inputs in float32, and for linear1 in float64


def test_both_systems_have_one_solution(monkeypatch):
    _, of = solved(P=24, network="random_features", ridge=0.01, width=8)
    monkeypatch.setattr("trainables.networks.solved.linear_ridge.RandomFeatures.few", lambda *_: False)
    _, other = solved(P=24, network="random_features", ridge=0.01, width=8)
    assert other.coefficients.shape == (24,)
    np.testing.assert_allclose(of.losses, other.losses, rtol=1e-9)
