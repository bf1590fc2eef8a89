"""The powers of P that decide the onset of variance, on errors and outputs whose powers are known."""

import numpy as np
import pandas as pd
import pytest
from sweepkit.studies.variance_limit.powers import power, variances

from analysis.figures.registry import FIGURES, Drawn, Missing
from sweepkit.store.store import Store
from tests.analysis.test_training_figures import lazy_cells, made_store
from tests.store_rows import row

EXAMPLES = (16, 32, 64)


def drawn(rng, sets=40):
    """P^-1.2 with noise in each data set, but for a P below the least."""
    noise = np.exp(0.1 * rng.standard_normal((4, sets)))
    means = [[100.0], *([P**-1.2] for P in EXAMPLES)]
    return pd.DataFrame([(P, value) for P, of in zip((4, *EXAMPLES), means * noise, strict=True) for value in of],
                        columns=["P", "error"])  # fmt: skip


def test_the_power_of_means_over_data_sets():
    rng = np.random.default_rng(0)
    found = power(drawn(rng), 16)
    assert list(found.points["P"]) == [4, *EXAMPLES] and found.exponent.n == 3
    assert power(drawn(rng), 64).exponent is None
    each = [power(drawn(rng), 16).exponent for _ in range(100)]
    assert np.mean([one.value for one in each]) == pytest.approx(-1.2, abs=0.01)
    assert np.mean([one.low < -1.2 < one.high for one in each]) == pytest.approx(0.95, abs=0.06)


def test_the_variance_is_that_of_outputs_over_seeds():
    outputs = {f"{seed}": np.full(5, float(seed)) for seed in range(4)}
    networks = pd.DataFrame({"cell_id": list(outputs), "width": 8, "P": 16, "data_seed": 0, "value": [s**2 for s in range(4)]})
    assert variances(networks, outputs)["error"].item() == pytest.approx(np.var(range(4), ddof=1))
    assert variances(networks[:1], outputs).empty


def test_the_figure_has_both_powers(tmp_path):
    """At infinite width P^-1; a variance of P/width."""

    def value(cell):
        if cell.network.name == "tangent_kernel":
            return {"test_mse": 1 / cell.task.P, "output": [0.0] * 4}
        spread = cell.task.P / cell.width / 2
        return {"test_mse": 1 / cell.task.P + spread, "output": [(2 * (cell.seed % 2) - 1) * spread**0.5] * 4}

    found = FIGURES["OnsetPowers"].draw(made_store(tmp_path, lazy_cells(EXAMPLES, (8, 16)), value, ["output"]), None)
    assert isinstance(found, Drawn), found
    scaled = found.frame[found.frame["width"].notna()]
    np.testing.assert_allclose(scaled["mean"], scaled["P"])
    assert "E_inf ~ P^-1.00" in found.caption and "width 8 ~ P^1.00" in found.caption and found.chart.to_dict()


def test_a_store_without_such_networks_has_no_such_figure(tmp_path):
    made = Store(str(tmp_path))
    made.prepare()
    made.commit("p", [row(1)])
    assert isinstance(FIGURES["OnsetPowers"].draw(made.results, None), Missing)
