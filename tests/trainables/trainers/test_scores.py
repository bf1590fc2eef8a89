"""Scores on test examples, beside slow and obvious ones."""

from itertools import product

import numpy as np
import pytest
import torch
from scipy.stats import norm

from trainables.trainers.scores import scored


def slow(f: np.ndarray, y: np.ndarray) -> list[float]:
    ones, zeros = f[y > 0], f[y <= 0]
    greater = (ones[:, None] > zeros).mean() + (ones[:, None] == zeros).mean() / 2
    thresholds = [-np.inf, *f]
    best = max(((f > t) == (y > 0)).mean() for t in thresholds)
    return [((f > 0) == (y > 0)).mean(), greater, best, (ones > 0).mean(), (zeros <= 0).mean()]


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_binary_scores_are_those_of_every_pair_and_threshold(ties, dtype):
    rng = np.random.default_rng(0)
    y = (rng.random(101) < 0.4).astype(dtype)
    f = (rng.standard_normal((3, 101)) + np.array([[0.0], [1.0], [-1.0]]) * (y - 0.3)).astype(dtype)
    if ties:
        f = np.round(f)
    found = scored(torch.from_numpy(f), torch.from_numpy(y), "binary").numpy()
    np.testing.assert_allclose(found.T, [slow(row, y) for row in f], rtol=0, atol=1e-12)


def test_binary_scores_of_four_examples_with_every_tie_and_order():
    y = np.array([y for y in product([0.0, 1.0], repeat=4) if len(set(y)) == 2])
    f = np.array(list(product([-1.0, 0.0, 1.0], repeat=4)))
    y, f = np.repeat(y, len(f), axis=0), np.tile(f, (len(y), 1))
    found = scored(torch.from_numpy(f), torch.from_numpy(y), "binary").numpy()
    np.testing.assert_allclose(found.T, [slow(*pair) for pair in zip(f, y, strict=True)], rtol=0, atol=1e-12)


def test_each_network_may_have_labels_of_its_own():
    rng = np.random.default_rng(1)
    f, y = rng.standard_normal((4, 60)), (rng.random((4, 60)) < 0.5) * 1.0
    found = scored(torch.from_numpy(f), torch.from_numpy(y), "binary").numpy()
    np.testing.assert_allclose(found.T, [slow(*pair) for pair in zip(f, y, strict=True)], rtol=0, atol=1e-12)


def test_a_shifted_output_has_a_bad_sign_and_a_good_rank():
    """Normal outputs of means -3 and -1: AUC = Phi(2/sqrt(2)), best accuracy Phi(1), and the sign gets few same examples right.

    Tolerances are four standard errors of 100,000 examples; the best of all thresholds lies above by less."""
    rng = np.random.default_rng(2)
    y = (np.arange(100_000) % 2).astype(float)
    f = rng.standard_normal(100_000) - 3 + 2 * y
    acc, auc, best, same, different = scored(torch.from_numpy(f), torch.from_numpy(y), "binary").numpy()
    assert auc == pytest.approx(norm.cdf(2 / np.sqrt(2)), abs=0.004)
    assert best == pytest.approx(norm.cdf(1), abs=0.006)
    assert same == pytest.approx(norm.cdf(-1), abs=0.007)
    assert different == pytest.approx(norm.cdf(3), abs=0.001)
    assert acc == pytest.approx((same + different) / 2, abs=1e-12)


def test_one_label_alone_has_no_rank():
    f = torch.tensor([0.5, -0.5])
    acc, auc, best, same, different = scored(f, torch.ones(2), "binary").tolist()
    assert (acc, best, same) == (0.5, 1.0, 0.5)
    assert np.isnan(auc)
    assert np.isnan(different)


def test_one_constant_output_ranks_by_chance():
    acc, auc, best, *_ = scored(torch.zeros(10), torch.arange(10.0) % 2, "binary").tolist()
    assert (acc, auc, best) == (0.5, 0.5, 0.5)
