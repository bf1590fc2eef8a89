"""Declarations of columns in files, and their use by views and planning."""

import json
from dataclasses import replace

import pyarrow as pa
import pytest

from sweepkit.declarations.columns import Column, Key, Metric
from sweepkit.store.database import of_cells
from sweepkit.store.schema import DECLARED, RESERVED, SCHEMA, parquet_bytes, table_of
from sweepkit.store.sql import literal, quoted
from sweepkit.store.store import Store
from sweepkit.store.upkeep.check import check
from sweepkit.store.upkeep.compact import compact
from sweepkit.store.views import connect, declared, declared_in, fetch, run
from tests.store_rows import keys, names, row, rows

DEPTH = Key("depth", "depth", "whole", "network", default=1, of=("mlp",))
MARGIN = Metric(
    "margin", "margin", unit="nats", low=0, better="higher", of=((("targets", ("binary",)),),), digest="1a2b", on_request=True
)
RANK = Metric("rank", "rank of the features", "whole", per="evaluation", on_request=True)
SHIFT = Metric("shift", "shift of a neuron", per="neuron", on_request=True)


def further(store: Store) -> dict[str, Column]:
    return {name: column for name, column in declared(store.results).items() if name not in DECLARED}


def test_the_pinned_columns_of_existing_files() -> None:
    kinds = {field.name: str(field.type) for field in SCHEMA}
    text, whole, truth = "string", "int64", "bool"
    assert {name: kinds[name] for name in ("cell_id", "task", "gamma_label", "reason", "weights_file")} == dict.fromkeys(
        ("cell_id", "task", "gamma_label", "reason", "weights_file"), text
    )
    assert {kinds[name] for name in ("L", "d", "width1", "P", "patch", "chains", "seed", "test_size")} == {whole}
    assert {kinds[name] for name in ("gamma", "kappa", "base_lr", "best_test_acc", "n_specialised_2", "ess", "seconds")} == {
        "double"
    }
    assert {kinds[name] for name in ("mixed", "holds_curves", "holds_neurons")} == {truth}
    assert kinds["finished_at"] == "timestamp[us, tz=UTC]"
    lists = {name: kind.removeprefix("list<").removesuffix(">").split(": ")[-1] for name, kind in kinds.items() if "list" in kind}
    assert lists == {
        "curve_step": whole, "curve_train_loss": "double", "curve_train_acc": "double", "curve_test_acc": "double",
        "curve_test_auc": "float",
        "curve_train_mse": "double", "curve_alignment_f": "double", "neuron_readout": "float", "neuron_alignment": "float",
        "overlap": "double", "measured": text, "curve_test_mse": "double", "curve_val_loss": "double",
    }  # fmt: skip
    assert {"l", "test_acc", "readout", "neuron", "median", "sweep", "_row", "unmixed", "curve_step", "measured"} <= RESERVED


def test_declarations_come_back(store: Store) -> None:
    store.commit("p", [row(0, depth=3, margin=0.5, rank=[1, 2, 3])], [DEPTH, MARGIN, RANK, *keys(unused="text")])
    assert further(store) == {"depth": DEPTH, "margin": MARGIN, "rank": RANK}
    with connect(store.results) as connection:
        assert declared_in(connection) == declared(store.results)
    assert check(store.files).bad == {}


def test_what_is_an_accuracy_comes_back_and_is_not_supposed_of_older_files(store: Store) -> None:
    store.files.write("packs/older.parquet", tampered(told("old_acc", pa.float64(), role="metric", kind="number")))
    own = replace(MARGIN, name="share", is_accuracy=True)
    store.commit("p", [row(0, share=0.5)], [own])
    assert further(store) == {"share": own, "old_acc": Metric("old_acc", "x")}


def test_the_newest_title_is_right_also_when_merged(store: Store) -> None:
    old, new = replace(DEPTH, title="layers"), DEPTH
    store.commit("b", [row(0, depth=3, minute=1)], [old])
    store.commit("a", [row(1, depth=3, minute=5)], [new])
    store.commit("c", [row(2, depth=3, minute=3)], [old])
    assert further(store) == {"depth": new}
    compact(store.files, now=True)
    assert len(names(store.results)) == 1
    assert further(store) == {"depth": new}
    store.commit("d", [row(4, depth=3, minute=4)], [old])
    assert further(store) == {"depth": new}
    store.commit("e", [row(5, depth=3, minute=6)], [old])
    assert further(store) == {"depth": old}


def test_parts_that_share_a_key_share_its_declaration_whatever_files_name_them(store: Store) -> None:
    """A sweep by `gd` alone once made the default of all other trainings look like a choice."""
    for pack, of in (("a", ("sgd", "adam")), ("b", ("gd",)), ("c", ("sgd",))):
        store.commit(pack, [row(pack)], [Key("lr_schedule", "schedule", "text", "training", default="constant", of=of)])
    shared = further(store)["lr_schedule"]
    assert isinstance(shared, Key) and set(shared.of) == {"sgd", "adam", "gd"}
    store.commit("d", [row("d")], [Key("lr_schedule", "schedule", "text", "training", default="cosine", of=("gd",))])
    newest = further(store)["lr_schedule"]
    assert isinstance(newest, Key) and (newest.default, newest.of) == ("cosine", ("gd",))


