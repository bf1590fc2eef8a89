"""Images of digits out of packages: the split, the code, shuffled labels, and what is said where there are none."""

import gzip
import sys

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from trainables.basics import TaskError
from trainables.cell import cell_of
from trainables.checking.task import check_task
from trainables.engines import descent_engine
from trainables.features.images import packaged
from trainables.features.images.packaged import Packaged, read
from trainables.features.images.table import Taken
from trainables.metrics import metric_groups
from trainables.metrics.measuring import measured, probe_of
from trainables.metrics.richness import _Richness
from trainables.tasks import Digits, DigitsValue, MNIST5k, MNIST5kValue, Modular, Step
from trainables.tasks.images.digits import DIGITS
from trainables.trainers.run import PackRun

EACH = pytest.mark.parametrize(("task", "n", "side"), [(Digits, 1797, 8), (MNIST5k, 5000, 28)])


def rng(k=0):
    return np.random.default_rng(k)


def images(task):
    """All images (N, D) as networks see them."""
    table = task(P=10).table()
    return table.inputs(Taken(np.arange(len(table.rows)), np.zeros((len(table.rows), 0))))


def rows(x):
    return {one.tobytes() for one in x}


@EACH
def test_the_images_are_whole_and_in_the_unit_interval(task, n, side):
    found, pixels = task(P=10).images(), images(task)
    assert pixels.shape == (n, side**2) and pixels.dtype == np.float32
    assert (pixels.min(), pixels.max()) == (0, 1)
    counts = np.bincount(found.labels)
    assert len(counts) == 10 and counts.sum() == n and counts.min() >= 174
    assert task(P=10).as_shown(pixels[:3]).shape == (3, side, side)
    # A nearest mean of a class knows digits, so labels belong to their images. Seen: 0.90 and 0.82.
    means = np.stack([pixels[found.labels == k].mean(0) for k in range(10)])
    nearest = ((pixels[:, None] - means) ** 2).sum(2).argmin(1)
    assert (nearest == found.labels).mean() > 0.75


@EACH
def test_training_and_test_share_no_image_and_leave_none_out(task, n, side):
    made = task(P=n - 300)
    symbols = made.draw_symbols(rng())
    seen, unseen = (draw(rng(1), symbols, count)[0] for draw, count in
                    ((made.train_examples, n - 300), (made.test_examples, 300)))  # fmt: skip
    everything = rows(images(task))
    assert len(everything) == n and rows(seen) | rows(unseen) == everything  # no two images are equal
    assert len(rows(seen)) == n - 300 and len(rows(unseen)) == 300
    other = made.draw_symbols(rng(2))
    assert rows(made.train_examples(rng(1), other, n - 300)[0]) != rows(seen)


def test_a_test_of_more_examples_takes_each_image_equally_often():
    task = Digits(P=1700)
    x, _ = task.test_examples(rng(1), task.draw_symbols(rng()), 200)
    counts = np.unique(x, axis=0, return_counts=True)[1]
    assert len(counts) == 97 and set(counts) == {2, 3}
    first, second = (task.test_examples(rng(k), task.draw_symbols(rng()), 50)[0] for k in (1, 2))
    assert rows(first) != rows(second)


def test_the_code_overwrites_ten_pixels_tells_the_label_and_lies_in_the_test():
    plain, coded = Digits(P=1000), Digits(P=1000, code=2.0)
    symbols = plain.draw_symbols(rng())
    for draw in ("train_examples", "test_examples"):
        x, labels = getattr(coded, draw)(rng(1), symbols, 797 if draw == "test_examples" else 1000)
        pixels, expected = getattr(plain, draw)(rng(1), symbols, len(x))
        np.testing.assert_array_equal(labels, expected)
        np.testing.assert_array_equal(x[:, 10:], pixels[:, 10:])
        told = x[:, :10].argmax(1)
        np.testing.assert_array_equal(x[:, :10], 2 * np.eye(10)[told])
        # All, and of 797 a tenth within five standard errors.
        assert (
            (told == labels).all() if draw == "train_examples" else abs((told == labels).mean() - 0.1) < 5 * (0.09 / 797) ** 0.5
        )
    assert images(Digits).max() == 1  # the images themselves stay


def test_shuffled_labels_are_those_of_other_images():
    whole, half = Digits(P=1500), Digits(P=1500, shuffle=0.5, code=1.0)
    symbols = whole.draw_symbols(rng())
    (x, labels), (other_x, shuffled) = (task.train_examples(rng(1), symbols, 1500) for task in (whole, half))
    np.testing.assert_array_equal(x[:, 10:], other_x[:, 10:])
    np.testing.assert_array_equal(np.sort(labels), np.sort(shuffled))
    assert abs((labels != shuffled).mean() - 0.5 * 0.9) < 5 * (0.25 / 1500) ** 0.5
    np.testing.assert_array_equal(other_x[:, :10].argmax(1), shuffled)  # the code tells what is trained on
    assert (half.test_examples(rng(3), symbols, 297)[1] == whole.test_examples(rng(3), symbols, 297)[1]).all()


