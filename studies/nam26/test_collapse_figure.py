"""The figure of neural collapse against the scale of the targets: its exponents are those of a made store."""

import pytest

from analysis.figures.registry import FIGURES, Drawn, Missing
from sweepkit.store.store import Store
from tests.analysis.test_training_figures import made_store
from tests.store_rows import row
from trainables.cell import cell_of
from trainables.tasks import Clusters


def test_nc1_and_its_regularised_kind_turn_in_opposite_directions(tmp_path):
    cells = [
        cell_of(Clusters(d=8, P=40, classes=4, alpha=alpha), network="mlp", width=8, training="adam", seed=seed, steps=1000)
        for alpha in (0.2, 2, 20) for seed in range(3)
    ]  # fmt: skip

    def value(cell):
        alpha = cell.columns()["alpha"]
        return {"nc1": 2 * alpha, "nc1_regularised": 1e4 / alpha, "d_lr": 0.1 + alpha / 100 + cell.seed / 1000}

    found = FIGURES["NC1"].draw(made_store(tmp_path, cells, value, ["nc1", "nc1_regularised", "d_lr"]), None)
    assert isinstance(found, Drawn), found
    assert "NC1, true inverse ~ alpha^1.00" in found.caption and "as published ~ alpha^-1.00" in found.caption
    at_most = found.frame[found.frame["alpha"] == 20].set_index("measure")["mean"]
    assert at_most["nc1"] == pytest.approx(40) and at_most["nc1_regularised"] == pytest.approx(500) and found.chart.to_dict()


def test_a_store_without_such_networks_has_no_such_figure(tmp_path):
    made = Store(str(tmp_path))
    made.prepare()
    made.commit("p", [row(1)])
    assert isinstance(FIGURES["NC1"].draw(made.results, None), Missing)
