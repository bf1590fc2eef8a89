"""Schedules of the learning rate: their factors, how a grid spells them, and training with them beside torch's own."""

from functools import partial

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from torch.nn.functional import binary_cross_entropy_with_logits
from torch.optim.lr_scheduler import LambdaLR

from trainables.cell import cell_of
from trainables.engines import ENGINES
from trainables.engines.stacked.trainer import Stacked
from trainables.streams import BLOCK_STEPS, stream, stream_owner
from trainables.tasks import SameDifferent
from trainables.training.schedules import schedule_of, spelled

TASK = SameDifferent(L=4, d=8)
STEPS = 70  # more than one block, and no whole number of them
BOTH = "warm_up 10 every 20 factor 0.5"


def network(training="sgd", **keys):
    own = {"width": 16, "dtype": "float64", "batch": 16, "steps": STEPS, "eval_every": STEPS, "seed": 1}
    return cell_of(TASK, network="mlp", training=training, **(own | keys))


def test_a_warm_up_is_linear_and_a_fall_comes_every_so_many_steps():
    assert [schedule_of("warm_up 4").at(t) for t in range(6)] == [0.25, 0.5, 0.75, 1, 1, 1]
    assert [schedule_of("every 2 factor 0.5").at(t) for t in range(6)] == [1, 1, 0.5, 0.5, 0.25, 0.25]
    assert [schedule_of("warm_up 4 every 3 factor 0.5").at(t) for t in range(6)] == [0.25, 0.5, 0.75, 0.5, 0.5, 0.5]
    assert {schedule_of("constant").at(t) for t in (0, 1, 10**6)} == {1.0}


@pytest.mark.parametrize(("value", "text"), [
    ({"warm_up": 10}, "warm_up 10"),
    ({"factor": 0.20, "every": 60}, "every 60 factor 0.2"),
    ({"every": 60, "warm_up": 5, "factor": 1e-5}, "warm_up 5 every 60 factor 1e-05"),
    ("every 60 factor 1e-1", "every 60 factor 0.1"),
    ("constant", "constant"),
])  # fmt: skip
def test_equal_schedules_have_one_text(value, text):
    assert spelled(value) == text
    assert spelled(text) == text


@pytest.mark.parametrize("value", [
    "", "linear", "warm_up", "warm_up 1", "warm_up 2.5", "every 60", "factor 0.2", "every 0 factor 0.2", "every 60 factor 1",
    "every 60 factor nan", "every 60 factor ..", "warm_up 5every 6 factor 0.2", "factor 0.2 every 60",
    "constant warm_up 10", "warm_up 5 warm_up 6", {}, {"warm_up": [5, 6]}, {"log": 8}, {"warm_up": True}, 3,
])  # fmt: skip
def test_other_values_are_refused(value):
    with pytest.raises(ValidationError, match="lr_schedule"):
        network(lr_schedule=value)


def test_a_constant_rate_is_not_in_the_id_and_another_is():
    plain = network()
    assert network(lr_schedule="constant").cell_id == plain.cell_id
    assert "lr_schedule" not in plain.keys()  # noqa: SIM118
    assert len({network(lr_schedule=text).cell_id for text in ("constant", "warm_up 10", "every 20 factor 0.5", BOTH)}) == 4


@pytest.mark.parametrize(("training", "optimiser"), [
    ({"training": "sgd", "momentum": 0.9, "weight_decay": 0.01}, partial(torch.optim.SGD, momentum=0.9, weight_decay=0.01)),
    ({"training": "adamw", "weight_decay": 0.3, "base_lr": 0.1}, partial(torch.optim.AdamW, weight_decay=0.3)),
])  # fmt: skip
@pytest.mark.parametrize("as_on_gpu", [False, True])
def test_agrees_with_torch(training, optimiser, as_on_gpu):
    """`as_on_gpu`: the factors are read from staged tensors, as recorded steps read them."""
    cell = network(lr_schedule=BOTH, **training)
    owner = stream_owner(cell)
    symbols = cell.task.draw_symbols(stream(owner, "symbols"))
    drawn = cell.network.init(stream(owner, "weights"), cell)
    theta = {name: torch.from_numpy(value).double().requires_grad_() for name, value in drawn.items()}
    steps = optimiser(list(theta.values()), lr=0.1)
    rates = LambdaLR(steps, lambda t: min(1, (t + 1) / 10) * 0.5 ** (t // 20))
    for step in range(STEPS):
        block, k = divmod(step, BLOCK_STEPS)
        x, y = cell.task.train_examples(stream(owner, "batches", block), symbols, BLOCK_STEPS * cell.batch)
        part = slice(k * cell.batch, (k + 1) * cell.batch)
        steps.zero_grad()
        f = cell.network.apply(theta, torch.from_numpy(x[part]).double(), cell)
        binary_cross_entropy_with_logits(f, torch.from_numpy(y[part]).double()).backward()
        steps.step()
        rates.step()
    made = Stacked([cell], as_on_gpu=as_on_gpu)
    made.train(0, STEPS)
    ours = made.probed(0)(np.zeros((1, 16), np.float32)).parameters
    for name, theirs in theta.items():
        # 16 digits, and 70 steps that each lose a few units of the last one.
        np.testing.assert_allclose(ours[name], theirs.detach().numpy(), rtol=0, atol=1e-12)


def test_where_training_pauses_changes_no_digit():
    cells = [network(lr_schedule=BOTH, seed=seed) for seed in range(2)]
    whole, parts = Stacked(cells), Stacked(cells)
    losses, _ = whole.train(0, STEPS)
    parted = [parts.train(first, n)[0] for first, n in ((0, 7), (7, 50), (57, STEPS - 57))]
    np.testing.assert_array_equal(np.concatenate(parted, axis=1), losses)


def test_only_stacked_has_schedules():
    plain, scheduled = (cell_of(TASK, width=16, gamma=1.0, seed=0, lr_schedule=text) for text in ("constant", "warm_up 10"))
    assert [engine.name for engine in ENGINES.values() if engine.trains(scheduled)] == ["stacked"]
    assert ENGINES["gram"].trains(plain)
    assert "schedule" in ENGINES["gram"].needs
