"""Shares of modes and the alignment with targets, beside products of weights; trained networks beside closed half times."""

import numpy as np
import pandas as pd
import pytest
from sweepkit.studies.deep_linear.theory import gaussian_start, time_to

from analysis.data.networks.evaluations import crossings
from trainables.cell import cell_of
from trainables.engines import ENGINES
from trainables.metrics import metric_groups
from trainables.metrics.measuring import measured
from trainables.streams import initial_parameters, training_probe
from trainables.tasks import Linear, Modes

NAMES = metric_groups()["modes"].members
LINEAR = {"activation": "linear", "network": "mlp", "training": "gd", "test_size": 8}


def watched(cell):
    run = ENGINES["stacked"].make([cell])
    run.watch([NAMES])
    run.advance(600)
    values, failures = measured(run, 0, NAMES)
    assert not failures
    return run, values


def test_they_are_those_of_the_product_of_the_weights():
    task = Modes(d=5, P=12, rank=2, strength=3.0, ratio=3.0)
    run, values = watched(cell_of(task, width=7, depth=2, seed=0, base_lr=0.01, steps=40, eval_every=20, **LINEAR))
    weights = run.trainer.probed(0)(np.zeros((1, 5), np.float32)).parameters
    product = weights["w1"] @ weights["w2"] @ weights["w3"]
    assert [values[f"curve_mode_{k}"][-1] for k in (1, 2)] == pytest.approx([product[0, 0] / 3, product[1, 1]], rel=1e-5)
    assert values["curve_mode_3"] == values["curve_mode_4"] == [None, None]
    x, y = training_probe(run.cells[0])
    h = x @ weights["w1"] @ weights["w2"]
    kernel, wanted = h @ h.T, y @ y.T
    aligned = (kernel * wanted).sum() / np.linalg.norm(kernel) / np.linalg.norm(wanted)  # the mean of x is 0
    assert values["curve_target_alignment"][-1] == pytest.approx(aligned, rel=1e-5)


def test_another_task_has_no_modes():
    _, values = watched(cell_of(Linear(d=4, P=12), width=4, depth=1, seed=0, base_lr=0.01, steps=10, eval_every=10, **LINEAR))
    assert values["curve_mode_1"] == [None] and 0 < values["curve_target_alignment"][0] <= 1


@pytest.mark.parametrize("seed", [0, 1])
def test_a_small_start_of_two_layers_has_the_closed_half_times(seed):
    """By the growing part of each network's own start."""
    task = Modes(d=6, P=12, rank=3, strength=4.0)
    cell = cell_of(task, width=12, depth=1, init_scale=1e-3, seed=seed, base_lr=0.001, steps=5000, eval_every=25, **LINEAR)
    _, values = watched(cell)
    start = initial_parameters(cell)
    u_0 = gaussian_start(start["w1"][:3], start["w2"].T)
    for k in range(3):
        curve = pd.DataFrame({"cell_id": "a", "step": cell.evaluations, "share": values[f"curve_mode_{k + 1}"]})
        half = 2 * 0.001 * crossings(curve, "share", 0.5)["a"]
        # Steps lose rate x s, 0.4% of the time; the other parts of the small start are not quite nothing.
        assert half == pytest.approx(float(time_to(0.5, 4.0 / 2**k, u_0[k], 2)), rel=0.01)
