"""The contents of the views: the design's columns, one row per cell, the best of several."""

from datetime import datetime
from pathlib import Path

import duckdb
import pytest

from sweepkit.store.store import Store
from sweepkit.store.views import connect, fetch, once
from tests.store_rows import keys, row, rows
from trainables.metrics import requested_metric

KEYS = "task L d width gamma gamma_label sigma2 P seed steps base_lr"
MEASURES = (
    "best_test_acc final_test_acc final_train_acc final_train_loss readout_ratio alignment_pos alignment_neg activation_change"
)
ORIGIN = "status reason engine device seconds pack_id finished_at git_sha science_version"
DESIGN = {"cell_id", *KEYS.split(), *MEASURES.split(), *ORIGIN.split()}


def columns(store: Store, view: str) -> list[str]:
    return [name for name, *_ in fetch(store.results, f"DESCRIBE {view}")]


def test_missing_directory_has_empty_views_and_stays_missing(store: Store) -> None:
    for view in ("cells", "curves", "neurons", "plans"):
        assert fetch(store.results, f"SELECT count(*) FROM {view}") == [(0,)]
    assert fetch(store.results, "SELECT avg(best_test_acc) FROM cells WHERE L > 2 AND task = 'x'") == [(None,)]
    assert store.statuses() == {}
    assert not store.files.exists()


@pytest.mark.parametrize("filled", [False, True])
def test_columns_are_the_designs(store: Store, filled: bool) -> None:
    if filled:
        store.commit("p", rows(0, 2, neurons=4))
    assert set(columns(store, "cells")) >= DESIGN
    assert not [name for name in columns(store, "cells") if name.startswith(("curve", "neuron", "holds", "_"))]
    # Of networks at equilibrium, of real targets, and of tasks with validation.
    ours = ["chain_train_mse", "chain_alignment_f", "eval_test_mse", "val_loss"]
    assert columns(store, "curves") == ["cell_id", "step", "train_loss", "train_acc", "test_acc", "test_auc", *ours]
    assert columns(store, "neurons") == ["cell_id", "neuron", "readout", "alignment"]
    assert columns(store, "plans") == ["sweep", "cell_id"]
    assert columns(store, "sweeps") == ["sweep", "networks", "asked_at", "note", "tags", "command", "grid"]
    there = ["cells", "curves", "neurons", "outputs", "plans", "spectra", "sweeps"]
    assert fetch(store.results, "SHOW TABLES") == [(name,) for name in there]
    assert columns(store, "spectra") == ["cell_id", "eigenfunction"]  # further ones are asked for
    assert columns(store, "outputs") == ["cell_id", "example"]


def test_lists_unnest(store: Store) -> None:
    store.commit("p", [row(0, curves=2, neurons=3), row(1, curves=1), row(2, curves=0)])
    by_cell = "SELECT cell_id[-1:], count(*) FROM {} GROUP BY 1 ORDER BY 1"
    assert fetch(store.results, by_cell.format("curves")) == [("0", 2), ("1", 1)]
    assert fetch(store.results, by_cell.format("neurons")) == [("0", 3)]
    assert fetch(store.results, "SELECT step, test_acc FROM curves WHERE cell_id[-1:] = '0' ORDER BY step") == [
        (0, 0.5),
        (1000, 0.5),
    ]
    assert fetch(store.results, "SELECT list(neuron ORDER BY neuron), min(readout) FROM neurons") == [([0, 1, 2], 1.0)]


def test_times_are_plain_utc(store: Store) -> None:
    store.commit("p", [row(0, minute=5)])
    assert fetch(store.results, "SELECT finished_at FROM cells") == [(datetime(2026, 1, 1, 0, 5),)]


# Of each pair the first must win, whichever was committed first.
PREFERENCES = {
    "ok over diverged": (row(0), row(0, "diverged", minute=9, neurons=2)),
    "diverged over failed": (row(0, "diverged"), row(0, "failed", minute=9)),
    "neurons over later": (row(0, neurons=2), row(0, minute=9)),
    "curves over later": (row(0), row(0, minute=9, curves=0)),
    "later over earlier": (row(0, minute=9), row(0)),
    "any time over none": (row(0), row(0, finished_at=None)),
}


@pytest.mark.parametrize("name", PREFERENCES)
@pytest.mark.parametrize("turned", [False, True])
def test_preference(store: Store, name: str, turned: bool) -> None:
    better, worse = ({**PREFERENCES[name][i], "host": host} for i, host in enumerate(("better", "worse")))
    for i, one in enumerate((worse, better) if turned else (better, worse)):
        store.commit(f"p{i}", [one])
    assert fetch(store.results, "SELECT host FROM cells") == [("better",)]
    assert fetch(store.results, "SELECT count(*), count(DISTINCT step) FROM curves") == [(3, 3)]
    n_neurons = len(better.get("neuron_readout", []))
    assert fetch(store.results, "SELECT count(*) FROM neurons") == [(n_neurons,)]
    assert store.statuses()["0" * 20].status == better["status"]


