"""A linear teacher of modes: inputs of exact covariance, targets of given strengths, and what it refuses."""

import numpy as np
import pytest
from pydantic import ValidationError

from trainables.tasks import Modes


@pytest.mark.parametrize("rho", [0.0, 0.4])
def test_the_covariance_of_the_training_set_is_exact(rho):
    task = Modes(d=5, P=12, correlation=rho)
    x, _ = task.train_examples(np.random.default_rng(0), task.draw_symbols(np.random.default_rng(1)), 12)
    assert x.dtype == np.float32 and x.shape == (12, 5)
    np.testing.assert_allclose(x.mean(0), 0, atol=1e-6)  # float32
    np.testing.assert_allclose(x.T.astype(float) @ x / 12, (1 - rho) * np.eye(5) + rho, atol=1e-6)


def test_fresh_inputs_have_it_but_for_their_number():
    task = Modes(d=4, P=5, correlation=0.5)
    x, _ = task.test_examples(np.random.default_rng(0), task.draw_symbols(np.random.default_rng(1)), 50_000)
    # Four standard errors sqrt(2/n) of a variance.
    np.testing.assert_allclose(np.cov(x.T), 0.5 * np.eye(4) + 0.5, atol=4 * (2 / 50_000) ** 0.5)


def test_each_output_is_an_input_times_the_strength():
    task = Modes(d=5, P=12, rank=3, strength=4.0, ratio=2.0)
    strengths = task.draw_symbols(np.random.default_rng(1))
    x, y = task.train_examples(np.random.default_rng(0), strengths, 12)
    assert strengths.tolist() == [4, 2, 1] and task.n_outputs == 3
    np.testing.assert_allclose(y, x[:, :3] * [4, 2, 1])
    one = Modes(d=5, P=12, strength=0.5)
    x, y = one.train_examples(np.random.default_rng(0), one.draw_symbols(np.random.default_rng(1)), 12)
    assert y.shape == (12,) and one.n_outputs == 1
    np.testing.assert_allclose(y, x[:, 0] / 2)


@pytest.mark.parametrize(("keys", "said"), [({"d": 2, "P": 9, "rank": 3}, "rank"), ({"d": 8, "P": 8}, "must be larger than d")])
def test_sizes_that_do_not_fit_are_refused(keys, said):
    with pytest.raises(ValidationError, match=said):
        Modes(**keys)
