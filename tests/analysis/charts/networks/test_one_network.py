"""Charts of single networks: which panels they have, and in which units."""

import pytest

from analysis.charts.networks.one_network import training_chart
from analysis.data.networks.reading import training
from analysis.overlays.expected import Expected
from sweepkit.declarations.metrics import METRICS
from sweepkit.store.store import Store
from tests.store_rows import row

REAL = {"task": "he3", "curve_train_acc": None, "curve_test_acc": None, "curve_test_mse": [0.9, 0.5, 0.248]}


def titles(panels):
    """The title of each panel's ordinate."""
    return [panel["layer"][0]["encoding"]["y"]["title"] for panel in panels["vconcat"]]


@pytest.mark.parametrize(
    ("more", "shown"),
    [
        ({}, ["accuracy", "loss (nats)"]),
        ({"loss": "mse"}, ["accuracy", "loss"]),
        ({"curve_test_auc": [0.5, 0.8, 0.9]}, ["accuracy, AUC", "loss (nats)"]),
        (REAL, ["test mean squared error", "loss"]),
        (REAL | {"curve_test_mse": None}, ["loss"]),
    ],
)
@pytest.mark.parametrize("log", [False, True])
def test_panels_and_units_are_those_of_the_targets_and_the_loss(tmp_path, more, shown, log):
    store = Store(str(tmp_path))
    rows = [row(i, L=3, **more) for i in range(2)]
    store.commit("p", rows)
    curves = training(store.results, [one["cell_id"] for one in rows])
    chart = training_chart(curves, rows[0]["cell_id"], loss=more.get("loss"), log_step=log, log_loss=log).to_dict()
    assert titles(chart) == shown
    on_x = [panel["layer"][0]["encoding"]["x"]["title"] for panel in chart["vconcat"]]
    assert on_x == [*[None] * (len(shown) - 1), "training step"]


def test_no_title_of_a_loss_says_a_unit():
    """It is in nats or not as the loss of the network is; charts that know it say so."""
    for name in ("final_train_loss", "train_loss"):
        assert "nats" not in METRICS[name].title and not METRICS[name].unit


def test_the_line_of_a_theory_names_its_source(tmp_path):
    store = Store(str(tmp_path))
    store.commit("p", [row(0, L=3)])
    curves = training(store.results, [row(0)["cell_id"]])
    chart = training_chart(curves, row(0)["cell_id"], Expected(0.9, "a paper")).to_dict()
    assert [{"accuracy": 0.9, "theory": "a paper"}] in chart["datasets"].values()