def test_curves_and_neurons_may_come_from_two_rows(store: Store) -> None:
    # Asked for at different times; neither must hide the other, or planning would never be satisfied.
    store.commit("p", [row(0, curves=0, neurons=5)])
    store.commit("q", [row(0, curves=4, minute=9)])
    assert fetch(store.results, "SELECT (SELECT count(*) FROM cells), (SELECT count(*) FROM curves)") == [(1, 4)]
    assert fetch(store.results, "SELECT count(*) FROM neurons") == [(5,)]
    assert store.statuses() == {"0" * 20: ("ok", frozenset({"curves", "neurons"}))}


def test_users_keys_appear(store: Store) -> None:
    store.commit("p", rows(0, 2))
    store.commit("q", [row(5, hops=3)], keys(hops="whole"))
    store.commit("r", [row(6, hops=2.5, colour="red")], keys(hops="number", colour="text"))
    assert fetch(store.results, "SELECT hops, colour FROM cells ORDER BY seed") == [
        (None, None), (None, None), (3.0, None), (2.5, "red"),
    ]  # fmt: skip


def test_a_connection_sees_its_moment(store: Store) -> None:
    store.commit("p", [row(0)])
    connection = connect(store.results)
    store.commit("q", [row(1)])
    assert connection.execute("SELECT count(*) FROM cells").fetchall() == [(1,)]
    assert connection.cursor().execute("SELECT count(*) FROM cells").fetchall() == [(1,)]
    assert fetch(store.results, "SELECT count(*) FROM cells") == [(2,)]


@pytest.mark.parametrize("name", ["it's", "run{1}!", "a b ü", "%s{x}"])
def test_any_directory_name_will_do(tmp_path: Path, name: str) -> None:
    store = Store(str(tmp_path / name))
    store.commit("p", [row(0)])
    store.commit("q", [row(1)])
    assert len(store.statuses()) == 2


def planned(store: Store) -> list[tuple[str, str]]:
    return [(sweep, cell) for sweep, cell in fetch(store.results, "SELECT * FROM plans ORDER BY ALL")]


def test_plans_add_up(store: Store) -> None:
    store.write_plan("eq3", ["a", "b", "a"])
    store.write_plan("eq3", ["b", "c"])
    store.write_plan("other/sweep", ["a"])
    assert planned(store) == [("eq3", "a"), ("eq3", "b"), ("eq3", "c"), ("other/sweep", "a")]


def test_a_whole_plan_replaces(store: Store) -> None:
    store.write_plan("eq3", ["a", "b"], whole=True)
    store.write_plan("eq3", ["c"])
    store.write_plan("other", ["a"])
    store.write_plan("eq3", ["b", "d"], whole=True)
    assert planned(store) == [("eq3", "b"), ("eq3", "d"), ("other", "a")]
    store.write_plan("eq3", ["d"])  # a part of it again takes nothing away
    assert planned(store) == [("eq3", "b"), ("eq3", "d"), ("other", "a")]
    store.write_plan("eq3", ["a", "b"], whole=True)  # back to the first
    assert planned(store) == [("eq3", "a"), ("eq3", "b"), ("other", "a")]


def test_once_asks_anew_only_when_the_directory_has_changed(store: Store) -> None:
    asked = []

    def n_cells(connection: duckdb.DuckDBPyConnection) -> int:
        asked.append(1)
        return connection.execute("SELECT count(*) FROM cells").fetchall()[0][0]

    store.commit("p", rows(0, 2))
    assert [once(store.results, n_cells) for _ in range(3)] == [2, 2, 2] and len(asked) == 1
    store.commit("q", rows(2, 3))
    assert [once(store.results, n_cells) for _ in range(2)] == [5, 5] and len(asked) == 2


def test_outputs_stand_beside_their_examples(store: Store) -> None:
    declared = [requested_metric("output").metric]
    store.commit("p", [row(0, output=[0.5, -1.0, 2.0], measured=["output"]), row(1)], declared)
    assert fetch(store.results, "SELECT cell_id[-1:], example, output FROM outputs ORDER BY example") == [
        ("0", 1, 0.5), ("0", 2, -1.0), ("0", 3, 2.0),
    ]  # fmt: skip
    assert "output" not in columns(store, "cells")