def test_files_of_two_kinds_are_both_read(store: Store) -> None:
    store.commit("p", [row(0, depth=3)], keys(depth="whole"))
    store.commit("q", [row(1, depth=2.5, minute=1)], keys(depth="number"))
    assert further(store)["depth"].kind == "number"
    store.commit("r", [row(2, depth="deep", minute=2)], [Key("depth", "depth", "text", default="none", of=("same_different",))])
    store.commit("s", [row(3, depth=True, minute=3)], keys(depth="truth"))
    store.commit("t", [row(4)])
    assert further(store)["depth"].kind == "text"
    assert fetch(store.results, "SELECT depth FROM cells ORDER BY seed")[:3] == [("3",), ("2.5",), ("deep",)]
    assert fetch(store.results, "SELECT depth FROM cells WHERE seed = 4") == [("none",)]
    assert check(store.files).bad == {}


def tampered(field: pa.Field) -> bytes:
    return parquet_bytes(table_of([row(10)]).append_column(field, pa.nulls(1, field.type)))


def told(name: str, column: pa.DataType, /, **words: object) -> pa.Field:
    return pa.field(
        name, column, metadata={b"declaration": json.dumps({"role": "key", "title": "x", "kind": "whole"} | words).encode()}
    )


WRONG = {
    "no JSON": (pa.field("mine", pa.int64(), metadata={b"declaration": b"{"}), "has no declaration that can be read"),
    "no text": (pa.field("mine", pa.int64(), metadata={b"declaration": b"\xff"}), "has no declaration that can be read"),
    "deep": (pa.field("mine", pa.int64(), metadata={b"declaration": b"[" * 100_000}), "nested too deeply"),
    "role": (told("mine", pa.int64(), role="king"), "its role is none of key, metric, fact"),
    "title": (told("mine", pa.int64(), title=3), "its title is 3"),
    "no title": (pa.field("mine", pa.int64(), metadata={b"declaration": b'{"role": "key", "kind": "whole"}'}), "title"),
    "part": (told("mine", pa.int64(), part="seedling"), "its part is 'seedling'"),
    "kind": (told("mine", pa.int64(), kind="text"), "is int64, which is not what its declaration says"),
    "no kind": (told("mine", pa.int64(), kind=["whole"]), "its kind is"),
    "default": (told("mine", pa.int64(), default="1); DROP TABLE x; --"), "its default '1); DROP TABLE x; --' is not whole"),
    "of": (told("mine", pa.int64(), of=[1]), r"its of is (1,)"),
    "list": (told("mine", pa.list_(pa.int64()), role="metric", per="neuron"), "not what its declaration says"),
    "no list": (told("neuron:mine", pa.int64(), role="metric"), "not what its declaration says"),
    "view": (told("neuron:readout", pa.list_(pa.int64()), role="metric", per="neuron"), "has the name of another column"),
    "SQL": (told("mine", pa.int64(), role="metric", expression="1; DROP"), "an expression and a column are for the metrics in"),
    "name": (told('a" FROM x', pa.int64(), role="metric"), "the name of a metric is letters"),
    "time": (pa.field("mine", pa.timestamp("us")), "is timestamp"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_a_file_with_a_declaration_that_is_none_is_foreign(store: Store, what: str) -> None:
    store.commit("good", rows(0, 3))
    column, problem = WRONG[what]
    store.files.write("packs/bad.parquet", tampered(column))
    assert fetch(store.results, "SELECT count(*) FROM cells") == [(3,)]
    said = check(store.files).bad["packs/bad.parquet"]
    assert said.startswith("foreign: column ") and problem in said


def test_what_a_newer_version_tells_beside_is_left_out(store: Store) -> None:
    store.files.write("packs/newer.parquet", tampered(told("mine", pa.int64(), colour="red")))
    assert further(store) == {"mine": Key("mine", "x", "whole")}


def test_a_network_that_rows_leave_out_is_found_by_its_name(store: Store) -> None:
    store.commit("old", [row(0), row(1, network="erf2", kappa=0.1)])
    assert fetch(store.results, "SELECT seed, network FROM cells WHERE network = 'relu2'") == [(0, "relu2")]


def test_defaults_are_filled_in_for_networks_that_have_the_key(store: Store) -> None:
    store.commit("old", [row(0), row(1, network="erf2", kappa=0.1)])
    store.commit("mlp", [row(2, network="mlp", depth=3), row(3, network="mlp"), row(4, network="mlp", depth=1)], [DEPTH])
    store.commit("late", [row(5, network="mlp"), row(6, network="cnn")])
    cnn = Key("depth", "depth", "whole", "network", default=7, of=("cnn", "relu2"))
    store.commit("cnn", [row(7, network="cnn", depth=2, minute=1), row(8, network="cnn")], [cnn])
    adam = Key("beta", "beta", "number", "training", default=0.9, of=("adam", "sgd"))
    hops = Key("hops", "it's hops", "text", default="o'ne", of=("same_different",))
    store.commit("adam", [row(9, network="rnn", training="adam", hops="two"), row(10, task="x", training="gd")], [adam, hops])
    was = fetch(store.results, "SELECT depth, training, beta, hops, network FROM cells ORDER BY seed")
    depth, training, beta, hops_of, network = map(list, zip(*was, strict=True))
    assert depth == [7, None, 3, 1, 1, 1, 7, 2, 7, None, 7]
    assert training == ["sgd", "langevin", *["sgd"] * 7, "adam", "gd"]
    assert beta == [0.9, None, *[0.9] * 8, None]
    assert hops_of == [*["o'ne"] * 9, "two", None]
    assert network == ["relu2", "erf2", "mlp", "mlp", "mlp", "mlp", "cnn", "cnn", "cnn", "rnn", "relu2"]
    assert fetch(store.results, "SELECT count(*) FROM cells WHERE depth = 1 AND beta > 0.5") == [(3,)]
    alone = run(store.results, lambda c: c.execute("SELECT depth FROM cells WHERE seed = 3").fetchall(), of_cells([f"{3:020x}"]))
    assert alone == [(1,)]
    compact(store.files, now=True)
    assert fetch(store.results, "SELECT depth, training, beta, hops, network FROM cells ORDER BY seed") == was


def test_a_filled_text_selects_rows(store: Store) -> None:
    look = Key("look", "look", "text", "network", default="near", of=("mlp",))
    store.commit("mlp", [row(0, network="mlp", look="far"), row(1, network="mlp")], [look])
    assert fetch(store.results, "SELECT seed FROM cells WHERE look = 'far'") == [(0,)]
    assert fetch(store.results, "SELECT seed FROM cells WHERE look <> 'far'") == [(1,)]


def test_metrics_on_request_are_held_and_shown(store: Store) -> None:
    request, cell = MARGIN.request, "0" * 20
    assert request == "margin@1a2b"
    store.commit("first", [row(0, neurons=2), row(1)])
    assert store.statuses()[cell].extras == {"curves", "neurons"}
    store.commit("measured", [row(0, curves=0, margin=0.5, measured=[request], minute=1)], [MARGIN])
    again = [row(0, minute=2, measured=[], host="later"), row(0, "failed", measured=[request, "more"], minute=9)]
    store.commit("again", again)
    for _ in range(2):
        assert store.statuses()[cell] == ("ok", frozenset({"curves", "neurons", request}))
        assert store.statuses()["0" * 19 + "1"].extras == {"curves"}
        assert fetch(store.results, f"SELECT margin FROM cells WHERE cell_id = '{cell}'") == [(0.5,)]
        assert fetch(store.results, f"SELECT count(*) FROM neurons WHERE cell_id = '{cell}'") == [(2,)]
        assert fetch(store.results, f"SELECT count(*) FROM curves WHERE cell_id = '{cell}'") == [(3,)]
        compact(store.files, now=True)
    store.commit("both", [row(0, margin=0.7, measured=["rank", request], minute=3)], [MARGIN])
    assert store.statuses()[cell].extras == {"curves", "neurons", request, "rank"}
    assert fetch(store.results, f"SELECT margin FROM cells WHERE cell_id = '{cell}'") == [(0.7,)]


def test_held_tells_of_no_metric_that_the_views_do_not_show(store: Store) -> None:
    other = Metric("other", "other")
    store.commit("one", [row(0, margin=0.5, measured=["margin"])], [MARGIN])
    store.commit("two", [row(0, other=0.5, measured=["other"], minute=1)], [other])
    assert store.statuses()["0" * 20].extras == {"curves", "other"}
    assert fetch(store.results, "SELECT margin, other FROM cells") == [(None, 0.5)]


def test_metrics_of_evaluations_and_neurons_are_shown_beside_ours(store: Store) -> None:
    store.commit("plain", [row(0, neurons=2)])
    store.commit("p", [row(1, neurons=2, rank=[1, 2, 3], shift=[0.5, 1.5])], [RANK, SHIFT])
    compact(store.files, now=True)
    assert fetch(store.results, "SELECT step, rank FROM curves WHERE rank IS NOT NULL") == [(0, 1), (1000, 2), (2000, 3)]
    assert fetch(store.results, "SELECT neuron, readout, shift FROM neurons WHERE shift > 0") == [(0, 1.0, 0.5), (1, 1.0, 1.5)]
    assert fetch(store.results, "SELECT (SELECT count(*) FROM curves), (SELECT count(*) FROM neurons)") == [(6, 4)]
    assert not [name for name, *_ in fetch(store.results, "DESCRIBE cells") if ":" in name]


@pytest.mark.parametrize("value", [0.1, 1e300, float("inf"), float("-inf"), 3, True, "it's", -2.5e-7])
def test_a_literal_is_the_very_value(store: Store, value: float | str) -> None:
    assert fetch(store.results, f"SELECT {literal(value)}") == [(value,)]


def test_names_are_quoted_where_they_must_be() -> None:
    assert [quoted(name) for name in ("gamma", "order", "a b", 'a"b')] == ["gamma", '"order"', '"a b"', '"a""b"']
