"""The spread of lazy networks beside networks drawn one by one, and beside infinite and large limits."""

import numpy as np
import pytest
from sweepkit.studies.fluctuations.theory import kernel, of_hermite, onset_width, spread

from analysis.theory.ridge_curves import hermite


def data(P=16, d=4, n=40, seed=0):
    rng = np.random.default_rng(seed)
    x, unseen = rng.standard_normal((P, d)), rng.standard_normal((n, d))
    return x, hermite(2, x[:, 0]), unseen


def drawn(x, y, unseen, m, networks, seed=1):
    """Outputs (networks, n) of lazy networks with m neurons: least squares in the gradients at the start, written out."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(networks):
        w, b, a = rng.standard_normal((m, x.shape[1])) / np.sqrt(x.shape[1]), rng.standard_normal(m), rng.standard_normal(m)

        def gradients(z, w=w, b=b, a=a):
            u = z @ w.T + b
            gate = a * (u > 0)
            of_weights = (gate[:, :, None] * z[:, None, :]).reshape(len(z), -1)
            return np.hstack([np.hstack([np.maximum(u, 0), of_weights, gate]) / np.sqrt(m), np.ones((len(z), 1))])

        found.append(gradients(unseen) @ np.linalg.lstsq(gradients(x), y, rcond=None)[0])
    return np.array(found)


def test_the_kernel_is_the_mean_over_neurons():
    x, _, unseen = data()
    rng, n = np.random.default_rng(2), 400_000
    w, b, a = rng.standard_normal((4, n)) / 2, rng.standard_normal(n), rng.standard_normal(n)
    u, v = x[:2] @ w + b, unseen[:3] @ w + b
    gates = (a * (u > 0)) @ (a * (v > 0)).T / n
    found = np.maximum(u, 0) @ np.maximum(v, 0).T / n + (x[:2] @ unseen[:3].T + 1) * gates + 1
    # Products have a standard deviation of at most 15; four standard errors.
    np.testing.assert_allclose(kernel(x[:2], unseen[:3]), found, atol=4 * 15 / np.sqrt(n))


def test_drawn_networks_have_this_variance():
    x, y, unseen = data()
    said, networks, m = spread(x, y, unseen, hermite(2, unseen[:, 0]), neurons=40_000), 300, 1024
    found = drawn(x, y, unseen, m, networks)
    # A variance of 300 networks has an error of sqrt(2/300) = 8% for each of a few independent directions; three such errors, and
    # 16/1024 (d + 2) of the next order, are less than 0.25.
    assert m * found.var(axis=0, ddof=1).mean() == pytest.approx(said.variance, rel=0.25)
    rival = drawn(x, y, unseen, 64, networks).var(axis=0, ddof=1).mean()
    assert rival > 8 * found.var(axis=0, ddof=1).mean(), "the width counts"


def test_drawn_networks_shift_by_this_much():
    x, y, unseen = data()
    said, networks, m = spread(x, y, unseen, hermite(2, unseen[:, 0]), neurons=100_000), 1500, 128
    found = drawn(x, y, unseen, m, networks)
    infinite = kernel(unseen, x) @ np.linalg.solve(kernel(x, x), y)
    one, other = (half.mean(0) - infinite for half in (found[::2], found[1::2]))
    shift = m**2 * (one * other).mean()
    # The halves' noise: variance/(m networks/2) per example over sqrt(5) directions or more, in units of 1/m^2; three of it, and
    # a third of the shift for the next order in 1/m.
    noise = m * said.variance / (networks / 2) / np.sqrt(5)
    assert shift == pytest.approx(said.shift, abs=3 * noise + said.shift / 3) and shift > 3 * noise


def test_drawn_networks_err_by_this_much_more():
    """1/m of the excess over the error of infinite width, at test examples that all networks share. Rival: the variance alone."""
    x, y, unseen = data(P=32, n=100)
    truths, networks, m = hermite(2, unseen[:, 0]), 600, 128
    said = spread(x, y, unseen, truths, neurons=50_000)
    infinite = kernel(unseen, x) @ np.linalg.solve(kernel(x, x), y)
    assert said.error == pytest.approx(((infinite - truths) ** 2).mean(), rel=1e-9)
    found = ((drawn(x, y, unseen, m, networks) - truths) ** 2).mean(1)
    excess, error = m * (found.mean() - said.error), m * found.std() / networks**0.5
    # Three standard errors, and P/(m (d + 2)) = 4% of the variance for the next order.
    tolerance = 3 * error + 0.04 * said.variance
    assert excess == pytest.approx(said.variance + said.drift, abs=tolerance) and said.variance > excess + tolerance


def test_the_onset_is_where_the_excess_is_half():
    few, many = (onset_width(2, 4, P, 1.5, sets=4) for P in (16, 64))
    assert many > few > 0 and onset_width(2, 4, 16, 2.0, sets=4) == pytest.approx(few / 2)


def test_over_data_sets():
    few, many = of_hermite(2, 4, 16, sets=50), of_hermite(2, 4, 16, sets=100)
    assert few.value == pytest.approx(many.value, abs=3 * few.error) and many.error < few.error
