"""Times along training: where a curve crosses a level, and the measurements that claims make of it."""

import pandas as pd
import pytest
from sweepkit.studies.deep_linear.theory import time_to

from analysis.claims.kinds import KINDS
from analysis.claims.verdict import Measured, NotMeasured
from analysis.data.networks.evaluations import crossings
from sweepkit.store.store import Store
from tests.store_rows import row
from trainables.cell import cell_of
from trainables.metrics import requested_metric
from trainables.tasks import Modes

OF = {"task": "modes"}
HALF = {"measure": "curve_mode_1", "reaches": 0.5}


def test_a_level_is_crossed_on_the_line_between_two_evaluations():
    frame = pd.DataFrame(
        {
            "cell_id": list("aaabbbcccddd"),
            "step": [10, 20, 30] * 4,
            "x": [0, 0.4, 0.8, 0.6, 0.2, 0.9, 0.1, 0.2, 0.3, 0.0, 1.0, 0.0],
        }
    )
    # b is there at its first evaluation, c never; d falls again.
    assert crossings(frame, "x", 0.5).to_dict() == pytest.approx({"a": 22.5, "d": 15.0})


def stored(folder, halves, **keys):
    """Networks whose first mode is half learnt at these steps, a seed for each row of `halves`, a scale for each column."""
    store = Store(str(folder))
    store.prepare()
    cells, rows = [], []
    for seed, of_seed in enumerate(halves):
        for scale, half in of_seed.items():
            way = {"activation": "linear", "width": 4, "depth": 1, "base_lr": 0.01, "steps": 10_000, "eval_every": 10_000, **keys}
            cell = cell_of(Modes(d=4, P=8), init_scale=scale, seed=seed, **way)
            empty = {"best_test_acc": None, "L": None, "d": None, "gamma": None, "gamma_label": None}
            curve = {"curve_step": [1, half or 5000, 10_000], "curve_mode_1": [0.0, 0.5, 1.0] if half else [0.0, 0.1, 0.2]}
            rows.append(row(cell.cell_id, **{**empty, **cell.columns(), **curve}))
            cells.append(cell)
    metric = requested_metric("curve_mode_1").metric
    store.commit("p", rows, [*{key.name: key for cell in cells for key in cell.declared().values()}.values(), metric])
    return store.results


def test_the_exponent_of_a_time_is_the_mean_over_seeds(tmp_path):
    results = stored(tmp_path, [{0.1: 1000, 0.4: 250}, {0.1: 1000, 0.4: 500}, {0.1: 1000, 0.4: None}])
    found = KINDS["time_exponent"](results, of=OF, over="init_scale", **HALF)
    assert isinstance(found, Measured)
    assert found.interval.value == pytest.approx(-0.75) and found.interval.n == 2  # -1 and -1/2
    assert "10 at 0.1, 3.75 at 0.4" in found.what and found.what.endswith("6 networks, 1 of them do not reach it")
    one = KINDS["time_exponent"](results, of={**OF, "init_scale": 0.1}, over="init_scale", **HALF)
    assert isinstance(one, NotMeasured) and "networks of one init_scale only" in one.why
    never = KINDS["time_exponent"](results, of=OF, over="init_scale", measure="curve_mode_1", reaches=1.1)
    assert isinstance(never, NotMeasured) and "6 of them do not reach it" in never.why


def test_a_time_beside_that_of_modes(tmp_path):
    said = float(time_to(0.5, 1.0, 0.01**2, 2)) / (2 * 0.01)  # as 2 x rate x steps
    halves = [{0.01: round(said * factor)} for factor in (1.0, 1.1)]
    found = KINDS["time_beside_modes"](stored(tmp_path / "a", halves, start="balanced"), of=OF, **HALF)
    assert found.interval.value == pytest.approx(1.05, abs=2e-3) and found.interval.n == 2  # whole steps, of some 460
    deep = KINDS["time_beside_modes"](stored(tmp_path / "b", halves, depth=2), of=OF, **HALF)
    assert isinstance(deep, NotMeasured) and "the theory does not speak of these networks" in deep.why
    tanh = KINDS["time_beside_modes"](stored(tmp_path / "c", halves, activation="tanh"), of=OF, **HALF)
    assert isinstance(tanh, NotMeasured)
    large = stored(tmp_path / "d", [{2.0: 100}], start="balanced")  # u_0 is 4, the strength 1
    assert isinstance(KINDS["time_beside_modes"](large, of=OF, **HALF), NotMeasured)


def test_a_store_without_such_networks_says_so(tmp_path):
    results = stored(tmp_path, [{0.1: 1000}])
    for kind, more in (("time_beside_modes", {}), ("time_exponent", {"over": "init_scale"})):
        found = KINDS[kind](results, of={"task": "hermite"}, **HALF, **more)
        assert isinstance(found, NotMeasured) and "no finished networks" in found.why
