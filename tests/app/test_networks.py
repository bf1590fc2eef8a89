"""Page Networks without a browser: its table, its limits, the ticked networks, and those in training."""

import json

import pytest

from analysis.data.selection import Selection
from sweepkit.store.leases import Lease
from sweepkit.store.store import Store
from sweepkit.store.training_now import CURVES
from sweepkit.store.views import fetch
from tests.store_rows import OWN_KEYS, keys, row, rows

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Streamlit's own


def words(shown):
    return "\n".join(one.value for kind in ("caption", "markdown", "warning", "error", "info") for one in getattr(shown, kind))


@pytest.mark.parametrize(("name", "told"), [("networks", "has finished yet. Rows"), ("curves", "No finished networks yet")])
def test_a_sweep_of_which_nothing_has_finished_says_what_comes(page, tmp_path, name, told):
    store = Store(str(tmp_path))
    store.write_plan("early", [f"{0:020x}"], whole=True)
    shown = page(name, tmp_path)
    assert told in words(shown)
    assert not shown.dataframe and not shown.warning


def test_the_table_shows_results_first_and_keeps_to_its_order_and_limits(page, small_results):
    shown = page("networks", small_results, order="best_test_acc", only_gamma_label="1")
    table = shown.dataframe[0].value
    names = list(table.columns)
    assert names[:6] == ["cell_id", "status", "reason", "best_test_acc", "final_test_acc", "seconds"]
    assert {"L", "gamma_label"} < {*names[6:]} and names[-1] == "finished_at"
    assert len(table) == 9 and set(table.gamma_label) == {"1"}
    assert table.best_test_acc.dropna().is_monotonic_decreasing
    failed = page("networks", small_results, state="failed").dataframe[0].value
    assert list(failed.cell_id) == ["f" * 20] and failed.reason[0] == "failed at step 0"
    assert list(page("networks", small_results, words="failed AT").dataframe[0].value.cell_id) == ["f" * 20]
    assert "sorts this page alone" not in words(shown)


def test_a_configuration_is_a_row_with_the_mean_that_curves_shows(page, small_results):
    from analysis.data.points import points

    shown = page("networks", small_results, by_setting="true", setting_order="mean")
    table = shown.dataframe[0].value
    expected = points(small_results, Selection("tiny")).frame.sort_values("mean", ascending=False)
    assert list(table["mean"])[:4] == pytest.approx(list(expected["mean"]))
    assert list(table.low)[:4] == pytest.approx(list(expected.low)) and list(table.n)[:4] == [4] * 4
    assert table.failed.sum() == 1  # a configuration of which no network finished is there too


def test_columns_that_are_empty_for_the_networks_shown_are_left_out(page, tmp_path):
    store = Store(str(tmp_path))
    trained = [row(i, final_test_acc=0.5, seed=0) for i in range(2)]
    sampled = [row(10 + i, task="he3", L=None, P=8 + i, best_test_acc=None, alignment_f=0.5, seed=0) for i in range(2)]
    store.commit("one", [*trained, *sampled], keys(P="whole"))
    store.write_plan("mixed", [one["cell_id"] for one in (*trained, *sampled)], whole=True)
    shown = page("networks", tmp_path, only_task="he3")
    assert {"best_test_acc", "final_test_acc", "L"}.isdisjoint(shown.dataframe[0].value) and "P" in shown.dataframe[0].value
    assert "so not shown: `best_test_acc`" in words(shown) and "alignment_f" in shown.dataframe[0].value
    assert {"best_test_acc", "L"} < {*page("networks", tmp_path).dataframe[0].value}
    by_setting = page("networks", tmp_path, only_task="he3", by_setting="true").dataframe[0].value
    assert "L" not in by_setting and "P" in by_setting


def test_the_newest_sweep_comes_first_and_cells_without_a_value_are_blank(page, tmp_path):
    store = Store(str(tmp_path))
    found = [row(i, "ok" if i < 3 else "failed", minute=i, seed=0, L=3 if i % 2 else None) for i in range(5)]
    store.commit("one", found)
    store.write_plan("a-old", [one["cell_id"] for one in found[:2]], whole=True)
    store.write_plan("b-new", [one["cell_id"] for one in found[2:]], whole=True)
    shown = page("networks", tmp_path)
    assert [one.value for one in shown.selectbox if one.label == "Sweep"] == ["b-new"]
    table = shown.dataframe[0]
    assert len(table.value) == 3 and table.value.isna().any(axis=None) and table.proto.HasField("placeholder")
    widths = {name: one.get("width") for name, one in json.loads(table.proto.columns).items()}
    assert widths["status"] >= 90 and widths["reason"] >= 200


