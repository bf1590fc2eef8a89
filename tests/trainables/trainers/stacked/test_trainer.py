"""The promises of `stacked` beyond the suite of all engines: any network, loss, task and optimiser, each cell by itself."""

from contextlib import contextmanager
from typing import ClassVar

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from tests.trainables.trainers.stacked.stacked_cells import TASK, Bag, Classes, Tokens, Vectors, network
from trainables.cell import Cell, cell_of
from trainables.engines import ENGINES
from trainables.engines.resident.trainer import Resident
from trainables.engines.stacked.traced import Traced
from trainables.engines.stacked.trainer import Stacked
from trainables.networks import MLP
from trainables.streams import BLOCK_STEPS, stream, stream_owner
from trainables.tasks import Clusters, Hermite3, Parity2
from trainables.trainers.run import PackRun
from trainables.training import SGD, Adam

# float64 keeps 16 digits; 200 steps on these sizes lose fewer than 4 of them.
EXACT = 1e-9


DENSE = pytest.mark.parametrize("make", [Stacked, Resident])
"""The trainers of dense networks."""


def train(cells, make=Stacked) -> PackRun:
    run = PackRun(cells, make(cells))
    run.advance(float("inf"))
    return run


def by_apply_alone(cells) -> Stacked:
    made = Stacked(cells)
    for stack in made.stacks:
        stack.passes = Traced(stack.cells)
    return made


@DENSE
@pytest.mark.parametrize("activation", ["relu", "tanh", "erf", "linear", "quadratic"])
@pytest.mark.parametrize("parametrisation", ["standard", "ntk", "mup"])
@pytest.mark.parametrize("depth", [1, 2, 5])
def test_batched_products_are_what_autograd_finds(make, activation, parametrisation, depth):
    keys = {"activation": activation, "parametrisation": parametrisation, "depth": depth, "bias": True, "base_lr": 0.05}
    cells = [network(seed=s, gamma=g, centred=depth == 2, **keys) for s in range(2) for g in (1.0, 0.5)]
    (loss, right), (exact, exactly) = make(cells).train(0, 30), by_apply_alone(cells).train(0, 30)
    np.testing.assert_allclose(loss, exact, rtol=1e-10, atol=EXACT)
    np.testing.assert_array_equal(right, exactly)


@DENSE
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", EXACT), ("float32", 1e-5)])
@pytest.mark.parametrize("training", ["sgd", "adam"])
def test_a_network_does_not_depend_on_its_pack(make, dtype, tolerance, training):
    """Alone, in packs of three sizes and in another order, over 200 steps: to rounding, of which 1e-16 and 1e-7 are seen."""
    keys = {"dtype": dtype, "training": training, "depth": 3, "steps": 200, "eval_every": 50, "bias": True}
    cell, others = network(seed=7, **keys), [network(seed=s, gamma=g, **keys) for s in range(6) for g in (1.0, 0.3)]
    alone = train([cell], make).curves[:, 0]
    for pack, place in (([cell, *others], 0), ([*others[:3], cell], 3), ([*reversed(others), cell], 12)):
        curves = train(pack, make).curves[:, place]
        np.testing.assert_allclose(curves[0], alone[0], rtol=0, atol=tolerance)
        np.testing.assert_allclose(curves[2], alone[2], rtol=0, atol=tolerance if dtype == "float64" else 1 / 64 + 1e-12)


@DENSE
@pytest.mark.parametrize("training", [{"training": "adamw"}, {"training": "sgd", "momentum": 0.9, "weight_decay": 1e-3}])
@pytest.mark.parametrize("task", [TASK, Parity2(d=8, P=40)])
@pytest.mark.parametrize("cut", [3, 10, 27])
def test_interrupted_and_resumed_with_what_the_optimiser_keeps(make, training, task, cut):
    cells = [network(task, seed=s, **training) for s in range(3)]
    whole = train(cells, make)
    first = PackRun(cells, make(cells))
    while first.step < cut:
        first._train(min(cut - first.step, 7))
    second = PackRun(cells, make(cells))
    second.load(first.state())
    second.advance(float("inf"))
    np.testing.assert_array_equal(second.curves, whole.curves)


@DENSE
def test_a_diverged_network_ends_alone(make):
    wild, calm = network(base_lr=1e160, activation="quadratic"), [network(seed=s, activation="quadratic") for s in (1, 2)]
    run = train([calm[0], wild, calm[1]], make)
    assert [r.status for r in run.results()] == ["ok", "diverged", "ok"]
    np.testing.assert_allclose(run.curves[:, [0, 2]], train(calm, make).curves, rtol=0, atol=EXACT)


