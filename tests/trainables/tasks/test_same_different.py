"""The same-different task [Tong25 S2, G.2]: its draws have the stated laws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainables.tasks import SameDifferent

RNG = np.random.default_rng


def test_symbols_have_variance_one_over_d():
    z = SameDifferent(L=400, d=100).draw_symbols(RNG(0))
    assert z.shape == (400, 100) and z.dtype == np.float32
    assert z.var() * 100 == pytest.approx(1, abs=0.04)  # 40,000 draws: five standard errors of sqrt(2/40000)


@given(L=st.integers(2, 9), seed=st.integers(0, 2**32))
@settings(max_examples=25, deadline=None)
def test_pairs_are_half_same_and_otherwise_uniform(L, seed):
    u, v = SameDifferent(L=L, d=1).draw_pairs(RNG(seed), 4000)
    assert ((u >= 0) & (u < L) & (v >= 0) & (v < L)).all()
    assert (u == v).mean() == pytest.approx(0.5, abs=0.045)  # standard error 0.0079; hypothesis looks often, so 5.7 of them
    counts = np.zeros((L, L))
    np.add.at(counts, (u, v), 1)
    different = counts[~np.eye(L, dtype=bool)]
    expected = 2000 / (L * (L - 1))
    assert np.abs(different - expected).max() < 7 * np.sqrt(expected) + 7


def test_train_examples_come_from_the_symbols():
    task = SameDifferent(L=5, d=8)
    z = task.draw_symbols(RNG(1))
    x, y = task.train_examples(RNG(2), z, 200)
    u, v = task.draw_pairs(RNG(2), 200)
    np.testing.assert_array_equal(x, np.concatenate([z[u], z[v]], axis=1))
    np.testing.assert_array_equal(y, u == v)


def test_noise_has_variance_sigma2_over_d_and_is_independent_between_halves():
    task, clean = SameDifferent(L=5, d=50, sigma2=2.0), SameDifferent(L=5, d=50)
    z = clean.draw_symbols(RNG(1))
    x, y = task.train_examples(RNG(2), z, 4000)
    x0, y0 = clean.train_examples(RNG(2), z, 4000)
    np.testing.assert_array_equal(y, y0)  # the same pairs: noise is drawn after them
    eta = (x - x0) * np.sqrt(50 / 2)
    assert eta.var() == pytest.approx(1, abs=0.02)
    assert abs((eta[:, :50] * eta[:, 50:]).mean()) < 0.012  # 200,000 products of unit variance: five standard errors


def test_test_symbols_are_fresh_for_every_example():
    task = SameDifferent(L=3, d=16)
    z = task.draw_symbols(RNG(0))
    x, y = task.test_examples(RNG(5), z, 1024)
    assert len(np.unique(x[:, 0])) == 1024
    assert not np.isin(x[:, :16], z).any()
    np.testing.assert_array_equal((x[:, :16] == x[:, 16:]).all(1), y)
    assert y.mean() == pytest.approx(0.5, abs=0.08)  # five standard errors of 1/(2 sqrt(1024))


@pytest.mark.parametrize(
    "bad", [{"L": 1, "d": 4}, {"L": 2, "d": 0}, {"L": 2, "d": 4, "sigma2": -1.0}, {"L": True, "d": 4}, {"L": 2, "d": 4, "x": 1}]
)
def test_bad_keys_are_refused(bad):
    with pytest.raises(ValueError):
        SameDifferent(**bad)