def test_many_empty_columns_are_counted_and_their_names_are_folded(page, tmp_path):
    store = Store(str(tmp_path))
    own = {"k": 2, "patches": 3, "blur": 0.5, "layer": "id", "hops": 1}
    cells = [row(1, **own, final_test_acc=0.5, seed=0), row(2, L=3, best_test_acc=None, test_mse=0.5, seed=0)]
    store.commit("one", cells, [*OWN_KEYS, *keys(hops="whole")])
    store.write_plan("two", [one["cell_id"] for one in cells], whole=True)
    shown = page("networks", tmp_path, words=f"{2:020x}")
    table = shown.dataframe[0].value
    assert table.test_mse[0] == 0.5 and {"best_test_acc", "final_test_acc", *own}.isdisjoint(table)
    (fold,) = [one for one in shown.expander if "empty" in one.label]
    assert fold.label.startswith("7 columns are empty") and "`best_test_acc`, `final_test_acc`" in fold.markdown[0].value
    assert "so not shown" not in "\n".join(one.value for one in shown.caption)
    shown = page("networks", tmp_path, only_L="3", columns=["best_test_acc", "test_mse", "L"])
    assert list(shown.dataframe[0].value)[:4] == ["cell_id", "best_test_acc", "test_mse", "L"]  # who asks for a column gets it


def test_networks_that_came_to_no_evaluation_are_not_told_to_save_curves(page, tmp_path):
    store = Store(str(tmp_path))
    cells = [row(0, curves=0), row(1, "diverged", curves=0)]
    store.commit("one", cells)
    store.write_plan("bare", [one["cell_id"] for one in cells], whole=True)
    text = words(shown := page("networks", tmp_path, picked=f"{1:020x}"))
    assert "save: curves" not in text and "came to no evaluation" in text
    assert any("diverged at step 1" in one.value for one in shown.code)
    assert text.count("0000000:") == 0 and f"`{1:020x}`: diverged" in text  # its id once
    assert "save: curves" in words(page("networks", tmp_path, picked=f"{0:020x}"))


def test_a_network_without_a_test_accuracy_has_a_curve(page, tmp_path):
    store = Store(str(tmp_path))
    cell = row(0, best_test_acc=None, test_mse=0.5, curve_test_acc=None, curve_train_acc=None)
    store.commit("one", [cell])
    store.write_plan("regression", [cell["cell_id"]], whole=True)
    shown = page("networks", tmp_path, picked=cell["cell_id"])
    chart = json.loads(shown.get("vega_lite_chart")[0].proto.spec)
    assert [panel["encoding"]["y"]["field"] for panel in chart["vconcat"]] == ["train_loss"]


def test_two_ticked_networks_stand_side_by_side(page, small_results):
    ids = [
        i for (i,) in fetch(small_results, "SELECT cell_id FROM cells WHERE L = 3 AND seed = 0 AND status = 'ok' ORDER BY gamma")
    ]
    shown = page("networks", small_results, picked=",".join(ids))
    assert [one.value for one in shown.subheader] == ["2 ticked", "Side by side"]
    table = shown.table[0].value
    assert list(table.columns) == ["parameters", "gamma lazy", "gamma 1", "difference"]
    assert list(table.parameters) == ["gamma", "gamma_label"]
    chart = json.loads(shown.get("vega_lite_chart")[0].proto.spec)
    assert {"gamma lazy", "gamma 1"} <= set(str(chart["vconcat"][0]["encoding"]["color"]).replace("'", '"').split('"'))


def test_numbers_side_by_side_have_no_digits_of_rounding(page, tmp_path):
    store = Store(str(tmp_path))
    cells = [row(1, base_lr=0.1 + 0.2, L=3, kappa=12345.0), row(2, base_lr=0.1, L=3, kappa=0.1)]
    store.commit("one", cells)
    store.write_plan("two", [one["cell_id"] for one in cells], whole=True)
    tables = page("networks", tmp_path, picked=",".join(one["cell_id"] for one in cells)).table
    text = "\n".join(table.value.to_string() for table in tables)
    assert "0.30000000000000004" not in text
    parameters = tables[0].value.set_index("parameters").iloc[:, 0]
    assert parameters["base_lr"] == "0.3" and parameters["kappa"] == "12345"


