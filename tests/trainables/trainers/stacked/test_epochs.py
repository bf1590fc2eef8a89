"""Steps that go once through the training set, and the evaluation that validation picks."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from trainables.cell import cell_of
from trainables.engines import ENGINES
from trainables.engines.stacked.batches import Seen, Shuffled
from trainables.result import CellResult
from trainables.streams import stream, stream_owner
from trainables.tasks import SymbolicTemplate, Template
from trainables.trainers.base import Groups

SMALL = {"network": "transformer", "embedding": 8, "heads": 2, "head_dim": 4, "width": 8, "depth": 1, "dtype": "float64"}


def cell(n_train, batch, task=None, **keys):
    return cell_of(task or Template(template="aa/ab", P=n_train), **{"seed": 0, "batch": batch, "steps": 20, **SMALL, **keys})


@pytest.mark.parametrize(
    ("n_train", "batch", "updates", "size"), [(12, 4, 3, 4), (12, 5, 3, 4), (13, 5, 3, 5), (13, 13, 1, 13), (9, 20, 1, 9)]
)
def test_an_epoch_has_batches_of_one_size(n_train, batch, updates, size):
    made = cell(n_train, batch)
    assert (made.updates, made.batch) == (updates, size)


@pytest.mark.parametrize(("n_train", "batch"), [(12, 4), (13, 5)])
def test_orders_follow_each_other_through_all_blocks(n_train, batch):
    made = cell(n_train, batch)
    batches = Shuffled(Seen(Groups([made]), torch.float64, torch.device("cpu")))
    seen = []
    for block in range(4):
        rooms = [torch.empty(room.shape, dtype=room.dtype) for room in batches.rooms]
        batches.fill(0, block, rooms)
        seen.append(rooms[0].flatten().numpy())
    whole = np.concatenate(seen)
    orders = whole[: len(whole) // n_train * n_train].reshape(-1, n_train)
    assert (np.sort(orders, axis=1) == np.arange(n_train)).all()
    assert len({tuple(order) for order in orders}) > 1


@pytest.mark.parametrize("training", ["adam", "sgd"])
def test_epochs_are_those_of_a_loop(training):
    made = cell(13, 5, training=training, base_lr=0.01, eval_every=4)
    task, owner = made.task, stream_owner(made)
    run = ENGINES["stacked"].make([made])
    while not run.done:
        run.advance(60)
    x, y = map(torch.from_numpy, task.train_examples(stream(owner, "batches"), np.zeros(0), 13))
    y = y.double()
    drawn = made.network.init(stream(owner, "weights"), made)
    theta = {name: torch.tensor(value, dtype=torch.float64, requires_grad=True) for name, value in drawn.items()}
    trained = [value for name, value in theta.items() if name not in ("a1", "b1")]
    kind = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}[training]
    optimiser = kind(trained, lr=0.01)
    order = np.concatenate([stream(owner, "order", epoch).permutation(13) for epoch in range(30)])
    losses = []
    for update in range(20 * 3):
        part = order[update * 5 : (update + 1) * 5]
        loss = (made.network.apply(theta, x[part], made) - y[part]).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    (result,) = run.results()
    of_evaluations = np.array(losses).reshape(5, 4 * 3).mean(1)
    assert result.train_loss == pytest.approx(of_evaluations, rel=1e-9)  # float64 sums in another order, over 60 updates


def test_a_run_taken_up_goes_on_with_the_same_order():
    cells = [cell(13, 5, seed=seed, eval_every=5) for seed in range(2)]
    whole, first, second = (ENGINES["stacked"].make(cells) for _ in range(3))
    while not whole.done:
        whole.advance(60)
    first._train(7)
    second.load(first.state())
    while not second.done:
        second.advance(60)
    for one, other in zip(whole.results(), second.results(), strict=True):
        assert one.train_loss.tolist() == other.train_loss.tolist()


def test_symbolic_labels_count_right_answers_of_an_epoch():
    task = SymbolicTemplate(template="aXb:a/aYb:b", P=13)
    made = cell(13, 5, task, eval_every=1, base_lr=0.02, steps=60)
    run = ENGINES["stacked"].make([made])
    while not run.done:
        run.advance(60)
    (result,) = run.results()
    assert ((result.train_acc >= 0) & (result.train_acc <= 1)).all()
    assert result.train_acc[-1] == 1  # learnt by heart
    assert set(result.scores) == {"acc", "val_loss"}


def made_result(**scores):
    n = len(next(iter(scores.values())))
    return CellResult(
        status="ok", reason="", step=np.arange(1, n + 1), train_loss=np.ones(n), train_acc=np.ones(n),
        scores={name: np.array(values) for name, values in scores.items()},
        last={name: values[-1] for name, values in scores.items()},
        readout=None, alignment=None, half_norms=None, activation_change=None, seconds=1.0,
    )  # fmt: skip


def test_validation_alone_picks_the_evaluation():
    result = made_result(mse=[0.5, 0.3, 0.1], val_loss=[0.6, 0.2, 0.4])
    summary = result.summary()
    assert (summary["picked_step"], summary["test_mse"], summary["final_test_mse"], summary["picked_val_loss"]) == (
        2,
        0.3,
        0.1,
        0.2,
    )
    permuted = replace(result, scores={**result.scores, "mse": np.array([0.1, 0.5, 0.3])})
    assert (permuted.summary()["picked_step"], permuted.summary()["test_mse"]) == (2, 0.5)
    assert result.lists(["curves"])["curve_val_loss"] == [0.6, 0.2, 0.4]


def test_an_evaluation_without_a_loss_is_not_picked():
    result = made_result(mse=[0.5, 0.3, np.nan], val_loss=[0.6, 0.2, np.nan])
    assert (result.summary()["picked_step"], result.summary()["test_mse"]) == (2, 0.3)
    broken = made_result(mse=[np.nan], val_loss=[np.nan]).summary()
    assert "picked_step" not in broken and "test_mse" not in broken


def test_without_the_best_of_the_test_where_validation_picks():
    summary = made_result(acc=[0.5, 0.9, 0.7], val_loss=[0.6, 0.5, 0.4]).summary()
    assert summary["picked_test_acc"] == summary["final_test_acc"] == 0.7
    assert "best_test_acc" not in summary


def test_all_evaluations_see_the_same_tests_and_validation_sees_others():
    made = cell(13, 5)
    groups = Groups([made])
    first, later = (groups.draw_tests(0, step, 50)[0] for step in (5, 10))
    assert (first == later).all()
    assert not set(first.ravel()) & set(groups.draw_validation(0, 50)[0].ravel())