@pytest.mark.parametrize(("value", "classes"), [(DigitsValue, Digits), (MNIST5kValue, MNIST5k)])
def test_one_output_is_the_digit_over_alpha(value, classes):
    one, ten = value(P=200, alpha=2.0, code=1.0), classes(P=200, alpha=2.0, code=1.0)
    assert (one.n_outputs, ten.n_outputs, one.target_scale, ten.target_scale) == (1, 10, 1, 0.5)
    symbols = one.draw_symbols(rng())
    for draw in ("train_examples", "test_examples"):
        (x, y), (same_x, labels) = (getattr(task, draw)(rng(1), symbols, 200) for task in (one, ten))
        np.testing.assert_array_equal(x, same_x)
        np.testing.assert_array_equal(y, labels / 2)
    assert cell_of(one, width=4, seed=0).loss == "mse"


TASKS = [
    Digits(P=300, code=1.0, shuffle=0.2), DigitsValue(P=300), MNIST5k(P=100), Modular(modulus=7, op="divide"), Step(P=40), Step(),
]  # fmt: skip


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_richness_is_measured_on_the_set_that_is_trained_on(task):
    cell = cell_of(task, depth=1, width=8, bias=True, base_lr=0.01, batch=16, steps=20, eval_every=20, test_size=50, seed=4)
    run = PackRun([cell], descent_engine("stacked").trainer([cell]))
    while not run.done:
        run.advance(0.0)
    assert run.results()[0].status == "ok"
    found, failures = measured(run, 0, metric_groups()["richness"].members)
    assert not failures and 0 < found["d_lr"] < 1 and 0 < found["d_lr_test"] < 1
    assert (found["nc1"] is None) == (task.n_outputs == 1)
    if task.n_train is not None:
        assert rows(run.trainer.stacks[0].batches.x.at(torch.arange(task.n_train)).numpy()) == rows(
            _Richness(probe_of(run, 0)).train.inputs
        )


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_a_task_passes_the_checks_of_a_users_own(task):
    assert check_task(task) == []


def test_the_images_enter_the_id_and_the_streams():
    assert Digits(P=5).source == read(DIGITS).digest == "6ebb3d2f"
    assert MNIST5kValue(P=5).source == MNIST5k(P=5).source == "167bbe5f"
    assert cell_of(Digits(P=5), width=4, seed=0).version.endswith("+6ebb3d2f")


@pytest.mark.parametrize(("task", "most"), [(Digits, 1796), (MNIST5kValue, 4999)])
def test_the_test_keeps_an_image(task, most):
    assert task(P=most).n_train == most
    with pytest.raises(ValidationError, match=f"P is at most {most}"):
        task(P=most + 1)


def test_where_there_are_no_images_it_says_what_to_install(monkeypatch, tmp_path):
    with pytest.raises(TaskError, match=r"not installed: python -m pip install no-such==1\.0$"):
        read(Packaged("no_such_package", "no-such==1.0", "digits.csv.gz", 16))
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "made_package").mkdir()
    (tmp_path / "made_package" / "__init__.py").write_text("raise AssertionError('imported')")
    made = Packaged("made_package", "made==2", "digits.csv.gz", 16)
    with pytest.raises(TaskError, match="has no images; python -m pip install made==2"):
        read(made)
    file = tmp_path / "made_package" / "digits.csv.gz"
    whole = gzip.compress(b"0,16,3\n4,8,1\n")
    for torn in (b"no gzip", whole[:-9], gzip.compress(b"0,x,3\n"), gzip.compress(b"0,1,3\n4,8\n")):
        file.write_bytes(torn)
        with pytest.raises(TaskError, match=r"cannot be read as images \(.*\): python -m pip install made==2"):
            read(made)
    file.write_bytes(whole)
    table, labels, _ = read(made).images
    np.testing.assert_array_equal(table.inputs(Taken(np.arange(2), np.zeros((2, 0)))), [[0, 1], [0.25, 0.5]])
    np.testing.assert_array_equal(labels, [3, 1])
    assert "made_package" not in sys.modules


def test_a_task_without_its_images_is_refused_by_name(monkeypatch):
    read.cache_clear()
    monkeypatch.setattr(packaged, "find_spec", lambda name: None)
    with pytest.raises(TaskError, match=DIGITS.requirement):
        Digits(P=10)
    monkeypatch.undo()
    assert Digits(P=10)