@DENSE
def test_cells_of_two_precisions_share_a_pack(make):
    """A small epsilon needs float64 where the output is a difference; its neighbour stays in float32."""
    cells = [network(gamma=g, centred=True, dtype="float32") for g in (1.0, 1e-5, 0.5)]
    made = make(cells)
    assert [stack.dtype for stack in made.stacks] == [torch.float32, torch.float64]
    loss, right = made.train(0, 20)
    for c, cell in enumerate(cells):
        alone = make([cell]).train(0, 20)
        np.testing.assert_allclose(loss[c], alone[0][0], rtol=0, atol=1e-5)
        np.testing.assert_array_equal(right[c], alone[1][0])


@DENSE
@pytest.mark.parametrize("depth", [1, 3, 4, 6])
@pytest.mark.parametrize("sizes", [{"width": 1}, {"width": 12}, {"batch": 8}, {"width": 40, "bias": True}, {"width": 17}])
@pytest.mark.parametrize("task", [Classes(), Vectors(), Parity2(d=8, P=40), Clusters(d=5, P=30, classes=20)])
def test_batched_products_of_every_layout(make, task, sizes, depth):
    """Products with few columns, and each depth, have layouts of their own."""
    cells = [network(task, seed=s, activation="tanh", depth=depth, training="sgd", base_lr=0.05, **sizes) for s in range(3)]
    np.testing.assert_allclose(make(cells).train(0, 30), by_apply_alone(cells).train(0, 30), rtol=1e-10, atol=EXACT)


@DENSE
def test_classes_are_learnt(make):
    for loss, rate in (("cross_entropy", 0.5), ("mse", 0.1)):
        found = train([network(Classes(), loss=loss, base_lr=rate, steps=400, eval_every=100)], make).results()[0].summary()
        assert found["final_test_acc"] > 0.85  # chance is a third
        assert found["final_train_acc"] > 0.85


@DENSE
def test_losses_are_those_of_torch(make):
    """At the first step, whose batch and weights are known."""
    F = torch.nn.functional
    for task, loss, theirs in [
        (Classes(), "cross_entropy", F.cross_entropy),
        (Classes(), "mse", lambda f, y: (f - F.one_hot(y, 3)).square().sum(1).mean()),
        (Vectors(), "mse", lambda f, y: (f - y).square().sum(1).mean()),
        (TASK, "cross_entropy", lambda f, y: F.binary_cross_entropy_with_logits(f, y.double())),
        (TASK, "mse", lambda f, y: (f - (2 * y.double() - 1)).square().mean()),
    ]:
        cell = network(task, loss=loss, training="sgd")
        owner = stream_owner(cell)
        symbols = task.draw_symbols(stream(owner, "symbols"))
        x, y = task.train_examples(stream(owner, "batches", 0), symbols, BLOCK_STEPS * 32)
        theta = {k: torch.from_numpy(v).double() for k, v in cell.network.init(stream(owner, "weights"), cell).items()}
        f = cell.network.apply(theta, torch.from_numpy(x[:32]).double(), cell)
        assert make([cell]).train(0, 1)[0][0, 0] == pytest.approx(float(theirs(f, torch.from_numpy(y[:32]))), abs=1e-12)


@DENSE
def test_real_vectors_are_learnt_and_have_no_accuracy(make):
    result = train([network(Vectors(), activation="linear", base_lr=0.05, steps=400, eval_every=100)], make).results()[0]
    assert result.summary()["test_mse"] < 0.05  # the mean of |y|^2 is 3
    assert "final_test_acc" not in result.summary()


def test_batches_of_a_fixed_set_are_drawn_from_it():
    """P examples are seen again and again: a wide network learns them by heart, and its test error stays."""
    sgd = train([network(Hermite3(d=10, P=20), training="sgd", width=128, base_lr=0.1, steps=400, eval_every=100, loss="mse")])
    found = sgd.results()[0].summary()
    assert found["final_train_loss"] < 0.01 < 0.3 < found["test_mse"]
    stack = Stacked([network(Hermite3(d=10, P=20), training="sgd")]).stacks[0]
    staged = stack.staging.take(0)
    seen = np.unique(torch.cat([stack.batches.inputs(staged, k)[0] for k in range(BLOCK_STEPS)]).numpy(), axis=0)
    assert len(seen) == 20  # a block of 320 draws misses one of 20 with probability 20 exp(-16)


