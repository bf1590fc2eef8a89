"""Each cell has one row, whatever lies in the files: the views equal the plain window over all rows, however few rows they run it
on."""

import multiprocessing
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sweepkit.store import connections, database, distinct
from sweepkit.store.connections import close_kept
from sweepkit.store.database import BEST, BEST_CURVE, BEST_NEURONS, BEST_WEIGHTS, connect_to, fenced, of_cells
from sweepkit.store.schema import CURVES, HELD, NEURONS, PLAN_SCHEMA, parquet_bytes
from sweepkit.store.snapshot import take
from sweepkit.store.store import Store
from sweepkit.store.upkeep.compact import compact
from sweepkit.store.views import VIEWS, connect, fetch, run
from tests.store_rows import keys, row, rows

LISTS = ", ".join([*CURVES, *NEURONS, *HELD, "weights_file", "_file", "_row"])
PLAIN = {
    "cells": f"""SELECT * EXCLUDE ({LISTS}) REPLACE (finished_at AT TIME ZONE 'UTC' AS finished_at,
            coalesce(training, if(kappa IS NULL, 'sgd', 'langevin')) AS training,
            coalesce(network, 'relu2') AS network) FROM internal.rows
        QUALIFY row_number() OVER (PARTITION BY cell_id ORDER BY {BEST}) = 1""",
    "curves": f"""SELECT cell_id, unnest(curve_step), unnest(curve_train_loss), unnest(curve_train_acc), unnest(curve_test_acc),
                         unnest(curve_test_auc), unnest(curve_train_mse), unnest(curve_alignment_f), unnest(curve_test_mse),
                         unnest(curve_val_loss)
        FROM (FROM internal.rows QUALIFY row_number() OVER (PARTITION BY cell_id ORDER BY {BEST_CURVE}) = 1)""",
    "neurons": f"""SELECT cell_id, unnest(range(len(neuron_readout))), unnest(neuron_readout), unnest(neuron_alignment)
        FROM (FROM internal.rows QUALIFY row_number() OVER (PARTITION BY cell_id ORDER BY {BEST_NEURONS}) = 1)""",
    "internal.weights": f"""SELECT cell_id, weights_file FROM (
        FROM internal.rows QUALIFY row_number() OVER (PARTITION BY cell_id ORDER BY {BEST_WEIGHTS}) = 1)
        WHERE weights_file IS NOT NULL""",
    "plans": """SELECT DISTINCT sweep, cell_id FROM (FROM all_plans
        QUALIFY planned_at >= coalesce(max(planned_at) FILTER (whole) OVER (PARTITION BY sweep), planned_at))""",
}
"""The meaning of the views, in the plainest SQL."""


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path))


def assert_plain(store: Store) -> None:
    with connect(store.results) as connection:
        plans = [store.files.address(entry) for entry in store.files.entries("plans")]
        # An empty list of files is no table.
        connection.execute(f"CREATE VIEW all_plans AS FROM {f'read_parquet({plans})' if plans else 'internal.no_plans'}")
        for view in PLAIN:
            ours = connection.execute(f"FROM {view} ORDER BY ALL").fetchall()
            assert ours == connection.execute(f"FROM ({PLAIN[view]}) ORDER BY ALL").fetchall(), view
    for cell in ("0" * 20, "0" * 19 + "3"):  # by itself, from the files that hold it alone
        for view, columns in (("cells", "status, finished_at, pack_id, host"), ("curves", "*"), ("neurons", "*")):
            sql = f"SELECT {columns} FROM {view} WHERE cell_id = '{cell}' ORDER BY ALL"
            alone = run(store.results, lambda connection, sql=sql: connection.execute(sql).fetchall(), of_cells([cell]))
            assert alone == fetch(store.results, sql), view


