"""Teachers: one direction, targets of unit power."""

import numpy as np
import pytest

from trainables.cell import cell_of
from trainables.tasks import Hermite, Hermite3, Linear, Parity2, Square, Staircase, TokenPairs


@pytest.mark.parametrize("teacher", [Hermite3, Linear])
def test_targets_are_of_the_direction_alone_and_of_unit_power(teacher):
    task = teacher(d=5, P=0)
    w = task.draw_symbols(np.random.default_rng(0))
    assert np.linalg.norm(w) == pytest.approx(1, abs=1e-6)  # float32
    x, y = task.test_examples(np.random.default_rng(1), w, 40_000)
    c = x.astype(float) @ w.astype(float)
    np.testing.assert_allclose(y, (c**3 - 3 * c) / np.sqrt(6) if teacher is Hermite3 else c, rtol=1e-12)
    # Var y^2 is E y^4 - 1: 2 for a Gaussian c; 92 for He_3, whose fourth moment is 3348/36 = 93.
    spread = {Hermite3: 92, Linear: 2}[teacher]
    assert abs((y**2).mean() - 1) < 4 * np.sqrt(spread / 40_000)


def test_pairs_of_tokens_are_those_of_different_ones_and_of_unit_power():
    task = TokenPairs(d=3, context=4, P=0)
    w = task.draw_symbols(np.random.default_rng(0))
    assert w.shape == (3,) and task.input_dim == 12 and task.patch_length == 3
    x, y = task.test_examples(np.random.default_rng(1), w, 40_000)
    c = x.reshape(-1, 4, 3)[:50].astype(float) @ w.astype(float)
    pairs = [[row[a] * (row[b] ** 2 - 1) for a in range(4) for b in range(4) if a != b] for row in c]
    np.testing.assert_allclose(y[:50], np.sum(pairs, axis=1) / np.sqrt(2 * 4 * 3), rtol=1e-6, atol=1e-6)  # x and w* are float32
    # The error of the mean square, from the sample's own fourth moment; and nothing linear in a token.
    assert abs((y**2).mean() - 1) < 4 * (y**2).std() / np.sqrt(40_000)
    assert np.abs((x * y[:, None]).mean(0)).max() < 5 * (y[:, None] * x).std() / np.sqrt(40_000)


def test_parity_is_of_two_bits_and_of_its_two_directions():
    task = Parity2(d=5, P=0)
    directions = task.draw_symbols(np.random.default_rng(0)).astype(float)
    x, y = task.test_examples(np.random.default_rng(1), directions, 10_000)
    np.testing.assert_allclose(directions @ directions.T, np.eye(2), atol=1e-6)  # float32
    assert set(np.unique(y)) == {0, 1}  # labels: whether the product is +1
    y = 2.0 * y - 1
    assert set(np.unique(x)) == {-1, 1} and x.shape == (10_000, 5)
    np.testing.assert_array_equal(y, x[:, 0] * x[:, 1])
    np.testing.assert_allclose(y, (x @ directions.T) ** 2 @ [0.5, -0.5], rtol=1e-6)
    moments = np.column_stack([x, x[:, 2:] * y[:, None], y]).mean(0)  # bits are fair and independent of each other
    assert np.abs(moments).max() < 4 / np.sqrt(10_000)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_hermite_targets_are_orthonormal_and_blind_to_lower_orders(k):
    task = Hermite(d=5, degree=k)
    w = task.draw_symbols(np.random.default_rng(0))
    x, y = task.train_examples(np.random.default_rng(1), w, 1000)
    c = x.astype(float) @ w.astype(float)
    if k <= 3:
        np.testing.assert_allclose(
            y, {1: c, 2: (c**2 - 1) / np.sqrt(2), 3: (c**3 - 3 * c) / np.sqrt(6)}[k], rtol=1e-12, atol=1e-12
        )
    # Gauss-Hermite quadrature of the weight exp(-c^2/2): exact for polynomials of degree below 40.
    nodes, weights = np.polynomial.hermite_e.hermegauss(20)
    gauss = weights / weights.sum()
    assert gauss @ task.target(nodes) ** 2 == pytest.approx(1, rel=1e-10)
    for lower in range(k):
        assert gauss @ (task.target(nodes) * nodes**lower) == pytest.approx(0, abs=1e-9)
    assert task.n_train is None


@pytest.mark.parametrize(
    ("leap", "of"),
    [
        (1, lambda x: (x[:, 0] + x[:, 0] * x[:, 1] + x[:, 0] * x[:, 1] * x[:, 2]) / np.sqrt(3)),
        (2, lambda x: (x[:, 0] * x[:, 1] + x[:, 0] * x[:, 1] * x[:, 2]) / np.sqrt(2)),
        (3, lambda x: x[:, 0] * x[:, 1] * x[:, 2]),
    ],
)
def test_a_staircase_is_a_sum_of_products_of_bits(leap, of):
    task = Staircase(d=5, degree=3, leap=leap)
    x, y = task.train_examples(np.random.default_rng(1), task.draw_symbols(np.random.default_rng(0)), 20_000)
    assert set(np.unique(x)) == {-1, 1} and x.dtype == np.float32 and task.n_train is None
    np.testing.assert_allclose(y, of(x.astype(float)), rtol=1e-12)
    assert np.abs(x.mean(0)).max() < 4 / np.sqrt(20_000)  # fair bits
    assert (y**2).mean() == pytest.approx(1, abs=4 * 1.5 / np.sqrt(20_000))  # y^2 is at most 3, its standard deviation below 1.5


@pytest.mark.parametrize("bad", [{"d": 5, "degree": 2, "leap": 3}, {"d": 3, "degree": 4}])
def test_a_leap_is_within_the_degree_and_that_within_d(bad):
    with pytest.raises(ValueError, match=r"is above degree .* or that above d"):
        Staircase(**bad)


def test_networks_at_equilibrium_want_examples():
    with pytest.raises(ValueError, match="task he3 has none; give P"):
        cell_of(Hermite3(d=4), network="erf2", width=4, kappa=1.0, seed=0)


def test_the_square_of_a_component():
    task = Square(d=5, P=8)
    w = task.draw_symbols(np.random.default_rng(0))
    x, y = task.train_examples(np.random.default_rng(1), w, 100)
    np.testing.assert_allclose(y, (x.astype(float) @ w.astype(float)) ** 2 / 2, rtol=1e-12)
    cell = cell_of(task, width=4, seed=0)
    assert (cell.network.name, cell.training.name, cell.batch) == ("committee", "gd", 8)