def test_a_failed_network_tells_its_reason_its_log_and_what_to_do(page, small_results):
    text = words(shown := page("networks", small_results, picked="f" * 20))
    assert "failed at step 0" in [one.value for one in shown.code] and "--retry-failed" in text and f"logs/{'f' * 20}.txt" in text
    assert shown.code[-1].value == "Traceback ..."


def test_a_log_elsewhere_is_never_read(tmp_path):
    from analysis.data.networks.failures import log_of

    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "results" / "logs").mkdir(parents=True)
    assert log_of(str(tmp_path / "results"), str(tmp_path / "secret.txt")) is None
    assert log_of(str(tmp_path / "results"), "logs/../../secret.txt") is None


@pytest.mark.parametrize("more", [{}, {"by_setting": "true"}])
def test_a_link_that_names_what_the_page_does_not_have_is_told(page, small_results, more):
    text = words(page("networks", small_results, status="failed", order="cell_id", only_gamma_label="1", picked="f" * 20, **more))
    assert text.count("The link names") == 1 and "The link names `status`, which in a link is `state`." in text


def test_what_a_link_names_and_is_not_there_is_told(page, small_results):
    text = words(page("networks", small_results, picked="nowhere", only_L="7", columns="nonsense"))
    assert "No network `nowhere` in the store" in text and "No L `7` here" in text and "No columns `nonsense` here" in text


def test_many_rows_come_in_pages(page, tmp_path):
    store = Store(str(tmp_path))
    cells = rows(0, 250)
    store.commit("one", cells)
    store.write_plan("many", [cell["cell_id"] for cell in cells], whole=True)
    shown = page("networks", tmp_path, order="seed", descending="false", page="3")
    assert "201 to 250 of 250 rows" in words(shown)
    assert list(shown.dataframe[0].value.seed) == list(range(200, 250))
    assert "The CSV file has the 50 rows of this page; the query and the Python lines give all 250." in words(shown)
    assert not shown.warning
    beyond = page("networks", tmp_path, page="99")
    assert "201 to 250" in words(beyond)  # beyond the last page lies the last
    assert [one.value for one in beyond.warning] == ["No page `99` here: there are 3. This is page 3."]
    beyond.number_input(key="page").set_value(2).run()
    assert not beyond.warning
    assert "No page `one` here: there are 3. This is page 1." in words(page("networks", tmp_path, page="one"))
    assert "sorts this page alone" in words(shown)


def test_networks_in_training_show_their_curve_so_far(page, tmp_path):
    store = Store(str(tmp_path / "results"))
    store.commit("one", [row(0)])
    store.write_plan("late", [f"{0:020x}", f"{1:020x}"], whole=True)
    scratch = tmp_path / "sweep-here-1-0123abcd"
    place = scratch / "run" / "trial" / "checkpoint_000000"
    place.mkdir(parents=True)
    curve = {"step": [100.0, 200.0], "train_loss": [0.7, 0.5], "train_acc": [0.5, 0.6], "test_acc": [0.5, None]}
    told = [{"cell_id": f"{i:020x}", "keys": {"L": 3, "d": 16, "gamma_label": "1"}, "curve": curve} for i in (1, 2)]
    (place / CURVES).write_text(json.dumps(told))
    with Lease(store) as lease:
        lease.tell(scratch=str(scratch))
        lease.update([f"{1:020x}"])
        lease.beat()
        shown = page("networks", store.results)
        assert "In training: 1 network with a curve so far" in [one.label for one in shown.expander]
        assert "L = 3" in shown.get("vega_lite_chart")[0].proto.spec
        told[0]["curve"] = {"step": [100.0], "train_loss": [0.7], "test_mse": [0.4]}  # of real targets
        (place / CURVES).write_text(json.dumps(told))
        chart = json.loads(page("networks", store.results).get("vega_lite_chart")[0].proto.spec)
        assert [panel["encoding"]["y"]["field"] for panel in chart["vconcat"]] == ["eval_test_mse", "train_loss"]
        (place / CURVES).write_text("[{")  # being written
        assert not page("networks", store.results).get("vega_lite_chart")


def test_a_single_configuration_is_one_row(page, tmp_path):
    store = Store(str(tmp_path))
    one = [row(f"{seed:020x}", L=4, d=8, seed=seed) for seed in range(3)]
    store.commit("p", one)
    store.write_plan("one", [cell["cell_id"] for cell in one], whole=True)
    shown = page("networks", tmp_path, by_setting="true")
    assert list(shown.dataframe[0].value["n"]) == [3]
