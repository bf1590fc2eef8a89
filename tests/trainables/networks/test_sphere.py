"""Neurons on the sphere: their polynomial, signs, and steps that depend on the direction of weights alone."""

from math import factorial

import numpy as np
import pytest
import torch
from numpy.polynomial import hermite_e

from trainables.cell import cell_of
from trainables.engines import ENGINES
from trainables.streams import initial_parameters
from trainables.tasks import Hermite, Hermite3


def cell(degree=3, width=6, d=8, **more):
    keys = {"base_lr": 0.01, "steps": 10, "eval_every": 10, "test_size": 64, "seed": 0}
    return cell_of(Hermite(d=d, degree=degree), network="sphere", width=width, **keys | more)


@pytest.mark.parametrize("degree", [1, 2, 3, 5])
def test_outputs_are_means_of_polynomials_with_signs(degree):
    one = cell(degree)
    w = initial_parameters(one)["w"].astype(float)
    x = np.random.default_rng(0).standard_normal((20, 8))
    h = hermite_e.hermeval(x @ (w / np.linalg.norm(w, axis=0)), [0] * degree + [1 / np.sqrt(factorial(degree))])
    f = one.network.apply({"w": torch.tensor(3 * w)}, torch.tensor(x), one)  # lengths do not count
    np.testing.assert_allclose(f, 2 / 6 * h @ [1, -1, 1, -1, 1, -1], rtol=1e-12)
    assert np.linalg.norm(w, axis=0).mean() == pytest.approx(1, abs=0.3)  # 6 columns of 8 numbers


def test_a_step_does_not_depend_on_the_width():
    """Two copies of each neuron move as each one alone does."""
    few, many = cell(width=2), cell(width=4)
    w = torch.tensor(initial_parameters(few)["w"].astype(float))
    x, moved = torch.tensor(np.random.default_rng(0).standard_normal((20, 8))), []
    for one, start in ((few, w), (many, torch.cat([w, w], 1))):
        theta = start.clone().requires_grad_()
        one.network.apply({"w": theta}, x, one).sum().backward()
        moved.append(one.network.rates(one.training)["w"] * theta.grad)
    torch.testing.assert_close(moved[1][:, :2], moved[0])


def test_it_finds_its_target():
    run = ENGINES["stacked"].make([cell(2, width=32, base_lr=0.02, batch=64, steps=800, eval_every=800, test_size=4096)])
    run.advance(60)
    assert run.results()[0].last["mse"] < 0.2  # from 1; a few neurons are late


@pytest.mark.parametrize(("task", "width"), [(Hermite3(d=4, P=8), 4), (Hermite(d=4, degree=2), 3)])
def test_what_it_cannot_learn_is_told(task, width):
    with pytest.raises(ValueError, match=r"polynomial of task hermite|multiple of 2"):
        cell_of(task, network="sphere", width=width, training="sgd", base_lr=0.1, steps=10, eval_every=10, seed=0)
