"""The promises of `resident` beyond the suite that it shares with `stacked` (test_trainer.py): every optimiser and way to draw
examples, results that do not depend on a pack by a single bit, and the cells that it leaves to others."""

from typing import ClassVar

import numpy as np
import pytest

from orchestrator.cost.calibration import Rates
from orchestrator.cost.model import CostModel
from tests.trainables.trainers.stacked.stacked_cells import TASK, Classes, network
from trainables.engines import ENGINES
from trainables.engines.resident.trainer import Resident, Rows
from trainables.engines.stacked.batches import Seen
from trainables.engines.stacked.stack import batches_of
from trainables.engines.stacked.trainer import Stacked
from trainables.networks.mlp import MLP
from trainables.tasks import Clusters, Digits, Hermite3, MNIST5k, SameDifferent
from trainables.trainers.base import Groups
from trainables.trainers.run import PackRun
from trainables.training import Adam

EXACT = 1e-9  # as in the suite of all engines: float64 keeps 16 digits, and 200 steps lose fewer than 4
FIXED = Hermite3(d=10, P=50)
DEEP = {"depth": 3, "activation": "tanh", "bias": True}
RULES = {
    "momentum": {"momentum": 0.9},
    "decay": {"weight_decay": 0.01},
    "both": {"momentum": 0.5, "weight_decay": 0.01},
    "schedule": {"lr_schedule": "warm_up 5 every 20 factor 0.5"},
    "adam": {"training": "adam", "base_lr": 0.003},
    "adam-schedule": {"training": "adam", "base_lr": 0.003, "lr_schedule": "warm_up 5 every 20 factor 0.5"},
    "adamw": {"training": "adamw", "base_lr": 0.003, "weight_decay": 0.1},
    "signsgd": {"training": "signsgd", "base_lr": 0.001},
    "gd": {"training": "gd", "task": FIXED, "base_lr": 0.01},
    "adam-full": {"training": "adam", "batch": 0, "task": FIXED, "base_lr": 0.003},
    "fixed": {"task": FIXED, "training": "sgd", "base_lr": 0.01},
    "epochs": {"task": FIXED, "training": "sgd", "base_lr": 0.01, "batch": 12, "per_step": "epoch"},
    "digits": {"task": Digits(P=40, code=1.0), "base_lr": 0.1},
    "mnist5k": {"task": MNIST5k(P=40, code=1.0), "base_lr": 0.001},
    "squared-classes": {"task": Clusters(d=6, P=30, classes=5, alpha=2), "loss": "mse"},
    "last-layer": {"trained": "last"},
    "mup": {"parametrisation": "mup", "training": "adam", "base_lr": 0.01},
}


def trained(cells, make=Resident) -> PackRun:
    run = PackRun(cells, make(cells))
    run.advance(float("inf"))
    return run


def parameters(run: PackRun, c: int = 0):
    x = np.zeros((1, run.cells[0].task.input_dim), np.float32)
    return run.trainer.probed(c)(x).parameters


@pytest.mark.parametrize("keys", RULES.values(), ids=RULES)
def test_each_optimiser_is_that_of_stacked(keys):
    cells = [network(**{**DEEP, "base_lr": 0.05, "steps": 200, "eval_every": 50, "seed": seed, **keys}) for seed in (0, 1)]
    ours, theirs = trained(cells), trained(cells, Stacked)
    np.testing.assert_allclose(ours.curves, theirs.curves, rtol=0, atol=EXACT)
    for c in range(2):
        begun = parameters(PackRun(cells, Resident(cells)), c)
        moved = 0.0
        for name, exact in parameters(theirs, c).items():
            np.testing.assert_allclose(parameters(ours, c)[name], exact, rtol=0, atol=EXACT)
            moved = max(moved, np.abs(exact - begun[name]).max())
        assert moved > 1e-3  # else agreement says nothing


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("task", [TASK, FIXED, Classes()])
def test_a_pack_changes_no_bit(dtype, task):
    keys = {**DEEP, "dtype": dtype, "training": "adam", "base_lr": 0.003}
    cell, others = network(task, seed=7, **keys), [network(task, seed=s, gamma=g, **keys) for s in (1, 7) for g in (1.0, 0.3)]
    alone = trained([cell])
    for pack, place in (([cell, *others], 0), ([*others, cell], 4)):
        run = trained(pack)
        np.testing.assert_array_equal(run.curves[:, place], alone.curves[:, 0])
        for name, exact in parameters(alone).items():
            np.testing.assert_array_equal(parameters(run, place)[name], exact)


