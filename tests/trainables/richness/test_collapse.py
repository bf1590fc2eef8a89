"""Neural collapse and D_LR of simplex means with noise, whose values are known."""

import numpy as np
import pytest

from trainables.richness.alignment import centred, d_lr
from trainables.richness.collapse import REGULARISATION, classes_of, collapse

C, P, SIGMA, N = 10, 64, 0.1, 20_000


@pytest.fixture(scope="module")
def noisy_simplex():
    rng = np.random.default_rng(0)
    means = np.hstack([(np.eye(C) - 1 / C) * (C / (C - 1)) ** 0.5, np.zeros((C, P - C))])
    classes = np.arange(N) % C
    return means[classes] + SIGMA * rng.standard_normal((N, P)), classes


def test_of_a_noisy_simplex(noisy_simplex):
    features, classes = noisy_simplex
    share = np.full(N, 1 / N)
    found = collapse(features, classes, share)
    assert found.nc1 == pytest.approx(SIGMA**2 * (C - 1) ** 2 / C, rel=0.02)
    assert found.tr_sw == pytest.approx(C * P * SIGMA**2, rel=0.02)
    a = 1 / (C - 1) + SIGMA**2
    expected = 1 - 1 / ((C - 1) ** 0.5 * ((C - 1) * a**2 + (P - C + 1) * SIGMA**4) ** 0.5)
    assert expected == pytest.approx(0.1011, abs=1e-4)
    assert d_lr(centred(features, share), centred(np.eye(C)[classes], share)) == pytest.approx(expected, abs=0.003)


def test_regularised_is_mostly_the_variance_in_directions_without_means(noisy_simplex):
    features, classes = noisy_simplex
    found = collapse(features, classes, np.full(N, 1 / N))
    means = np.stack([features[classes == k].mean(0) for k in range(C)])
    within = sum(np.cov(features[classes == k].T, bias=True) for k in range(C))
    apart = means - means.mean(0)
    assert found.nc1_regularised == pytest.approx(np.trace(within @ np.linalg.inv(apart.T @ apart + REGULARISATION * np.eye(P))))
    assert found.nc1_regularised == pytest.approx(found.tr_sw * (P - C + 1) / P / REGULARISATION, rel=0.02)


def test_equal_means_have_no_value():
    features = np.array([[1.0, 2.0], [3.0, 4.0]] * 2)
    assert collapse(features, np.array([0, 0, 1, 1]), np.full(4, 0.25)) is None


def test_classes_of_targets():
    assert list(classes_of(np.array([2, 0, 2]))) == [2, 0, 2]
    codes = np.array([[0, 1.5], [1.5, 0], [0, 1.5]])
    assert list(classes_of(codes)) == [0, 1, 0]
    assert classes_of(np.array([0.1, 0.2])) is None
    assert classes_of(np.random.default_rng(0).standard_normal((9, 2))) is None
