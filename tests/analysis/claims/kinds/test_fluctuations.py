"""Spreads and shifts of outputs over weights, from made networks, and where there is nothing to measure."""

import numpy as np
import pandas as pd
import pytest
from sweepkit.studies.fluctuations.outputs import SHIFT, SPREAD, fall, fall_of_means, shifts, spreads

from analysis.claims.kinds import KINDS
from analysis.claims.verdict import NotMeasured
from sweepkit.store.store import Store
from tests.store_rows import row
from trainables.cell import cell_of
from trainables.metrics import requested_metric
from trainables.tasks import Hermite

OF = {"task": "hermite", "network": "tangent"}


def drawn(exponent=-1.0, shift=0.0, sets=12, seeds=40, widths=(16, 32, 64, 128)):
    """Networks and outputs f ~ N(1 + shift/m, m^exponent) around an infinite width of 1, of four test examples."""
    rng, rows, outputs = np.random.default_rng(0), [], {}
    for data in range(sets):
        for m in widths:
            for seed in range(seeds):
                name = f"{data}-{m}-{seed}"
                rows.append({"cell_id": name, "data_seed": data, "width": m, "seed": data * seeds + seed})
                outputs[name] = 1 + shift / m + m ** (exponent / 2) * rng.standard_normal(4)
        outputs[f"{data}"] = np.ones(4)
    infinite = pd.DataFrame({"cell_id": [f"{data}" for data in range(sets)], "data_seed": range(sets)})
    return pd.DataFrame(rows), infinite, outputs


@pytest.mark.parametrize("exponent", [-1.0, -2.0, 0.0])
def test_the_spread_falls_as_it_was_drawn(exponent):
    networks, _, outputs = drawn(exponent)
    law = fall(spreads(networks, outputs), SPREAD)
    # A variance has an error of sqrt(2/(39 x 4)) = 0.11 for each data set; the slope over 3 doublings 0.08, of 12 data sets 0.02.
    assert law.exponent.value == pytest.approx(exponent, abs=0.07) and law.exponent.low < exponent < law.exponent.high
    assert list(law.local["slope"].round() == exponent) == [True] * 3


def test_the_shift_is_told_from_the_spread():
    """A shift of 4/m has the square 16/m^2, a spread of 1/m over 20 networks 0.05/m: without halves it would add to it."""
    networks, infinite, outputs = drawn(shift=4.0, seeds=80)
    table = shifts(networks, infinite, outputs)
    law = fall_of_means(table, SHIFT)
    assert law.exponent.low < -1 < law.exponent.high and law.exponent.high - law.exponent.low < 0.6
    assert table[table["width"] == 16][SHIFT].mean() == pytest.approx(1 / 16, rel=0.3)
    networks, infinite, outputs = drawn(shift=0.0, seeds=80)
    none = shifts(networks, infinite, outputs).groupby("width")[SHIFT]
    # Noise of each product: 1/40 of sqrt(1/16 1/m)/2; of 12 data sets three errors.
    assert all(abs(of.mean()) < 3 * 0.025 * (1 / 16 / m) ** 0.5 / 2 / 12**0.5 * 2 for m, of in none)


def stored(folder, seed_of=lambda data, seed: 10 * data + seed, widths=(8, 16), saved=True):
    store = Store(str(folder))
    store.prepare()
    keys = {"network": "tangent", "training": "ridge", "ridge": 1e-6}
    cells = [
        cell_of(Hermite(d=4, degree=2, P=8, data_seed=data), width=m, seed=seed_of(data, seed), **keys)
        for data in range(3) for m in widths for seed in range(3)
    ]  # fmt: skip
    empty = {"best_test_acc": None, "L": None, "d": None, "gamma": None, "gamma_label": None}
    rng = np.random.default_rng(0)
    outputs = [{"output": list(rng.standard_normal(5) / cell.width**0.5)} if saved else {} for cell in cells]
    rows = [row(cell.cell_id, **{**empty, **cell.columns(), **one}) for cell, one in zip(cells, outputs, strict=True)]
    store.commit("p", rows, [*cells[0].declared().values(), requested_metric("output").metric])
    return store.results


def test_data_sets_that_share_weights_are_refused(tmp_path):
    found = KINDS["spread_exponent"](stored(tmp_path / "own"), of=OF)
    assert not isinstance(found, NotMeasured) and found.interval.n == 3 and "3 data sets" in found.what
    shared = KINDS["spread_exponent"](stored(tmp_path / "shared", lambda data, seed: seed), of=OF)
    assert isinstance(shared, NotMeasured) and "share seeds" in shared.why


def test_nothing_to_measure_says_why(tmp_path):
    one = KINDS["spread_exponent"](stored(tmp_path / "one", widths=(8,)), of=OF)
    assert isinstance(one, NotMeasured) and "one width" in one.why
    bare = stored(tmp_path / "bare", saved=False)
    sides = {"a": {"width": 8}, "b": {"width": 16}}
    for kind, more in (("spread_exponent", {}), ("spread_beside_lazy", {}), ("spread_ratio", sides)):
        found = KINDS[kind](bare, of=OF, **more)
        assert isinstance(found, NotMeasured) and "no data set has" in found.why
    none = KINDS["shift_exponent"](bare, of=OF, infinite={"task": "hermite", "network": "tangent_kernel"})
    assert isinstance(none, NotMeasured) and "no finished networks" in none.why
