"""Page Richness, over networks with spectra that follow a rule."""

import json

import pytest

from analysis.data.progress.showing import NEEDS
from sweepkit.declarations.columns import Key
from sweepkit.store.store import Store
from tests.app.test_main import said, values
from tests.rich_rows import RICH, rich, rich_store
from tests.store_rows import row

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Streamlit's own

BESIDE = "Beside it, the same network at"


@pytest.fixture(scope="session")
def results(tmp_path_factory):
    return rich_store(tmp_path_factory.mktemp("rich"))


def titles(chart):
    """The titles of a chart's columns; none if it has a single one."""
    return [column["title"] for column in json.loads(chart.proto.spec).get("hconcat", [])]


def test_a_rich_network_stands_beside_the_lazy_one(page, results):
    shown = page("richness", results, sweep="rich")
    assert values(shown) == {"Sweep": "rich", "gamma": "1", "seed": "0", BESIDE: "gamma = lazy"}
    assert shown.selectbox(key="beside_at").options == ["(none)", "gamma = lazy", "gamma = 0.1"]
    assert [one.value for one in shown.subheader] == ["Spectrum of its features", "Along training"]
    assert [titles(chart) for chart in shown.get("vega_lite_chart")] == 2 * [["gamma = 1", "gamma = lazy"]]
    assert "in the richest training the first 2 hold all of the output. The line stands at k = 2 for one output," in said(shown)
    table = shown.table[0].value.set_index("metric")
    assert list(table.columns) == ["name", "gamma = 1", "seeds, gamma = 1", "gamma = lazy", "seeds, gamma = lazy", "what it says"]
    d_lr = table.loc["laziness D_LR of features and outputs"]
    assert [d_lr["gamma = 1"], d_lr["gamma = lazy"]] == ["0.1", "0.7"] and d_lr["seeds, gamma = 1"].startswith("0.15 (")
    assert "Thin: other seeds." in said(shown) and d_lr["name"] == "d_lr"
    assert "richest" in d_lr["what it says"] and table.loc["last test accuracy", "gamma = 1"] == "0.95"


def test_networks_lists_d_lr_and_leaves_out_parameters_that_are_empty(page, results, tmp_path):
    shown = page("networks", results, sweep="rich")
    assert list(shown.dataframe[0].value.columns)[1:5] == ["best_test_acc", "final_test_acc", "d_lr", "d_eff_rho"]
    assert "d_lr" not in page("networks", results, sweep="plain").dataframe[0].value
    store = Store(str(tmp_path))
    store.commit("p", [row(0, batch=8, P=4), row(1, batch=16)])
    store.write_plan("p", [f"{i:020x}" for i in range(2)], whole=True)
    some = page("networks", store.results, only_batch="16")
    assert "batch" in some.dataframe[0].value and "P" not in some.dataframe[0].value
    assert "not shown: `P`" in said(some)
    assert "P" in page("networks", store.results, only_batch="16", columns="P").dataframe[0].value


def test_parameters_are_chosen_in_the_order_of_captions(page, tmp_path):
    store = Store(str(tmp_path))
    cells = [row(2 * L + i, L=L, eval_at=at, **rich(0.5)) for L in (3, 5) for i, at in enumerate(("even", "log"))]
    store.commit("p", cells, [*RICH, Key("eval_at", "times of evaluation", "text", "training")])
    store.write_plan("p", [cell["cell_id"] for cell in cells], whole=True)
    labels = [box.label for box in page("richness", store.results).selectbox]
    assert labels.index("L") < labels.index("eval_at")


def test_alone_and_without_seeds(page, results):
    shown = page("richness", results, sweep="rich", beside_at="(none)", all_seeds="false")
    assert [titles(chart) for chart in shown.get("vega_lite_chart")] == [[], []]
    assert list(shown.table[0].value.columns) == ["metric", "name", "this network", "mean over seeds", "what it says"]
    assert "Thin" not in said(shown) and not shown.info


def test_a_link_names_its_network(page, results):
    shown = page("richness", results, cell=f"{11:020x}")
    assert not shown.warning and values(shown)["gamma"] == "lazy" and values(shown)["seed"] == "1"
    assert values(shown)[BESIDE] == "gamma = 1"


@pytest.mark.parametrize(
    ("cell", "more", "words"),
    [("nowhere", {}, "No network `nowhere` in these results"), (f"{30:020x}", {}, "saved no richness"),
     (f"{31:020x}", {"sweep": "rich"}, "is not of this sweep")],
)  # fmt: skip
def test_a_link_to_what_is_not_there_says_so(page, results, cell, more, words):
    shown = page("richness", results, cell=cell, **more)
    assert words in shown.warning[0].value and shown.get("vega_lite_chart")


def test_what_was_not_saved_is_said_with_how_to_save_it(page, results):
    shown = page("richness", results, sweep="last")
    assert ["save: [richness, richness_curve]" in one.value for one in shown.info] == [True]
    assert len(shown.get("vega_lite_chart")) == 1 and BESIDE not in values(shown)
    assert (
        shown.table[0].value.set_index("metric").loc["alignment of features with those at initialisation", "this network"] == "1"
    )


@pytest.mark.parametrize(("asked", "more", "words"), [
    (["d_lr", "rho", "curve_d_lr"], {}, 2 * ["not defined: no `features`"]),
    (["d_lr"], {}, 2 * ["not defined: no `features`"]),
    (["d_lr", "rho"], {"d_lr": 0.5, "rho": [1.0, 0.1], "mixed": True}, ["no evaluations along training"]),
], ids=["no features", "by name", "at equilibrium"])  # fmt: skip
def test_nothing_is_advised_that_would_give_no_values(page, tmp_path, asked, more, words):
    store = Store(str(tmp_path))
    store.commit("p", [row(0, measured=asked, **more)], RICH)
    store.write_plan("p", ["0" * 20], whole=True)
    infos = [one.value for one in page("richness", store.results).info]
    assert len(infos) == len(words) and all(map(str.__contains__, infos, words)), infos
    assert "save:" not in "".join(infos)


def test_without_rich_networks_it_names_the_sweeps_that_have_some_or_a_grid(page, results, tmp_path):
    others = page("richness", results, sweep="plain").info[0].value
    assert "`last`" in others and "`rich`" in others and "plain" not in others
    store = Store(str(tmp_path))
    store.commit("p", [row(0)])
    store.write_plan("p", ["0" * 20], whole=True)
    shown = page("richness", store.results)
    assert NEEDS["richness"].grid in shown.info[0].value and NEEDS["richness"].grid in shown.code[0].value
    assert any("**Richness**" in one.value and "save: [richness]" in one.value for one in page("more", store.results).markdown)


def test_a_network_that_did_not_mix_is_said(page, tmp_path):
    store = Store(str(tmp_path))
    spectrum = {"measured": ["d_lr", "rho"], "d_lr": 0.5, "rho": [1.0, 0.1]}
    store.commit("p", [row(i, **spectrum, L=3 + i, seed=0, mixed=bool(i)) for i in range(2)], RICH)
    store.write_plan("p", [f"{i:020x}" for i in range(2)], whole=True)
    lost, mixed = (page("richness", store.results, cell=f"{i:020x}", beside_at="(none)").warning for i in range(2))
    assert ["did not mix" in one.value for one in lost] == [True] and not mixed