ROW = st.fixed_dictionaries({
    "cell": st.integers(0, 5), "status": st.sampled_from(["ok", "diverged", "failed"]), "minute": st.integers(0, 2),
    "curves": st.integers(0, 2), "neurons": st.integers(0, 2),
    "weights_file": st.sampled_from([None, "weights/one", "weights/other"]), "training": st.sampled_from([None, "adam"]),
    "kappa": st.sampled_from([None, 0.5]), "measured": st.sampled_from([None, None, [], ["a"], ["a", "b@1"]]),
})  # fmt: skip
PACK = st.tuples(st.lists(ROW, min_size=1, max_size=4), st.booleans(), st.sampled_from([{}, {"hops": 3}, {"colour": "red"}]))
PLAN = st.tuples(st.sampled_from(["a", "b"]), st.lists(st.integers(0, 5), max_size=4), st.booleans())
DEED = st.one_of(PACK, PACK, PACK, PLAN, st.sampled_from(["compact", "compact now"]))


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(deeds=st.lists(DEED, max_size=9))
def test_views_are_the_plain_window(tmp_path_factory: pytest.TempPathFactory, deeds: list[Any]) -> None:
    store = Store(str(tmp_path_factory.mktemp("results")))
    for i, deed in enumerate(deeds):
        if isinstance(deed, str):
            compact(store.files, now=deed.endswith("now"))
        elif isinstance(deed[0], str):
            store.write_plan(deed[0], [f"{cell:020x}" for cell in deed[1]], whole=deed[2])
        else:
            found, failed, more = deed
            made = [row(**one, host=f"h{i}.{k}", **more) for k, one in enumerate(found)]
            store.commit(f"p{i % 3}", made, keys(hops="whole", colour="text"), failed=failed)
        if i % 3 == 2:
            assert_plain(store)
    assert_plain(store)


def test_a_store_of_distinct_cells_has_no_window(store: Store) -> None:
    store.commit("p", rows(0, 3))
    store.commit("q", rows(10, 3))
    store.write_plan("eq3", ["a", "b"])
    for view in VIEWS.keys() - {"sweeps"}:  # which counts the networks of each
        ((_, plan),) = fetch(store.results, f"EXPLAIN FROM {view}")
        assert not any(word in plan.lower() for word in ("window", "join", "group by", "distinct")), plan
    store.commit("r", rows(10, 1, minute=1))
    ((_, plan),) = fetch(store.results, "EXPLAIN FROM cells")
    assert "join" in plan.lower()
    assert "window" not in plan.lower()