def test_a_network_on_tokens_that_gives_only_init_and_apply():
    cells = [
        Cell(
            task=Tokens(),
            network=Bag(),
            training=SGD(base_lr=0.5, steps=400, eval_every=100, loss="cross_entropy", test_size=256),
            seed=seed,
        )
        for seed in range(3)
    ]
    assert ENGINES["stacked"].trains(cells[0])
    assert cells[0].network.n_parameters(cells[0]) == 4 * 16 + 16 * 16 + 16
    for result in train(cells).results():
        assert result.summary()["best_test_acc"] > 0.95
    with pytest.raises(ValidationError, match="does not take tokens"):
        Cell(task=Tokens(), network=MLP(width=8), training=cells[0].training, seed=0)


def test_a_parameter_without_gradient_stays():
    class Idle(Bag):
        name: ClassVar[str] = "idle"

        def init(self, rng, cell):
            return super().init(rng, cell) | {"idle": np.ones(3)}

    training = Adam(base_lr=0.1, steps=10, eval_every=10, loss="cross_entropy")
    made = Stacked([Cell(task=Tokens(), network=Idle(), training=training, seed=0)])
    made.train(0, 10)
    np.testing.assert_array_equal(made.probed(0)(np.zeros((1, 8), np.int64)).parameters["idle"], np.ones(3))


@pytest.mark.parametrize(
    "keys", [{"network": "mlp"}, {"training": "adam"}, {"momentum": 0.9}, {"loss": "mse"}, {"weight_decay": 0.1}]
)
def test_only_general_engines_train_what_is_not_of_the_paper(keys):
    cell = cell_of(TASK, **({"width": 32, "gamma": 1.0, "seed": 0} | keys))
    able = [name for name, engine in ENGINES.items() if engine.trains(cell)]
    assert able == (["resident", "stacked"] if "network" in keys else ["stacked"])
    assert all(ENGINES[name].is_general for name in able)


@DENSE
def test_measures_and_metrics_of_other_networks(make):
    made = make([network(depth=2)])
    assert made.measures(0) == (None, None, None, None)
    probed = made.probed(0)(np.zeros((3, 32), np.float32))
    assert probed.outputs.shape == (3,)
    assert probed.features.shape == (3, 32)
    assert set(probed.parameters) == {"w1", "w2", "w3"}


@pytest.mark.parametrize("name", ["stacked", "resident"])
def test_amounts_and_memory_grow_with_the_network(name):
    engine = ENGINES[name]
    small, large = [network(width=64)], [network(width=256)]
    assert engine.step_amounts(large[0])["product"] > 4 * engine.step_amounts(small[0])["product"]
    assert engine.memory(large) > engine.memory(small) > 0
    assert engine.memory(small * 2) > engine.memory(small)


def test_memory_on_a_gpu_holds_an_evaluation_of_many_networks():
    """Up to TOGETHER activations at a time; on a CPU, where networks are evaluated one by one, only what is held grows."""
    engine, cells = ENGINES["stacked"], [network(seed=s, width=64, test_size=4096, dtype="float32") for s in range(8)]
    one = 4 * cells[0].test_size * 2 * (cells[0].task.input_dim + cells[0].network.n_activations(cells[0]))
    grown = {device: engine.memory(cells, device) - 8 * engine.memory(cells[:1], device) for device in engine.devices}
    assert grown == {"cpu": -7 * one, "cuda": 0}
    many = [cells[0]] * 1000
    assert engine.memory(many, "cuda") - engine.memory(many, "cpu") < 1000 * one


def test_an_infinite_error_on_test_examples_is_a_divergence():
    """It was `ok` where the loss of the last batch was still finite: its row had no value, and no word said why."""
    cells = [network(task=Vectors(), seed=seed, steps=20, eval_every=10) for seed in range(2)]
    trainer = Stacked(cells)
    evaluate = trainer.evaluate
    trainer.evaluate = lambda step, n: np.where([False, step == 20], np.inf, evaluate(step, n))
    run = PackRun(cells, trainer)
    run.advance(float("inf"))
    fine, infinite = run.results()
    assert (fine.status, infinite.status) == (
        "ok",
        "diverged",
    ) and infinite.reason == "error on test examples became NaN or infinite at step 20"
    assert fine.step.tolist() == [10, 20] and infinite.step.tolist() == [10] and np.isfinite(infinite.last["mse"])


def test_compilation_is_charged_to_no_pack(monkeypatch):
    """The seconds of a first pack were those of the compiler, and forecasts that learned from them were wrong by hundreds."""

    @contextmanager
    def spent():
        yield [1000.0]

    monkeypatch.setattr("trainables.kernels.compiled.compiling", spent)
    assert -1000 < train([network(steps=20, eval_every=20)]).seconds < -900
