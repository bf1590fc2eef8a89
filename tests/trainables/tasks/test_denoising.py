"""Task `denoising` of studies/denoising: exact covariances of signal and noise, fresh examples, and what it refuses."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

SPEC = importlib.util.spec_from_file_location("denoising", Path(__file__).parents[3] / "studies/denoising/grids/denoising.py")
DENOISING = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(DENOISING)
Denoising = DENOISING.Denoising


def drawn(task, n, training=True):
    symbols = task.draw_symbols(np.random.default_rng(1))
    return (task.train_examples if training else task.test_examples)(np.random.default_rng(0), symbols, n)


def test_the_covariances_of_the_training_set_are_exact():
    task = Denoising(d=3, P=12, rank=2, strength=4.0, ratio=4.0, noise=0.5)
    z, x = drawn(task, 12)
    assert z.dtype == np.float32 and z.shape == (12, 3) and x.shape == (12, 2) and task.n_outputs == 2
    np.testing.assert_allclose(z.mean(0), 0, atol=1e-6)  # float32
    np.testing.assert_allclose(z.T.astype(float) @ z / 12, np.diag([4.5, 1.5, 0.5]), atol=1e-5)
    np.testing.assert_allclose(z.T @ x / 12, [[4, 0], [0, 1], [0, 0]], atol=1e-5)
    assert task.strengths == pytest.approx([4 / 4.5, 1 / 1.5])


@pytest.mark.parametrize("keys", [{"P": 12}, {}])
def test_fresh_examples_have_them_but_for_their_number(keys):
    task = Denoising(d=2, rank=1, strength=2.0, noise=1.0, **keys)
    z, x = drawn(task, 50_000, training=bool(not keys))
    assert x.shape == (50_000,) and task.n_train == keys.get("P")
    # Four standard errors: of an entry c of a covariance at most 3 sqrt(2/n), 3 the largest variance.
    covariance = np.cov(np.column_stack([z, x]).T)
    np.testing.assert_allclose(covariance, [[3, 0, 2], [0, 1, 0], [2, 0, 2]], atol=12 * (2 / 50_000) ** 0.5)


def test_a_few_fresh_examples_are_not_exact():
    z, _ = drawn(Denoising(d=2, rank=1), 12)
    assert abs(z.mean(0)).min() > 0.001


@pytest.mark.parametrize(
    ("keys", "said"),
    [({"d": 2, "rank": 3}, "rank"), ({"d": 4, "P": 8}, "must be larger than 2 d"), ({"d": 2, "correlation": 0.5}, "correlation")],
)
def test_keys_that_do_not_fit_are_refused(keys, said):
    with pytest.raises(ValidationError, match=said):
        Denoising(**keys)
