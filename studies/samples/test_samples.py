"""Samples until a target is found: the leap against all orders of learning, the flow against SGD, the kernel against ridge."""

from itertools import permutations
from math import factorial, sqrt

import numpy as np
import pytest
from numpy.polynomial import hermite_e
from sweepkit.studies.rubin25.theory.gaussian_process import lazy_error
from sweepkit.studies.samples.theory import FOUND, exponent, flow_time, lazy_samples, leap_of, samples

from trainables.cell import cell_of
from trainables.engines import ENGINES
from trainables.tasks import Hermite


@pytest.mark.parametrize(
    "terms",
    [
        [{1}, {1, 2}, {1, 2, 3}],
        [{1, 2, 3}],
        [{1, 2}, {1, 2, 3}],
        [{1}, {2, 3, 4}, {1, 2}],
        [{1, 2, 3, 4}, {1}, {5, 6}, {1, 5, 6}],
    ],
)
def test_the_leap_is_the_least_over_all_orders(terms):
    def largest(order):
        known, most = set(), 0
        for term in order:
            most, known = max(most, len(term - known)), known | term
        return most

    assert leap_of(terms) == min(largest(order) for order in permutations(terms))


def test_exponents_of_leaps():
    assert [exponent(leap) for leap in (1, 2, 3, 4)] == [1, 1, 2, 3]


def by_descent(k, d, rate, batch, seed, width=128):
    """Samples until SGD halves the error, neurons on the sphere; the error is computed from the overlaps, exactly."""
    rng = np.random.default_rng(seed)
    u = rng.standard_normal((d, width))
    u /= np.linalg.norm(u, axis=0)
    signs = np.where(np.arange(width) % 2, -1.0, 1.0)
    of, down = [0] * k + [1 / sqrt(factorial(k))], [0] * (k - 1) + [k / sqrt(factorial(k))]
    for step in range(20_000):
        # <He_k(u.x), He_k(v.x)> = k! (u.v)^k
        both = 4 / width**2 * signs @ (u.T @ u) ** k @ signs
        if both - 4 / width * signs @ u[0] ** k + 1 <= FOUND:
            return step * batch
        x = rng.standard_normal((batch, d))
        z = x @ u
        off = 2 / width * hermite_e.hermeval(z, of) @ signs - hermite_e.hermeval(x[:, 0], of)
        gradient = 2 * x.T @ (off[:, None] * signs * hermite_e.hermeval(z, down)) / batch
        u -= rate * (gradient - u * (u * gradient).sum(0))
        u /= np.linalg.norm(u, axis=0)
    raise AssertionError("not found")


@pytest.mark.parametrize(("k", "rate"), [(1, 0.002), (2, 0.0025), (3, 0.005)])
def test_the_flow_is_what_small_steps_do(k, rate):
    found = [by_descent(k, 20, rate, 64, seed) for seed in range(4)]
    # 128 neurons leave 20% between seeds at k = 3, and an error of 1 + 4/128 at the start; noise slows by some percent.
    assert np.exp(np.log(found).mean()) == pytest.approx(samples(k, 20, rate, 64), rel=0.25)


def test_the_flow_is_what_networks_of_this_project_do():
    """A factor of the loss or of the rate would show."""
    rate, batch, evaluated = 0.01, 64, 5
    keys = {"network": "sphere", "width": 128, "batch": batch, "base_lr": rate, "steps": 150, "eval_every": evaluated}
    cells = [cell_of(Hermite(d=20, degree=2), test_size=8192, seed=seed, **keys) for seed in range(4)]
    run = ENGINES["stacked"].make(cells)
    run.advance(60)
    first = [int(np.argmax(result.scores["mse"] <= FOUND)) + 0.5 for result in run.results()]
    # 128 neurons leave 10% between seeds; noise slows by some percent.
    assert np.mean(first) * evaluated * batch == pytest.approx(samples(2, 20, rate, batch), rel=0.2)


def test_the_flow_grows_as_the_law_says():
    d = np.array([64, 256])
    for k, law in ((1, 1.0), (3, 2.0), (4, 3.0)):
        grown = [flow_time(k, int(one)) * one ** max(1, k / 2) for one in d]
        assert np.diff(np.log(grown))[0] / np.log(4) == pytest.approx(law, abs=0.05)
    logarithm = [flow_time(2, int(one)) for one in d]
    # The overlap grows as exp(4 t) from 1/sqrt(d): one more factor of 4 in d takes log(2)/4 more.
    assert np.diff(logarithm)[0] == pytest.approx(np.log(2) / 4, rel=0.1)


def test_an_error_that_is_never_reached_is_told():
    with pytest.raises(ValueError, match="does not reach a test error of 0"):
        flow_time(3, 16, 0.0)


def test_the_error_of_the_lazy_network_is_that_of_ridge_regression():
    def features(x):
        return np.sqrt(2) * x / np.sqrt(x.shape[1] + 2 * (x**2).sum(1, keepdims=True))

    d, P, ridge = 12, 500, 1e-4
    errors = []
    for seed in range(8):
        x = np.random.default_rng(seed).standard_normal((P + 6000, d))
        y = (x[:, 0] ** 3 - 3 * x[:, 0]) / np.sqrt(6)
        kernel = 2 / np.pi * np.arcsin(features(x) @ features(x[:P]).T)
        f = kernel[P:] @ np.linalg.solve(kernel[:P] + ridge * np.eye(P), y[:P])
        errors.append(((f - y[P:]) ** 2).mean() / (y[P:] ** 2).mean())  # targets have heavy tails
    assert np.mean(errors) == pytest.approx(lazy_error(P, 1, d, ridge), rel=0.1)  # the standard error over 8 sets is 4%
    assert lazy_error(0, 1, d, ridge) == 1.0


def test_lazy_samples_are_where_the_error_passes_half():
    P = lazy_samples(16, 1e-4)
    assert lazy_error(P, 1, 16, 1e-4) == pytest.approx(FOUND, abs=1e-6) and lazy_error(1.1 * P, 1, 16, 1e-4) < FOUND
    wide = [lazy_samples(d, 1e-4) for d in (128, 256)]
    assert np.log2(wide[1] / wide[0]) == pytest.approx(3, abs=0.1)  # one sample for each of d^3/6 coefficients, in the end
    with pytest.raises(ValueError, match="passes no test error"):
        lazy_samples(8, 10.0)
