"""Contexts of linear regression: their examples, tasks of training and of the test, and the network that reads them."""

import numpy as np
import pytest
from pydantic import ValidationError

from trainables.cell import cell_of
from trainables.engines import ENGINES
from trainables.engines.ridge.run import Solved
from trainables.tasks import Hermite, InContext


def make(network="linear_attention", training="ridge", P=20, seed=0, ridge=1e-9, **keys):
    task = InContext(**{"d": 4, "context": 6, "P": P, "noise": 0.0} | keys)
    return cell_of(task, network=network, training=training, ridge=ridge, test_size=64, seed=seed)


def test_a_context_holds_examples_of_one_task():
    task = InContext(d=3, context=5)
    x, y = task.train_examples(np.random.default_rng(0), task.draw_symbols(np.random.default_rng(1)), 400)
    assert x.shape == (400, task.input_dim) == (400, 5 * 4 + 3) and x.dtype == np.float32 and y.dtype == np.float64
    points, values, query = task.split(x)
    assert points.shape == (400, 5, 3) and values.shape == (400, 5) and query.shape == (400, 3)
    for one in range(400):
        w = np.linalg.lstsq(points[one].astype(float), values[one].astype(float))[0]
        assert y[one] == pytest.approx(query[one] @ w, abs=2e-3)  # float32, and systems that are badly conditioned
    assert x.reshape(-1).std() == pytest.approx(1, abs=0.03)  # 9200 numbers, few of them dependent


def test_noise_has_its_variance():
    task = InContext(d=3, context=5, noise=0.25)
    x, y = task.train_examples(np.random.default_rng(0), np.empty((0, 3)), 40_000)
    still = InContext(d=3, context=5).train_examples(np.random.default_rng(0), np.empty((0, 3)), 40_000)
    points, values, _ = task.split(x)
    np.testing.assert_array_equal(points, task.split(still[0])[0])
    assert (values - task.split(still[0])[1]).var() == pytest.approx(0.25, rel=0.02)  # 5 standard errors of 200,000 squares: 1.6%
    assert (y - still[1]).var() == pytest.approx(0.25, rel=0.04)


def test_training_tasks_are_few_and_the_tests_are_new_or_old():
    new, old = (InContext(d=3, context=8, train_tasks=2, P=64, tested=tested) for tested in ("new", "old"))
    tasks = new.draw_symbols(np.random.default_rng(0))
    assert tasks.shape == (2, 3)

    def distinct(x):
        points, values, _ = new.split(x)
        found = [np.linalg.lstsq(p.astype(float), v.astype(float))[0] for p, v in zip(points, values, strict=True)]
        return len({tuple(np.round(w, 2)) for w in found})

    rngs = [np.random.default_rng(1) for _ in range(4)]
    assert distinct(new.train_examples(rngs[0], tasks, 64)[0]) == distinct(old.test_examples(rngs[1], tasks, 64)[0]) == 2
    assert distinct(new.test_examples(rngs[2], tasks, 64)[0]) > 60
    ours, theirs = (Solved(make(train_tasks=2, tested=tested)).training_set()[0] for tested in ("new", "old"))
    np.testing.assert_array_equal(ours, theirs)
    with pytest.raises(ValidationError, match="tested: old is of train_tasks"):
        InContext(d=3, context=8, tested="old")


def features(task, inputs):
    """Features of contexts of 6 examples in 4 dimensions, as the last layer sees them."""
    rows = []
    for points, values, query in zip(*task.split(inputs.astype(float)), strict=True):
        u = sum(v * p for p, v in zip(points, values, strict=True)) / 6
        rows.append(np.outer(query, [*u, sum(values**2) / 6 / 2]).ravel() / 2)
    return np.array(rows)


def test_linear_attention_is_linear_in_what_the_query_reads():
    """By loops over examples, in both systems: fewer and more contexts than its 20 features."""
    for P in (12, 60):
        of = Solved(make(P=P, noise=0.1, ridge=0.01))
        of.solve()
        (x, y), (unseen, targets) = of.training_set(), of.test_set()

        ours, theirs = (features(of.cell.task, inputs) for inputs in (x, unseen))
        assert of.network.few(of.cell) == (P == 60) and ours.shape == (P, 20)
        w = np.linalg.solve(ours.T @ ours + 0.01 * np.eye(20), ours.T @ y)
        assert of.losses[0] == pytest.approx(((ours @ w - y) ** 2).mean(), rel=1e-4)
        assert of.losses[1] == pytest.approx(((theirs @ w - targets) ** 2).mean(), rel=1e-4)


def test_its_cost_is_that_of_the_smaller_system():
    engine, small, many = ENGINES["ridge"], make(P=20), make(P=20_000)
    assert engine.step_amounts(small)["product"] == pytest.approx(20**3 / 3 + 20 * (34 + 20 * 9))
    assert engine.step_amounts(many)["product"] == pytest.approx(20**3 / 3 + 20_000 * (34 + 20 * 20))
    assert engine.memory([many]) == 8 * (3 * 20**2 + (20_000 + 64) * (17 + 20) + 20_000)


def test_other_tasks_have_no_contexts():
    with pytest.raises(ValidationError, match="linear_attention needs contexts"):
        cell_of(Hermite(d=4, degree=2, P=8), network="linear_attention", training="ridge", seed=0)
