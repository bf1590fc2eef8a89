"""Grokking from lazy to rich: the closed dynamics beside descent on many neurons, and the terms beside a sampled error."""

import numpy as np
import pytest
from sweepkit.studies.lazy_to_rich.theory import Course, course, delay, drawn

D, P, A, E, RATE = 6, 40, 2.0, 0.5, 0.05


def by_neurons(x, target, steps, m=4000):
    """Weights (m, D) after descent neuron by neuron from moments that are exactly those of infinitely many."""
    w = np.random.default_rng(1).standard_normal((m, D))
    w -= w.mean(0)
    w = w @ np.linalg.inv(np.linalg.cholesky(w.T @ w / m)).T / np.sqrt(D)
    y, losses = (x @ target) ** 2 / 2, []
    for _ in range(steps):
        h = w @ x.T
        g = A * (h + E / 2 * h**2).mean(0) - y
        losses.append((g**2).mean())
        w -= RATE * m / A**2 * (2 / P * A / m) * ((1 + E * h) * g) @ x
    return w, losses


def a_set():
    rng = np.random.default_rng(0)
    target = rng.standard_normal(D)
    return rng.standard_normal((P, D)), target / np.linalg.norm(target)


def test_it_is_descent_on_the_neurons_themselves():
    x, target = a_set()
    w, losses = by_neurons(x, target, 200)
    found = course(x, target, A, E, RATE, [1, 20, 200])
    assert found.train == pytest.approx([losses[0], losses[19], losses[199]], rel=1e-9)
    assert losses[199] < losses[0] / 10
    fresh = np.random.default_rng(2).standard_normal((400_000, D))
    h_mean, h_square = fresh @ w.mean(0), ((fresh @ (w.T @ w / len(w))) * fresh).sum(1)
    squared = (A * (h_mean + E / 2 * h_square) - (fresh @ target) ** 2 / 2) ** 2
    assert found.test[-1] == pytest.approx(squared.mean(), abs=4 * squared.std() / np.sqrt(len(fresh)))


def test_a_network_that_answers_nothing_has_the_power_of_the_target():
    """Nothing moves but the linear part as e -> 0; without steps of any size all terms are those of f = 0: 1/4, 1/2 and 0."""
    x, target = a_set()
    found = course(x, target, 1.0, 1e-9, 1e-9, [1])
    assert (found.constant[0], found.quadratic[0], found.linear[0]) == pytest.approx((0.25, 0.5, 0), abs=1e-6)


def test_the_linear_part_learns_by_heart_and_the_quadratic_part_late():
    found = drawn(20, 110, 1.0, 0.25, 0.1, range(1, 2001), seed=0)
    learnt = np.argmax(found.train < 0.1)
    assert found.linear[learnt] > 0.05 and found.quadratic[learnt] > 0.2
    assert found.linear[-1] < 0.01 and found.quadratic[-1] < 0.02 and found.train[-1] < 1e-3


def test_it_ends_once_both_errors_are_small():
    whole, ended = (drawn(20, 110, 1.0, 0.25, 0.1, range(1, 2001), seed=0, until=until) for until in (0.0, 0.1))
    assert len(ended.step) < len(whole.step) and ended.test[-1] <= 0.1 < ended.test[-2]
    assert delay(ended, 0.1) == delay(whole, 0.1)


def test_alignment_brings_both_errors_forward_and_the_training_error_more():
    """So the ratio of the two steps, the delay, grows with e; would e speed generalisation alone, it would fall."""
    at = np.unique(np.geomspace(1, 2000, 400).round().astype(int)).tolist()
    steps = [[crossings(drawn(30, 165, 1.0, e, 0.2, at, seed=seed, until=0.1)) for seed in range(4)] for e in (1 / 16, 1 / 2)]
    train, test = (np.diff(np.log(steps), axis=0)[0] / np.log(8)).T  # exponents of e by seed
    assert (test < -0.7).all() and (train < test - 0.1).all()


def crossings(of):
    """The steps at which the training error and the test error are at most 0.1."""
    return [of.step[(errors <= 0.1).argmax()] for errors in (of.train, of.test)]


def test_the_delay_of_curves_that_are_known():
    nothing = np.zeros(3)
    steps = np.array([1.0, 10.0, 100.0])
    of = Course(steps, np.array([1, 0.1, 0.1]), np.array([1, 1, 0.05]), nothing, nothing)
    assert delay(of, 0.1) == 10 and np.isnan(delay(of, 0.01))
