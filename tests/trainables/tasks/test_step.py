"""A step on a line."""

import numpy as np
import pytest

from trainables.cell import cell_of
from trainables.streams import stream_owner
from trainables.tasks import Step


def test_targets_are_the_signs_of_uniform_inputs():
    x, y = Step().train_examples(np.random.default_rng(0), np.zeros(0), 20_000)
    assert x.shape == (20_000, 1) and x.dtype == y.dtype == np.float32
    np.testing.assert_array_equal(y, np.sign(x[:, 0]))
    # Five standard errors: the variance of x is 1/3, that of x^2 is 4/45.
    assert abs(x.mean()) < 5 * (1 / 3 / 20_000) ** 0.5 and abs((x**2).mean() - 1 / 3) < 5 * (4 / 45 / 20_000) ** 0.5
    assert x.min() >= -1 and x.max() <= 1


def test_a_training_set_is_the_same_for_every_network():
    fresh, fixed = ([cell_of(Step(P=P), width=width, seed=0) for width in (8, 16)] for P in (None, 30))
    assert fresh[0].task.n_train is None and fixed[0].task.n_train == 30
    assert stream_owner(fixed[0]) == stream_owner(fixed[1]) and stream_owner(fresh[0]) != stream_owner(fresh[1])


def test_it_is_learnt_by_the_squared_error():
    cell = cell_of(Step(), width=8, seed=0)
    assert cell.loss == "mse" and cell.task.n_outputs == 1
    with pytest.raises(ValueError, match="take mse"):
        cell_of(Step(), width=8, seed=0, loss="cross_entropy")
