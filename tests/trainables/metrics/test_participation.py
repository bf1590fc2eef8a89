"""The participation ratio of features with known covariances."""

import numpy as np
import pytest

from trainables.cell import cell_of
from trainables.metrics.base import Probe, Probed
from trainables.metrics.participation import participation
from trainables.tasks import SameDifferent

CELL = cell_of(SameDifferent(L=4, d=8), width=16, gamma=1.0, seed=0)


def never(inputs):
    raise AssertionError("the participation ratio needs no other inputs")


def ratio(features):
    n = 2 if features is None else len(features)
    examples = np.zeros((n, 16)), np.zeros(n)
    return participation.measure(Probe(CELL, lambda: examples, at=lambda x: Probed(np.zeros(n), features, {}), at_start=never))


def test_known_covariances():
    rng = np.random.default_rng(0)
    line = np.outer(rng.standard_normal(50), rng.standard_normal(6))
    assert ratio(line) == pytest.approx(1)
    orthogonal, _ = np.linalg.qr(rng.standard_normal((50, 6)) - 0.0)
    centred = orthogonal - orthogonal.mean(0)
    basis, _ = np.linalg.qr(centred)
    assert ratio(basis) == pytest.approx(6)
    weighted = basis * np.sqrt([3, 1, 0, 0, 0, 0])  # (3 + 1)^2 / (9 + 1)
    assert ratio(weighted) == pytest.approx(1.6)


def test_nothing_to_measure_is_none():
    assert ratio(None) is None
    assert ratio(np.ones((5, 3))) is None
