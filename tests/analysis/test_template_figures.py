"""Figures of template tasks, from a store of made networks: each network is a line of its own, and theory stands beside."""

import numpy as np
import pytest

from analysis.figures.drawn import Drawn, Missing
from analysis.figures.registry import FIGURES
from sweepkit.store.store import Store
from tests.store_rows import row
from trainables.cell import cell_of
from trainables.tasks import Template

NETWORKS = {
    "perceptron on one-hots": {"network": "one_hot"},
    "transformer": {},
    "transformer + a I": {"identity_qk": True},
    "kernel, infinite width": {"network": "kernel", "training": "ridge"},
}


def made_store(folder, template, sizes=(16, 64, 256)):
    store = Store(str(folder / "results"))
    store.prepare()
    for n, (name, keys) in enumerate(NETWORKS.items()):
        rows, declared = [], {}
        for P in sizes:
            for seed in range(3):
                cell = cell_of(Template(template=template, P=P), seed=seed, **keys)
                mse = {"perceptron on one-hots": 1.0, "transformer + a I": 8 / P}.get(name, 1 - P / 1000) + 0.01 * seed
                rows.append(
                    row(cell.cell_id, **(cell.columns() | {"test_mse": mse, "best_test_acc": None, "L": None, "d": None}))
                )
                declared |= cell.declared()
        store.commit(f"networks-{n}", rows, list(declared.values()))
    return store.results


@pytest.mark.parametrize(("figure", "template"), [("Relations", "aba/abb"), ("Equality", "aa/ab")])
def test_each_network_is_a_line(tmp_path, figure, template):
    found = FIGURES[figure].draw(made_store(tmp_path, template), None)
    assert isinstance(found, Drawn), found
    assert set(found.frame["networks"]) == set(NETWORKS)
    shown = found.frame.set_index(["networks", "P"])["mean"]
    assert shown["transformer + a I", 64] == pytest.approx(8 / 64 + 0.01)
    assert "36 networks" in found.caption and "transformer + a I: " in found.caption
    assert found.chart.to_dict()


def test_theory_stands_beside_the_networks_of_which_it_speaks(tmp_path):
    frame = FIGURES["Relations"].draw(made_store(tmp_path, "aba/abb"), None).frame.set_index("networks")
    assert (frame.loc["perceptron on one-hots", "variance of the labels"] == 1).all()
    kernel = frame.loc["kernel, infinite width", "kernel, no token twice"]
    # At beta = 4, position 1 and cos an independent calculation has .596 and .210 at 64 and 256 strings.
    assert kernel.tolist() == pytest.approx([0.866, 0.596, 0.210], abs=0.02)
    assert np.isnan(frame.loc["transformer", "kernel, no token twice"]).all()


def test_one_size_is_no_curve(tmp_path):
    assert isinstance(FIGURES["Relations"].draw(made_store(tmp_path, "aba/abb", sizes=(16,)), None), Missing)
