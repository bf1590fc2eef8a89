"""Gaussian clusters with a label code, and what they say of richness [Nam26]."""

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from trainables.cell import cell_of
from trainables.engines import descent_engine
from trainables.metrics import requested_metric
from trainables.metrics.measuring import probe_of
from trainables.tasks import Clusters
from trainables.trainers.run import PackRun
from trainables.training.losses import loss_of


def rng(k=0):
    return np.random.default_rng(k)


def drawn(task, n, of="train"):
    means = task.draw_symbols(rng())
    return means, *getattr(task, f"{of}_examples")(rng(1), means, n)


def test_points_lie_about_the_means_of_their_classes():
    means, x, labels = drawn(Clusters(d=30, classes=4, spread=0.6), 20_000)
    assert means.shape == (4, 30) and x.shape == (20_000, 30) and x.dtype == np.float32
    assert means.std() == pytest.approx(0.6, rel=5 / (2 * means.size) ** 0.5)
    apart = x - means[labels]
    # Five standard errors, of a mean of 30 x 20000 numbers and of their variance.
    assert abs(apart.mean()) < 5 / apart.size**0.5 and abs(apart.var() - 1) < 5 * (2 / apart.size) ** 0.5
    assert np.abs(np.bincount(labels) / 20_000 - 0.25).max() < 5 * (0.25 * 0.75 / 20_000) ** 0.5


def test_the_code_tells_the_label_in_training_and_a_random_class_in_the_test():
    task = Clusters(d=3, classes=5, code=2.0)
    assert task.input_dim == 8
    _, x, labels = drawn(task, 5000)
    np.testing.assert_array_equal(x[:, :5], 2 * np.eye(5)[labels])
    _, x, labels = drawn(task, 5000, "test")
    told = x[:, :5].argmax(1)
    np.testing.assert_array_equal(x[:, :5], 2 * np.eye(5)[told])
    assert abs((told == labels).mean() - 0.2) < 5 * (0.16 / 5000) ** 0.5


def test_shuffled_labels_are_the_same_labels_of_other_points():
    whole, half = (Clusters(d=3, classes=5, P=4000, shuffle=share, code=1.0) for share in (0.0, 0.5))
    _, x, labels = drawn(whole, 4000)
    _, shuffled_x, shuffled = drawn(half, 4000)
    np.testing.assert_array_equal(x[:, 5:], shuffled_x[:, 5:])
    np.testing.assert_array_equal(np.sort(labels), np.sort(shuffled))
    assert abs((labels != shuffled).mean() - 0.5 * 0.8) < 5 * (0.24 / 4000) ** 0.5
    np.testing.assert_array_equal(shuffled_x[:, :5].argmax(1), shuffled)  # the code tells the label that is trained on
    with pytest.raises(ValidationError, match="give P"):
        Clusters(d=3, shuffle=0.5)


def test_alpha_divides_the_targets_of_the_squared_error():
    f, y = torch.tensor([[0.25, 0.0]]), torch.tensor([0])
    found = loss_of(a_cell(alpha=2.0, classes=2)).each(f, y)
    assert float(found) == pytest.approx(0.25**2)
    assert float(loss_of(a_cell(alpha=1.0, classes=2)).each(f, y)) == pytest.approx(0.75**2)
    with pytest.raises(ValueError, match="alpha"):
        a_cell(alpha=2.0, loss="cross_entropy")


def a_cell(seed=0, steps=1600, trained="all", loss="mse", dtype="float32", **keys):
    task = Clusters(**({"d": 40, "spread": 0.6, "P": 1000, "alpha": 1 / 3} | keys))
    return cell_of(task, network="mlp", depth=3, width=64, init_scale=2**0.5, trained=trained, training="adam", batch=128,
                   loss=loss, steps=steps, eval_every=steps, seed=seed, dtype=dtype)  # fmt: skip


@pytest.mark.parametrize(("dtype", "rounding"), [("float64", 1e-12), ("float32", 1e-6)])
def test_the_last_layer_alone_keeps_the_features(dtype, rounding):
    """To the precision of the network, in which the products of its features are."""
    cell = a_cell(steps=20, trained="last", dtype=dtype)
    run = PackRun([cell], descent_engine("stacked").trainer([cell]))
    before = probe_of(run, 0).parameters
    while not run.done:
        run.advance(0.0)
    after = probe_of(run, 0)
    changed = {name for name in before if not np.array_equal(before[name], after.parameters[name])}
    assert changed == {"w4"}
    assert requested_metric("s_init").measure(after) == pytest.approx(1, abs=rounding)


def test_a_network_that_may_learn_the_code_is_richer_and_knows_less():
    """[Nam26 Fig. 1]. The audit saw, one seed, test accuracy 0.098 and d_lr 0.085; with the last layer alone 0.303 and 0.351."""
    cells = [a_cell(seed, trained=trained, code=4.0) for trained in ("all", "last") for seed in range(2)]
    found = {}
    for trained in ("all", "last"):
        pack = [cell for cell in cells if cell.network.trained == trained]
        run = PackRun(pack, descent_engine("stacked").trainer(pack))
        while not run.done:
            run.advance(0.0)
        laziness = [requested_metric("d_lr").measure(probe_of(run, c)) for c in range(2)]
        found[trained] = np.mean([one.last["acc"] for one in run.results()]), np.mean(laziness)
    # Three seeds gave 0.121 to 0.137.
    assert found["all"][0] == pytest.approx(0.1, abs=0.04) and found["all"][1] < 0.2
    assert found["last"][0] > 0.2 and found["last"][1] > 0.28
