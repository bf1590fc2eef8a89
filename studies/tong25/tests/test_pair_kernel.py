"""The kernel by Hadamard powers against the kernel as it is."""

import numpy as np
import pytest
from sweepkit.studies.tong25.theory.lazy import ntk_of_inputs, tangent_kernel
from sweepkit.studies.tong25.theory.pair_kernel import FIT_TOLERANCE, DensePairs, DrawnPairs, SeriesPairs, pair_probabilities


def draw(n, d, tests=400):
    rng = np.random.default_rng([n, d])
    symbols, z1, z2 = (rng.standard_normal((m, d)) / np.sqrt(d) for m in (n, tests, tests))
    z2[: tests // 2] = z1[: tests // 2]
    c = rng.exponential(size=(n, n)) * (np.eye(n) - 0.5) * pair_probabilities(n)  # signs as in training
    return symbols, z1, z2, c + c.T


@pytest.mark.parametrize(("n", "d"), [(2, 8), (30, 16), (30, 64), (30, 1024)])
def test_against_all_entries(n, d):
    symbols, z1, z2, c = draw(n, d)
    x = np.concatenate([symbols.repeat(n, 0), np.tile(symbols, (n, 1))], axis=1)
    tests = np.concatenate([z1, z2], axis=1)
    train, test = (ntk_of_inputs(inputs, x) @ c.ravel() for inputs in (x, tests))

    dense = DensePairs(symbols)
    of_pair = np.where(dense.u == dense.v, 1, 2) * c[dense.u, dense.v]
    # 1e-7: arcsin near cos = 1 turns a rounding of 1e-16 into its root.
    np.testing.assert_allclose(dense.product(of_pair), train.reshape(n, n)[dense.u, dense.v], rtol=0, atol=1e-7)
    np.testing.assert_allclose(dense.at(z1, z2, of_pair[None])[0], test, rtol=0, atol=1e-12)
    np.testing.assert_allclose(dense.matrix(of_pair), c, rtol=1e-15)
    if n == 2:
        return  # the series is for many symbols

    series = SeriesPairs(symbols, np.random.default_rng(0))
    # Entries err by FIT_TOLERANCE of their class's spread, in either sign, and a sum over n^2 of them by less of its own;
    # float32 keeps 1e-6 of the sum of all sizes.
    for ours, exact in ((series.product(c.ravel()), train), (series.at(z1, z2, c.ravel()[None])[0], test)):
        allowed = FIT_TOLERANCE * exact.std() + 1e-6 * np.abs(c).sum()
        assert np.sqrt(np.mean((ours - exact) ** 2)) <= allowed
        assert abs(np.mean(ours - exact)) <= allowed


def test_probabilities():
    p = pair_probabilities(7)
    assert p.sum() == pytest.approx(1)
    assert np.trace(p) == pytest.approx(0.5)
    symbols = np.random.default_rng(0).standard_normal((7, 5))
    dense = DensePairs(symbols)
    assert dense.p.sum() == pytest.approx(1)
    assert dense.p[dense.y == 1].sum() == pytest.approx(0.5)


def test_drawn_network_against_its_kernel():
    symbols, z1, z2, c = draw(9, 6, tests=50)
    c = c + 0.1 * np.random.default_rng(1).standard_normal(c.shape) * c  # not symmetric, as the kernel is not
    rng = np.random.default_rng(0)
    w, a = rng.standard_normal((12, 40)) / np.sqrt(40), rng.standard_normal(40) / np.sqrt(40)
    x = np.concatenate([symbols.repeat(9, 0), np.tile(symbols, (9, 1))], axis=1)
    drawn = DrawnPairs(symbols, w, a)
    atol = 1e-5 * np.abs(c).sum()  # float32: 1e-7 a term, the kernel is near 1
    np.testing.assert_allclose(drawn.product(c.ravel()), tangent_kernel(x, x, w, a) @ c.ravel(), rtol=0, atol=atol)
    tests = np.concatenate([z1, z2], axis=1)
    exact = tangent_kernel(tests, x, w, a) @ c.ravel()
    np.testing.assert_allclose(drawn.at(z1, z2, c.ravel()[None])[0], exact, rtol=0, atol=atol)
    with pytest.raises(ValueError, match="finite width"):
        DrawnPairs(np.zeros((512, 1)), np.zeros((2, 1024)), np.zeros(1024))
