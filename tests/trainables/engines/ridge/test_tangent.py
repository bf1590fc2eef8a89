"""Lazy networks solved for: beside trained ones of the same weights, and the kernel beside its mean over neurons."""

import numpy as np
import pytest

from trainables import streams
from trainables.cell import cell_of
from trainables.engines import ENGINES
from trainables.engines.ridge.run import Solved
from trainables.metrics.measuring import measured
from trainables.streams import initial_parameters
from trainables.tasks import Hermite

TASK = Hermite(d=5, degree=2, P=12)
MLP = {"network": "mlp", "depth": 1, "bias": True, "bias_scale": 1.0, "parametrisation": "mup", "centred": True}


def solved(network, **keys):
    cell = cell_of(TASK, network=network, training="ridge", ridge=1e-9, test_size=64, seed=3, **keys)
    of = Solved(cell)
    of.solve()
    return cell, of


def test_it_is_where_lazy_training_of_the_same_weights_ends():
    """24 neurons at 64 new inputs; rounding in float64 over gamma is 1e-11, curvature ~ gamma = 1e-4."""
    cell, of = solved("tangent", width=24)
    way = {"training": "sgd", "batch": 0, "momentum": 0.9, "base_lr": 0.2, "steps": 4000, "eval_every": 100, "dtype": "float64"}
    trained = cell_of(TASK, width=24, gamma=1e-4, seed=3, test_size=64, **MLP, **way)
    ours, theirs = initial_parameters(cell), initial_parameters(trained)
    np.testing.assert_allclose(ours["w"], theirs["w1"], rtol=1e-6)
    np.testing.assert_allclose(ours["a"], theirs["w2"][:, 0] * 24, rtol=1e-6)
    run = ENGINES["stacked"].make([trained])
    while not run.done:
        run.advance(60)
    owner = streams.stream_owner(trained)
    x, _ = streams.tests_of(owner, TASK, TASK.draw_symbols(streams.stream(owner, "symbols")), 4000, 64)
    outputs = np.array(measured(run, 0, ["output"])[0]["output"])
    assert run.results()[0].train_loss[-1] < 1e-8, "it has not converged"
    np.testing.assert_allclose(outputs, of.outputs(x).outputs, atol=1e-3)
    assert np.abs(outputs - solved("tangent_kernel")[1].outputs(x).outputs).max() > 0.1, "the width is not seen"


def test_the_kernel_is_the_mean_over_neurons():
    kernel, wide = solved("tangent_kernel")[0], solved("tangent", width=200_000)[0]
    x, others = np.split(np.random.default_rng(0).standard_normal((9, 5)).astype(np.float32), [5])
    rng = np.random.default_rng(1)
    for said, drawn in zip(kernel.network.grams(x, others, kernel, rng), wide.network.grams(x, others, wide, rng), strict=True):
        # Each term has a standard deviation of at most 3 |x|^2 / d, which is below 10 here; four standard errors.
        np.testing.assert_allclose(drawn, said, atol=4 * 10 * (x**2).sum(1).max() / 5 / np.sqrt(200_000))


def test_many_neurons_are_the_kernel():
    outputs = [
        solved(network, **keys)[1].outputs(np.eye(5, dtype=np.float32)).outputs
        for network, keys in (("tangent_kernel", {}), ("tangent", {"width": 100}), ("tangent", {"width": 100_000}))
    ]
    narrow, wide = (np.abs(o - outputs[0]).max() for o in outputs[1:])
    assert wide < narrow / 10  # 1/sqrt(width) falls by 32


@pytest.mark.parametrize(("network", "keys"), [("tangent_kernel", {}), ("tangent", {"width": 64})])
def test_cost_grows_with_the_examples(network, keys):
    engine = ENGINES["ridge"]
    few, many = (cell_of(Hermite(d=5, degree=2, P=P), network=network, training="ridge", seed=0, **keys) for P in (64, 256))
    assert engine.trains(few) and engine.step_amounts(many)["product"] > 3 * engine.step_amounts(few)["product"]
    assert engine.memory([many]) > engine.memory([few])
