"""Theory beside networks that learn a linear target: whose it is, and that mlp networks trained here have its values."""

import numpy as np
import pandas as pd
import pytest
from sweepkit.studies.nam26.theory import LINEAR, RANDOM_RELU, balanced, of_linear
from sweepkit.studies.nam26.theory.laziness import of_relu_on_gaussian
from sweepkit.studies.nam26.theory.two_layer_linear import Start, d_lr

from analysis.overlays import overlays
from sweepkit.declarations.evaluations import PROBED
from trainables.cell import cell_of
from trainables.engines import descent_engine
from trainables.metrics.measuring import probe_of
from trainables.streams import stream, stream_owner
from trainables.tasks.teachers import Linear
from trainables.trainers.run import PackRun

D, M, SEEDS = 8, 512, 8


def a_cell(**more):
    network = {"network": "mlp", "depth": 1, "activation": "linear", "centred": True, "width": M, "init_scale": (D / M) ** 0.5}
    training = {"training": "gd", "base_lr": 0.02, "steps": 400, "eval_every": 400, "test_size": 8}
    return cell_of(Linear(d=D, P=256), **(network | training | {"gamma": 1.0, "seed": 0} | more))


def row(**more):
    """The keys of a network that the theory speaks of, as its row has them."""
    cell = a_cell()
    return {**cell.columns(), "gamma_label": cell.gamma_label, **more}


def laziness(**keys):
    """D on infinitely many inputs, by the weights of trained networks: their output is along w*. Mean over seeds."""
    cells = [a_cell(**keys, seed=seed) for seed in range(SEEDS)]
    run, found = PackRun(cells, descent_engine("stacked").trainer(cells)), []
    while not run.done:
        run.advance(0.0)
    for c, cell in enumerate(cells):
        w = probe_of(run, c).parameters["w1"].astype(float)
        u = cell.task.draw_symbols(stream(stream_owner(cell), "symbols")).astype(float)
        found.append(1 - u @ w @ w.T @ u / np.linalg.norm(w @ w.T))
    return np.mean(found)


SETTINGS = [
    {"gamma": 0.01},
    {"gamma": 2.0},
    {"gamma": 20.0},
    {"gamma": 2.0, "base_lr": 0.048},  # the longest step: 0.2 times the longest time that gradient descent may take
    {"gamma": 2.0, "steps": 40, "eval_every": 40},  # training ends before all is learned
    {"parametrisation": "ntk", "init_scale": 0.3, "gamma": 1.0, "base_lr": 1.0},
    {"parametrisation": "ntk", "init_scale": 0.3, "gamma": 10.0, "base_lr": 2.5},
    {"parametrisation": "mup", "init_scale": 1.0, "gamma": 0.2},
    {"parametrisation": "mup", "init_scale": 1.0, "gamma": 2.0},
]


@pytest.mark.parametrize("keys", SETTINGS, ids=str)
def test_trained_networks_have_it(keys):
    """The variance of lazy features along u differs from its mean by sqrt(2/m) of itself, in 1 - D = q by q (1 - q^2) of that.
    0.005 is for the length of a step, and for the examples' covariance, which is not quite that of all inputs."""
    at = a_cell(**keys).columns()
    assert LINEAR.is_one(at)
    said = of_linear(at).d_lr(m=M)
    by_chance = (1 - said) * (1 - (1 - said) ** 2) * (2 / M / SEEDS) ** 0.5
    assert laziness(**keys) == pytest.approx(said, abs=0.005 + 3 * by_chance)


def test_a_network_that_is_to_have_no_initial_readout_nearly_has_none():
    start, c = balanced(row(gamma=3.0))
    assert c == 3 and start.sigma2 == pytest.approx(1) and start.tau2 == pytest.approx(D / M)
    with pytest.raises(ValueError, match="no parametrisation 'other'"):
        balanced(row(parametrisation="other"))


OTHERS = [{"depth": 2}, {"bias": True}, {"centred": False}, {"trained": "last"}, {"activation": "tanh"}, {"width": 63}, {"P": 63},
          {"training": "adam"}, {"momentum": 0.9}, {"weight_decay": 0.1}, {"base_lr": 0.06, "gamma": 2.0}, {"task": "he3"},
          {"patch": 4}, {"loss": "cross_entropy"}, {"network": "relu2"}]  # fmt: skip


@pytest.mark.parametrize("keys", OTHERS, ids=str)
def test_it_says_nothing_of_other_networks(keys):
    assert LINEAR.is_one(row()) and LINEAR.is_one(row(trained=None)) and LINEAR.is_one(row(loss="mse"))
    assert not LINEAR.is_one(row(**keys))


def test_random_relu_features_are_those_of_networks_that_keep_their_features():
    kept = row(activation="relu", trained="last")
    assert RANDOM_RELU.is_one(kept) and RANDOM_RELU.is_one(row(activation="relu", gamma_label="lazy"))
    # Otherwise the output at initialisation would lie on other features.
    assert not RANDOM_RELU.is_one(kept | {"centred": False})
    assert not RANDOM_RELU.is_one(row(activation="relu")) and not RANDOM_RELU.is_one(kept | {"activation": "linear"})
    frame = pd.DataFrame([kept])
    said = overlays.beside(frame, "d_lr").values.set_index("theory")["value"]
    assert said["random ReLU features"] == of_relu_on_gaussian(D).d_lr()
    assert said["random ReLU features, its width"] == of_relu_on_gaussian(D).d_lr(256, M)  # of 256 training examples
    fresh = overlays.beside(frame, "d_lr_test").values.set_index("theory")["value"]
    assert fresh["random ReLU features, its width"] == of_relu_on_gaussian(D).d_lr(PROBED, M)


def test_curves_go_from_lazy_to_rich():
    frame = pd.DataFrame([row(gamma=gamma, steps=10_000) for gamma in (0.01, 1.0, 100.0)])
    found = overlays.curves(frame, "d_lr", "gamma", [])
    line = found[found["theory"] == "linear networks"].sort_values("gamma")
    assert line["value"].iloc[0] == pytest.approx(1 - D**-0.5, abs=1e-3) and line["value"].iloc[-1] < 1e-3
    assert (np.diff(line["value"]) < 0).all() and len(line) > 100
    assert line["value"].iloc[-1] == pytest.approx(d_lr(D, Start(1.0), 100.0), rel=0.05)