def test_training_sets_of_several_sizes_in_one_pack_change_no_bit():
    keys = {**DEEP, "training": "adam", "base_lr": 0.003, "dtype": "float32"}
    cells = [network(task, seed=s, **keys) for task in (Hermite3(d=10, P=7), FIXED, Hermite3(d=10, P=90)) for s in (0, 1)]
    assert len({ENGINES["resident"].pack_key(cell) for cell in cells}) == 1
    together = trained(cells)
    for c, cell in enumerate(cells):
        np.testing.assert_array_equal(together.curves[:, c], trained([cell]).curves[:, 0])


@pytest.mark.parametrize("of_set", ["input_dim", "target_scale"])
def test_what_an_own_task_takes_from_the_size_of_its_set_parts_packs(of_set):
    class Growing(Hermite3):
        name: ClassVar[str] = "growing"

    setattr(Growing, of_set, property(lambda task: task.P / 10))
    cells = [network(Growing(d=10, P=P), training="adam") for P in (10, 20)]
    assert len({ENGINES["resident"].pack_key(cell) for cell in cells}) == 2


@pytest.mark.parametrize("task", [TASK, FIXED])
def test_any_pauses_and_any_number_of_staged_blocks_give_the_same_bits(task, monkeypatch):
    cells = [network(task, training="sgd", seed=s, **DEEP, steps=60, eval_every=30) for s in (0, 1)]
    whole = trained(cells).curves
    monkeypatch.setattr("trainables.engines.resident.trainer.STAGED_BYTES", 1)
    run = PackRun(cells, Resident(cells))
    while not run.done:
        run._train(7)
    np.testing.assert_array_equal(run.curves, whole)


def test_a_lazy_centred_network_keeps_its_digits():
    """gamma s = 1e-5 in float32: computed in float64, as by `stacked`."""
    cells = [network(gamma=g, centred=True, dtype="float32", **DEEP, steps=100, eval_every=50) for g in (1e-5, 1e-4)]
    ours, theirs = trained(cells), trained(cells, Stacked)
    # The output is a difference times 1e5: rounding of 1e-16 in it is 1e-11 in f, and grows less than tenfold.
    np.testing.assert_allclose(ours.curves, theirs.curves, rtol=0, atol=1e-9)
    assert {type(stack) for stack in ours.trainer.stacks} == {Rows}


@pytest.mark.parametrize("make", [Resident, Stacked])
def test_moments_with_a_long_memory_keep_their_digits_in_float32(make):
    """1 - beta2 = 1e-5: taken from a beta2 in float32 it is off by 0.1%, and weights by 1e-4 after 50 steps."""
    keys = {**DEEP, "training": "adam", "beta2": 0.99999, "base_lr": 0.003, "steps": 50, "eval_every": 50}
    single = parameters(trained([network(dtype="float32", **keys)], make))
    for name, exact in parameters(trained([network(**keys)], Stacked)).items():
        np.testing.assert_allclose(single[name], exact, rtol=0, atol=1e-5)  # of weights of 0.2, by 50 steps of rounding of 6e-8


def test_an_own_task_that_gives_too_few_examples_is_told():
    class Short(Hermite3):
        name: ClassVar[str] = "short"

        def train_examples(self, rng, symbols, n):
            x, y = super().train_examples(rng, symbols, n)
            return x[: n - 3], y[: n - 3]

    class ShortBlocks(SameDifferent):
        name: ClassVar[str] = "short_blocks"

        def train_examples(self, rng, symbols, n):
            x, y = super().train_examples(rng, symbols, n)
            return x[:-40], y[:-40]

    for task in (Short(d=10, P=50), ShortBlocks(L=5, d=16)):
        run = PackRun([c := network(FIXED if task.n_train else TASK, training="sgd")], Resident([c]))
        for stack in run.trainer.stacks:
            cell = c.model_copy(update={"task": task})
            stack.examples = [batches_of(cell)(Seen(Groups([cell]), stack.dtype, stack.device))]
        with pytest.raises(ValueError, match=r"gave|reshape"):
            run.advance(float("inf"))


def test_what_others_train():
    class Own(MLP):
        name = "own_mlp"

    class Mine(Adam):
        name = "my_adam"

    engine, cell = ENGINES["resident"], network()
    assert engine.trains(cell)
    for other in (
        cell.model_copy(update={"network": Own(width=32)}),
        cell.model_copy(update={"training": Mine(loss="mse")}),
        network(width=1025, depth=2),
        network(width=15),
        network(batch=2**21 // 32),
        network(network="residual"),
    ):
        assert not engine.trains(other) and ENGINES["stacked"].trains(other)
    assert CostModel(Rates()).choose(cell, {"cpu": 2}) == ("resident", "cpu")
