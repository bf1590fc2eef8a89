"""The pictures that are kept of a network: the extreme readouts' weights as images, and the very examples it was trained on."""

from typing import ClassVar

import numpy as np
import pytest

from trainables.cell import cell_of
from trainables.engines.dense.batched import Batched
from trainables.pictures import MOST_EXTREME, OF_EACH_LABEL, extremes, pictures_of, pictures_of_weights
from trainables.streams import stream, stream_owner
from trainables.tasks import PSVRT, Pentomino, SameDifferent
from trainables.trainers.centred import draw_initial
from trainables.trainers.run import PackRun

TASKS = [PSVRT(L=20, patches=3), Pentomino(L=9, patches=2), SameDifferent(L=4, d=6)]


def trained(task, **more):
    settings = {"width": 24, "gamma": 1.0, "base_lr": 0.5, "steps": 20, "eval_every": 20, "test_size": 8, "batch": 16, "seed": 3}
    cells = [cell_of(task, **(settings | more)), cell_of(task, **(settings | {"seed": 4} | more))]
    run = PackRun(cells, Batched(cells))
    run.advance(float("inf"))
    return run


@pytest.mark.parametrize("task", TASKS)
def test_weights_are_those_of_the_extreme_readouts_in_the_shape_of_the_input(task):
    run = trained(task)
    readout = run.results()[1].readout
    found = pictures_of(run.cells[1], run.trainer, 1, readout)
    ascending = np.sort(readout)
    assert list(found.readout) == [*ascending[::-1][:MOST_EXTREME], *ascending[:MOST_EXTREME]]
    np.testing.assert_array_equal(readout[found.neuron], found.readout)
    whole = draw_initial(run.cells[1])[0] + run.cells[1].epsilon * run.trainer.u[1].numpy()
    assert found.weights.dtype == np.float32 and found.weights.shape[1:] == task.input_shape
    np.testing.assert_allclose(found.weights, task.as_shown(whole.T[found.neuron]), rtol=0, atol=1e-6)
    assert found.rulings == getattr(task, "patch_size", None)


@pytest.mark.parametrize("task", TASKS)
def test_examples_are_the_first_of_either_label_in_training(task):
    run = trained(task)
    found = pictures_of(run.cells[0], run.trainer, 0, run.results()[0].readout)
    owner = stream_owner(run.cells[0])
    x, y = task.train_examples(stream(owner, "batches", 0), task.draw_symbols(stream(owner, "symbols")), 10 * 16)
    np.testing.assert_array_equal(found.same, [True] * OF_EACH_LABEL + [False] * OF_EACH_LABEL)
    expected = [*task.as_shown(x)[y > 0][:OF_EACH_LABEL], *task.as_shown(x)[y == 0][:OF_EACH_LABEL]]
    np.testing.assert_array_equal(found.examples, expected)


@pytest.mark.parametrize(
    ("readout", "expected"),
    [
        (np.arange(-6.0, 7.0), [12, 11, 10, 9, 0, 1, 2, 3]),  # 0.0 is of neither sign
        ([0.5, -0.5], [0, 1]),
        ([3.0, 2.0, 1.0], [0, 1, 2]),
        ([-1.0], [0]),
        ([1.0, 5.0, -2.0], [1, 0, 2]),
    ],
)
def test_extremes(readout, expected):
    assert list(extremes(np.array(readout))) == expected


def test_a_task_may_show_its_examples_in_its_own_way():
    class InColours(SameDifferent):
        def shown_examples(self, rng, symbols, n):
            _, same = self.train_examples(rng, symbols, n)
            return np.ones((n, 2, 5, 3), np.float32) * same[:, None, None, None], same

    run = trained(InColours(L=4, d=6), width=3)
    found = pictures_of(run.cells[0], run.trainer, 0, run.results()[0].readout)
    assert found.examples.shape == (4, 2, 5, 3) and found.weights.shape[1:] == (2, 6)
    np.testing.assert_array_equal(found.examples.mean((1, 2, 3)), found.same)
    rows = found.rows()
    assert [row["kind"] for row in rows] == ["weights"] * len(found.neuron) + ["example"] * 4
    assert all(np.prod(row["shape"]) == len(row["pixels"]) for row in rows)


def test_examples_of_a_fixed_training_set_are_of_that_set():
    """Labels drawn before inputs: a longer draw of the same stream has other inputs."""

    class Few(SameDifferent):
        n_train: ClassVar[int] = 12

        def train_examples(self, rng, symbols, n):
            labels = rng.integers(0, 2, n)
            return rng.standard_normal((n, 2 * self.d), dtype=np.float32), labels

    cell = cell_of(Few(L=4, d=6), width=3, gamma=1.0, batch=16, seed=3)
    symbols = cell.task.draw_symbols(stream(stream_owner(cell), "symbols"))
    x, _ = cell.task.train_examples(stream(stream_owner(cell), "batches", 0), symbols, 12)
    found = pictures_of_weights(cell, np.arange(1), np.ones(1), np.zeros((1, 12)))
    seen = {row.tobytes() for row in cell.task.as_shown(x)}
    assert len(found.examples) == 4 and all(example.tobytes() in seen for example in found.examples)
