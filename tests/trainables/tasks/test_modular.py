"""Modular arithmetic: the answers are right, the split is whole, and a network that decays finds the rule late."""

import numpy as np
import pytest
from pydantic import ValidationError

from trainables.cell import cell_of
from trainables.engines import descent_engine
from trainables.tasks import Modular, ModularTokens
from trainables.trainers.run import PackRun


def rng(k=0):
    return np.random.default_rng(k)


def posed(task, x):
    """x and y of inputs."""
    p = task.modulus
    np.testing.assert_array_equal(x.reshape(-1, 2, p).sum(2), 1)
    return x[:, :p].argmax(1), x[:, p:].argmax(1)


@pytest.mark.parametrize(("op", "modulus", "n"), [("add", 12, 144), ("multiply", 13, 169), ("divide", 13, 156), ("divide", 2, 2)])
def test_answers_are_right_and_each_pair_is_posed_once(op, modulus, n):
    task = Modular(modulus=modulus, op=op, fraction=0.4)
    assert (task.n_pairs, task.n_outputs, task.input_dim) == (n, modulus, 2 * modulus) and task.n_train == round(0.4 * n)
    symbols, pairs = task.draw_symbols(rng()), []
    for draw, count in ((task.train_examples, task.n_train), (task.test_examples, n - task.n_train)):
        inputs, answers = draw(rng(1), symbols, count)
        assert inputs.dtype == np.float32
        x, y = posed(task, inputs)
        if op == "divide":
            np.testing.assert_array_equal(answers * y % modulus, x)
        else:
            np.testing.assert_array_equal(answers, (x + y if op == "add" else x * y) % modulus)
        pairs += zip(x, y, strict=True)
    assert len(set(pairs)) == len(pairs) == n
    assert all(y for _, y in pairs) or op != "divide"


def test_the_split_is_of_the_seed():
    task = Modular(modulus=11)
    first, again, other = (task.train_examples(rng(9), task.draw_symbols(rng(k)), task.n_train)[0] for k in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"modulus": 12, "op": "divide"}, "divide needs a prime modulus, and 12 is none"),
        ({"modulus": 3, "fraction": 0.99}, "leaves none to train on, or none for the test"),
        ({"modulus": 3, "fraction": 0.01}, "leaves none to train on, or none for the test"),
        ({"modulus": 1}, "greater than or equal to 2"),
        ({"modulus": 5, "op": "power"}, "add"),
    ],
)
def test_what_cannot_be_is_refused(keys, said):
    with pytest.raises(ValidationError, match=said):
        Modular(**keys)


def test_the_pairs_are_learnt_by_heart_before_the_rule():
    """Three seeds: see docs/howto/richness.md."""
    task = Modular(modulus=13, fraction=0.75)
    cell = cell_of(task, network="mlp", depth=1, width=96, activation="quadratic", training="adamw", base_lr=0.005, beta2=0.98,
                   weight_decay=0.3, batch="full", steps=2500, eval_every=100, test_size=42, seed=0)  # fmt: skip
    run = PackRun([cell], descent_engine("stacked").trainer([cell]))
    while not run.done:
        run.advance(0.0)
    (found,) = run.results()
    assert found.train_acc[2] > 0.99 and found.test_acc[2] < 0.2
    assert found.test_acc[-1] > 0.95


@pytest.mark.parametrize("op", ["add", "multiply", "divide"])
def test_tokens_are_the_pairs_whose_answers_are_the_classes(op):
    task = ModularTokens(modulus=7, op=op, fraction=0.6)
    symbols = task.draw_symbols(np.random.default_rng(0))
    x, y = task.train_set(np.random.default_rng(1), symbols, task.n_train)
    assert x.shape == (task.n_train, 2) and x.max() < task.n_tokens == 7
    vectors = Modular(modulus=7, op=op, fraction=0.6)
    one_hot, same = vectors.train_set(np.random.default_rng(1), symbols, task.n_train)
    assert (y == same).all() and (one_hot.reshape(-1, 2, 7).argmax(2) == x).all()


def test_a_transformer_learns_the_pairs_by_heart():
    sizes = {"embedding": 16, "heads": 2, "head_dim": 8, "width": 32, "depth": 2}
    cell = cell_of(
        ModularTokens(modulus=5, fraction=0.6), seed=0, training="adam", steps=300, eval_every=20, batch=0, base_lr=0.01, **sizes
    )
    run = descent_engine("stacked").make([cell])
    while not run.done:
        run.advance(60)
    assert run.results()[0].train_acc[-1] == 1
