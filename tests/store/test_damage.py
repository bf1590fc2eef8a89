"""Torn, empty, foreign and rotten files: readers leave them out, `check` names them."""

import os
import time
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from store import views
from store.check import check
from store.leases import Lease
from store.schema import parquet_bytes, table_of
from store.store import Store
from store.views import fetch
from tests.store_rows import flip_bits, names, row, rows


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(str(tmp_path))
    store.commit("good", rows(0, 3))
    return store


def torn(path: Path) -> None:
    whole = parquet_bytes(table_of(rows(10, 3)))
    path.write_bytes(whole[: len(whole) // 2])


def headless(path: Path) -> None:
    path.write_bytes(parquet_bytes(table_of(rows(10, 3)))[200:])


def another_table(path: Path) -> None:
    pq.write_table(pa.table({"x": [1, 2]}), path)


def another_type(path: Path) -> None:
    table = table_of(rows(10, 3))
    pq.write_table(table.set_column(table.column_names.index("L"), "L", pa.array(["a", "b", "c"])), path)


def nested_key(path: Path) -> None:
    pq.write_table(table_of(rows(10, 1)).append_column("mine", pa.array([[1, 2]])), path)


BAD = {
    "empty": (Path.touch, "empty file"),
    "torn": (torn, "torn or not Parquet"),
    "text": (lambda path: path.write_text("hello, I am not Parquet"), "torn or not Parquet"),
    "another table": (another_table, "foreign: no column cell_id"),
    "another type": (another_type, "foreign: column L is string, not int64"),
    "nested key": (nested_key, "foreign: column mine is list"),
}


@pytest.mark.parametrize("folder", ["packs", "failed", "compacted"])
@pytest.mark.parametrize("kind", BAD)
def test_bad_file_is_left_out_and_named(store: Store, folder: str, kind: str) -> None:
    make, problem = BAD[kind]
    path = Path(store.results, folder, "bad.parquet")
    path.parent.mkdir(exist_ok=True)
    make(path)
    assert fetch(store.results, "SELECT count(*) FROM cells") == [(3,)]
    assert len(store.statuses()) == 3
    report = check(store.files)
    assert list(report.bad) == [f"{folder}/bad.parquet"]
    assert problem in report.bad[f"{folder}/bad.parquet"]


def test_bad_plan_is_left_out(store: Store) -> None:
    store.write_plan("eq3", ["a"])
    Path(store.results, "plans", "bad.parquet").write_bytes(b"PAR1")
    another_table(Path(store.results, "plans", "foreign.parquet"))
    assert fetch(store.results, "SELECT * FROM plans") == [("eq3", "a")]
    assert list(check(store.files).bad) == ["plans/bad.parquet", "plans/foreign.parquet"]


def test_other_files_are_named_too(store: Store) -> None:
    Path(store.results, "packs", "notes.txt").write_text("mine")
    Path(store.results, "leases").mkdir()
    Path(store.results, "leases", "x.json").write_text("{")
    assert fetch(store.results, "SELECT count(*) FROM cells") == [(3,)]
    assert check(store.files).bad == {"packs/notes.txt": "foreign: not a .parquet file", "leases/x.json": "not a lease"}


def test_head_cut_off_is_found_when_it_breaks_a_query(store: Store) -> None:
    headless(Path(store.results, "packs", "bad.parquet"))  # its footer is whole
    assert fetch(store.results, "SELECT count(*), sum(L) > 0 FROM cells") == [(3, True)]
    assert "flipped bits" in check(store.files).bad["packs/bad.parquet"]


@pytest.mark.parametrize("where", [0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.999])
def test_flipped_bits_anywhere(store: Store, where: float) -> None:
    path = store.commit("rotten", rows(10, 50, neurons=20))
    flip_bits(Path(store.results, path), where)
    # A query either meets the damage and leaves the file out, or has not touched it; it never ends in an error.
    (count,) = fetch(store.results, "SELECT count(*) FROM (SELECT * FROM cells)")[0]
    assert count in (3, 53)
    assert list(check(store.files).bad) == [path]


def test_file_that_rots_after_it_was_seen(store: Store) -> None:
    path = store.commit("p", rows(10, 3))
    assert len(store.statuses()) == 6
    torn(Path(store.results, path))
    assert len(store.statuses()) == 3


def test_a_wrong_query_blames_no_file(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "verify", None)  # reading all files would keep the user waiting
    with pytest.raises(duckdb.BinderException, match="nonsense"):
        fetch(store.results, "SELECT nonsense FROM cells")
    assert len(store.statuses()) == 3


def test_check_of_a_sound_store_counts(store: Store) -> None:
    store.write_plan("eq3", ["a"])
    steps: list[tuple[int, int]] = []
    report = check(store.files, seen=lambda done, total: steps.append((done, total)))
    assert (report.n_files, report.bad, report.stale) == (2, {}, [])
    assert steps == [(0, 2), (1, 2)]


def test_leftovers_are_stale_after_an_hour(store: Store) -> None:
    packs = Path(store.results, "packs")
    for name, age_s in (("old", 7200), ("new", 60)):
        left = packs / f".{name}.inprogress"
        left.write_bytes(b"half")
        os.utime(left, (time.time() - age_s,) * 2)
    lease = Lease(store, "gone")
    os.utime(Path(store.results, "leases", "gone.json"), (0, 0))
    stale = ["leases/gone.json", "packs/.old.inprogress"]
    assert (check(store.files).stale, check(store.files).bad) == (stale, {})
    assert check(store.files, clean=True).removed == stale
    assert check(store.files).stale == []
    assert sorted(os.listdir(packs)) == [".new.inprogress", Path(names(store.results)[0]).name]
    lease.release()


def test_older_files_with_fewer_columns_are_read(store: Store) -> None:
    table = table_of([row(10)]).drop_columns(["host", "activation_change"])
    store.files.write("packs/older.parquet", parquet_bytes(table))
    assert fetch(store.results, "SELECT count(*), count(host) FROM cells") == [(4, 0)]
