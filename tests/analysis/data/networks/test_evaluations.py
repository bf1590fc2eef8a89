"""The order of metrics along training, which pages and reports share."""

from analysis.charts.along import evaluated
from analysis.charts.networks.several import along_training, several_chart
from analysis.data.networks.evaluations import in_order_along, main_and_loss
from analysis.data.networks.reading import training
from analysis.data.selection import Selection
from sweepkit.declarations.metrics import METRICS
from sweepkit.store.store import Store
from tests.store_rows import row


def test_the_main_metric_comes_first_and_goes_with_the_error_during_training():
    order = list(in_order_along(METRICS, [*reversed(METRICS), "nobody_declared_it"]))
    assert order[:5] == ["test_acc", "eval_test_mse", "chain_alignment_f", "train_loss", "chain_train_mse"]
    assert "step" not in order and "best_test_acc" not in order
    for there, shown in (
        (["train_loss", "train_acc", "test_acc"], ["test_acc", "train_loss"]),
        (["chain_train_mse", "chain_alignment_f"], ["chain_alignment_f", "chain_train_mse"]),
        (["train_acc", "train_loss"], ["train_loss"]),
        ([], []),
    ):
        assert list(main_and_loss(in_order_along(METRICS, there))) == shown


def test_pages_and_reports_have_one_order_and_errors_alone_are_logarithmic(tmp_path):
    store = Store(str(tmp_path))
    one = row(0, L=3, curve_test_auc=[0.5, 0.8, 0.9])
    store.commit("p", [one])
    curves = training(store.results, (one["cell_id"],))
    shown = along_training(store.results, curves)
    assert shown == evaluated(store.results, Selection()) and list(shown)[:2] == ["test_acc", "train_loss"]
    chart = several_chart(curves, {one["cell_id"]: "one"}, shown, log_y=True).to_dict()
    log = {panel["encoding"]["y"]["field"] for panel in chart["vconcat"] if panel["encoding"]["y"]["scale"].get("type") == "log"}
    assert log == {"train_loss"} and len(chart["vconcat"]) == len(shown) > 2
