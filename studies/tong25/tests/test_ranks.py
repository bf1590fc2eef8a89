"""AUC and accuracy at the best threshold, beside every pair and every threshold."""

import numpy as np
import pytest
from sweepkit.studies.tong25.theory.ranks import accuracy_at_best_threshold, auc


@pytest.mark.parametrize("ties", [False, True])
def test_ranks_are_those_of_every_pair_and_threshold(ties):
    rng = np.random.default_rng(0)
    is_same = rng.random(101) < 0.4
    f = rng.standard_normal((3, 101)) + np.array([[0.0], [1.0], [-1.0]]) * (is_same - 0.3)
    f = np.round(f) if ties else f
    for outputs, area, best in zip(f, auc(f, is_same), accuracy_at_best_threshold(f, is_same), strict=True):
        pairs = outputs[is_same][:, None] - outputs[~is_same]
        assert area == pytest.approx(((pairs > 0) + (pairs == 0) / 2).mean(), abs=1e-12)
        assert best == pytest.approx(max(((outputs > at) == is_same).mean() for at in [-np.inf, *outputs]), abs=1e-12)


def test_outputs_without_order_leave_chance():
    is_same = np.arange(10) < 4
    f = np.zeros((1, 10))
    assert auc(f, is_same) == 0.5 and accuracy_at_best_threshold(f, is_same) == 0.6
    perfect = np.where(is_same, -1.0, -2.0)[None]  # every sign says different
    assert auc(perfect, is_same) == accuracy_at_best_threshold(perfect, is_same) == 1
