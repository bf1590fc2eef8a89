"""Page Relations, over networks on strings whose error follows a law."""

import json

import pytest
from sweepkit.studies.boix23.pages.relations import STATE

from analysis.charts.curves import _CATEGORIES
from sweepkit.declarations.columns import Key
from sweepkit.store.store import Store
from tests.app.test_main import said, values
from tests.store_rows import row

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Streamlit's own

KEYS = [
    Key("template", "templates", "text", "task"),
    *(Key(name, name, "text", "network") for name in ("attention_init", "read_from")),
    *(Key(name, name, "truth", "network") for name in ("identity_qk", "identity_vo")),
    *(Key(name, name, "whole", "network") for name in ("embedding", "heads", "depth")),
]
PLAIN = {"network": "transformer", "identity_qk": False, "identity_vo": False, "attention_init": "gaussian", "read_from": "cls"}


@pytest.fixture(scope="session")
def results(tmp_path_factory):
    """Test errors of 1/(1 + P/64) and, with identities, 1/(1 + P/8); copying is right from a P of half the embedding on."""
    store = Store(str(tmp_path_factory.mktemp("strings")))
    shared = {"L": None, "d": None, "training": "adam", "depth": 2, "width": 256, "heads": 16}
    cells = []
    for seed in range(3):
        for P in (4, 16, 64, 256):
            for qk in (False, True):
                error = 1 / (1 + P / (8 if qk else 64)) + 0.01 * seed
                keys = {"task": "template", "template": "aba/abb", "P": P, "embedding": 128, **PLAIN, "identity_qk": qk}
                cells.append(row(len(cells), **shared | keys | {"seed": seed, "test_mse": error, "best_test_acc": None}))
            for size in (64, 256):
                right = P / (P + size / 2)
                keys = {"task": "symbolic_template", "template": "copy", "P": P, "embedding": size, **PLAIN}
                cells.append(row(len(cells), **shared | keys | {"seed": seed, "picked_test_acc": right, "best_test_acc": right}))
    store.commit("p", cells, KEYS)
    store.write_plan("strings", [cell["cell_id"] for cell in cells], whole=True)
    return store.results


def test_each_network_is_a_curve_and_has_the_P_that_suffices(page, results):
    shown = page("relations", results)
    assert values(shown) == {
        "Sweep": "strings", "Task": "template", "Template": "aba/abb", "Metric": "test_mse", "Panels": "(none)",
    }  # fmt: skip
    table = shown.dataframe[0].value.set_index("networks")
    assert list(table.index) == ["transformer", "transformer + a I"] and set(table["state"]) == {"reached"}
    assert table["P"].tolist() == pytest.approx([64, 8], rel=0.1)
    assert (table["low"] < table["P"]).all() and (table["P"] < table["high"]).all()
    assert "24 networks; if not said otherwise, width = 256" in said(shown) and "transformer + a I" not in said(shown)


def test_networks_have_colours_and_variants_marks_of_their_own(page, results):
    """Ten networks once shared the colours of a sequence, in which neighbours look alike."""
    chart = json.loads(page("relations", results).get("vega_lite_chart")[0].proto.spec)
    marks = [layer["encoding"] for layer in chart["layer"] if "shape" in layer["encoding"]]
    names = ["transformer", "transformer + a I"]
    assert [(one["shape"]["scale"]["domain"], one["color"]["scale"]["domain"]) for one in marks] == [(names, names)]
    assert marks[0]["shape"]["scale"]["range"] == ["circle", "square"]
    assert marks[0]["color"]["scale"]["range"] == [*_CATEGORIES[:2]]


def test_a_level_beyond_the_range_leaves_cells_empty_and_is_told(page, results):
    table = page("relations", results, level_test_mse="0.2").dataframe[0]
    assert table.value["state"].tolist() == ["not reached", "reached"]
    assert table.proto.placeholder == "" and table.value["P"].isna().tolist() == [True, False]
    table = page("relations", results, level_test_mse="0.8").dataframe[0]
    assert table.value["state"].tolist() == ["reached", "already at the smallest P"]
    assert json.loads(table.proto.columns)["state"]["width"] == STATE  # wide enough for these words


def test_networks_that_the_page_does_not_name_are_drawn_too(page, tmp_path):
    store = Store(str(tmp_path))
    shared = {"L": None, "d": None, "task": "template", "template": "aba/abb", "training": "adam", "best_test_acc": None}
    last = PLAIN | {"read_from": "last", "embedding": 128}
    cells = [
        row(2 * i + k, **shared, P=P, test_mse=1 / P, **keys)
        for i, keys in enumerate((last, {"network": "mine"}))
        for k, P in enumerate((4, 8))
    ]
    store.commit("p", cells, KEYS)
    store.write_plan("p", [cell["cell_id"] for cell in cells], whole=True)
    shown = page("relations", store.results)
    assert shown.dataframe[0].value["networks"].tolist() == ["mine", "transformer, others"]
    assert "transformer, others: " in said(shown) and "read_from = last" in said(shown)


def test_copying_has_a_panel_for_each_embedding(page, results):
    shown = page("relations", results, at_task="symbolic_template", measure="picked_test_acc", panels="embedding", level="0.5")
    table = shown.dataframe[0].value
    assert table["embedding"].tolist() == [64, 256] and table["P"].tolist() == pytest.approx([32, 128], rel=0.1)


def test_a_link_to_other_templates_says_so(page, results):
    shown = page("relations", results, at_template="abc/abb", colour="L")
    notes = " ".join(one.value for one in shown.warning)
    assert "No template `abc/abb` here" in notes and "The link names `colour`, which this page does not have" in notes


def test_networks_on_other_tasks_are_told_what_the_page_needs(page, tmp_path):
    store = Store(str(tmp_path))
    store.commit("p", [row(0), row(1)])
    store.write_plan("p", [f"{i:020x}" for i in range(2)], whole=True)
    shown = page("relations", store.results)
    assert "strings of one set of templates at two P" in shown.info[0].value and "templates_quick" in shown.code[0].value