def test_equal_hashes_are_not_equal_cells(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Were a hash that two cells share taken for one cell, a result would be lost."""
    store.commit("p", rows(0, 3))
    store.commit("q", rows(2, 3))
    monkeypatch.setattr(database, "repeated", lambda found: (np.unique(np.concatenate(found)), list(range(len(found)))))
    assert_plain(store)


def test_only_new_files_are_asked_for_their_ids(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.commit("p", rows(0, 3))
    connect(store.results).close()
    asked: list[int] = []
    scan = distinct.scan
    monkeypatch.setattr(distinct, "scan", lambda files, group: asked.append(len(group)) or scan(files, group))  # type: ignore[func-returns-value]
    store.commit("q", rows(10, 3))
    connect(store.results).close()
    connect(store.results).close()
    assert asked == [1]
    compact(store.files, now=True)
    connect(store.results).close()
    assert len([root for root, _ in distinct._hashes if root == store.results]) == 1  # those of deleted files are gone


def test_plans_of_another_writer(store: Store) -> None:
    """Several sweeps, times and even a NULL in one file: the footer does not tell, the rows do."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    for i, whole in enumerate([True, False]):
        times = [start + timedelta(hours=i), start + timedelta(hours=2 * i), None, start]
        columns = [["a", "b", "a", "b"], ["x", "x", "y", f"z{i}"], times, [whole, not whole, whole, None]]
        store.files.write(f"plans/other{i}.parquet", parquet_bytes(pa.table(columns, schema=PLAN_SCHEMA)))
    store.write_plan("b", ["x", "w"])
    assert_plain(store)


def test_a_plan_file_that_says_a_cell_twice(store: Store) -> None:
    columns = [["a"] * 3, ["x", "y", "x"], [datetime(2026, 1, 1, tzinfo=UTC)] * 3, [True] * 3]
    store.files.write("plans/a.0.parquet", parquet_bytes(pa.table(columns, schema=PLAN_SCHEMA)))
    assert_plain(store)
    assert fetch(store.results, "SELECT count(*) FROM plans") == [(2,)]


def test_one_database_as_long_as_nothing_changes(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    monkeypatch.setattr(connections, "connect_to", lambda *of: made.append(connect_to(*of)) or made[-1])  # type: ignore[func-returns-value]
    store.commit("p", rows(0, 3))
    wrong: list[object] = []

    def ask() -> None:
        for _ in range(20):
            found = fetch(store.results, "SELECT count(*), current_setting('parquet_metadata_cache') FROM cells")
            if found != [(3, True)]:  # settings too are those of every thread
                wrong.append(found)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (wrong, len(made)) == ([], 1)
    store.commit("q", rows(10, 3))
    assert fetch(store.results, "SELECT count(*) FROM cells") == [(6,)]
    assert len(made) == 2
    close_kept()
    assert fetch(store.results, "SELECT count(*) FROM cells") == [(6,)]
    assert len(made) == 3


def test_who_reads_still_reads_when_the_database_is_made_anew(store: Store) -> None:
    store.commit("p", rows(0, 3))

    def work(connection: Any) -> list[Any]:
        store.commit("q", rows(10, 3))
        assert fetch(store.results, "SELECT count(*) FROM cells") == [(6,)]
        return connection.execute("SELECT count(*) FROM cells").fetchall()

    assert run(store.results, work) == [(3,)]


def test_cells_of_many_files_are_copied_once_asked_again_and_are_the_same(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MANY_FILES", 3)
    copied: list[object] = []
    copy = connections._copy_cells
    monkeypatch.setattr(connections, "_copy_cells", lambda connection: copied.append(connection) or copy(connection))  # type: ignore[func-returns-value]
    for i in range(4):
        store.commit(f"p{i}", rows(10 * i, 12))  # two cells of each are in the next as well
    everything = "SELECT * FROM cells ORDER BY cell_id"
    first, threads = fetch(store.results, everything), fetch(store.results, "SELECT current_setting('threads')")
    assert len(copied) == 1
    assert fetch(store.results, everything) == first and len(first) == 42
    assert fetch(store.results, "SELECT current_setting('threads')") == threads and len(copied) == 1
    assert fetch(store.results, "SELECT count(*) FROM curves")
    store.commit("late", rows(100, 5))
    assert [_count(store.results) for _ in range(2)] == [47, 47]
    assert len(copied) == 2
    monkeypatch.setattr(connections, "MOST_COPIED", 10)
    store.commit("later", rows(200, 5))
    assert [_count(store.results) for _ in range(2)] == [52, 52]
    assert len(copied) == 2


def _count(results: str) -> int:
    return int(fetch(results, "SELECT count(*) FROM cells")[0][0])


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_opens_its_own(store: Store) -> None:
    store.commit("p", rows(0, 3))
    assert _count(store.results) == 3
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply_async(_count, (store.results,)).get() == 3


def test_a_fenced_connection_has_the_views(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "it's {1}! ü"))
    store.commit("p", rows(0, 3, neurons=2))
    store.commit("q", rows(2, 3, minute=2))
    store.write_plan("eq3", ["a"])
    with fenced(store.files, take(store.files)) as connection:
        assert [connection.execute(f"SELECT count(*) FROM {view}").fetchall()[0][0] for view in VIEWS] == [5, 15, 6, 0, 0, 1, 1]


def test_a_question_about_one_cell_reads_its_files_alone(store: Store) -> None:
    for pack in range(4):
        store.commit(f"pack{pack}", rows(2 * pack, 2))
    (cell,) = (path for (path,) in fetch(store.results, "SELECT cell_id FROM cells ORDER BY cell_id LIMIT 1 OFFSET 5"))
    known = len(distinct._hashes)

    def files_read(connection: Any) -> int:
        return int(connection.execute("SELECT count(DISTINCT _file) FROM internal.rows").fetchone()[0])

    assert run(store.results, files_read, of_cells([cell])) == 1
    assert run(store.results, files_read, of_cells(["nobody"])) == 0
    assert len(distinct._hashes) == known  # the other files' are kept for the next question
