"""Torn, empty, foreign and rotten files: readers leave them out, `check` names them."""

import duckdb
import pyarrow as pa
import pytest

from sweepkit.store import views
from sweepkit.store.leases import Lease
from sweepkit.store.schema import parquet_bytes, table_of
from sweepkit.store.snapshot import named
from sweepkit.store.store import Store
from sweepkit.store.upkeep.check import check
from sweepkit.store.views import fetch
from tests.store_rows import flip_bits, names, row, rows
from tests.sweepkit.store.conftest import Age


@pytest.fixture
def store(results: str) -> Store:
    store = Store(results)
    store.commit("good", rows(0, 3))
    return store


def torn() -> bytes:
    whole = parquet_bytes(table_of(rows(10, 3)))
    return whole[: len(whole) // 2]


def headless() -> bytes:
    return parquet_bytes(table_of(rows(10, 3)))[200:]


def another_table() -> bytes:
    return parquet_bytes(pa.table({"x": [1, 2]}))


def another_type() -> bytes:
    table = table_of(rows(10, 3))
    return parquet_bytes(table.set_column(table.column_names.index("L"), "L", pa.array(["a", "b", "c"])))


def nested_key() -> bytes:
    return parquet_bytes(table_of(rows(10, 1)).append_column("mine", pa.array([[1, 2]])))


BAD = {
    "empty": (bytes, "empty file"),
    "torn": (torn, "torn or not Parquet"),
    "text": (lambda: b"hello, I am not Parquet", "torn or not Parquet"),
    "another table": (another_table, "foreign: no column cell_id"),
    "another type": (another_type, "foreign: column L is string, not int64"),
    "nested key": (nested_key, "foreign: column mine is list"),
}


@pytest.mark.parametrize("folder", ["packs", "failed", "compacted"])
@pytest.mark.parametrize("kind", BAD)
def test_bad_file_is_left_out_and_named(store: Store, folder: str, kind: str) -> None:
    make, problem = BAD[kind]
    store.files.write(f"{folder}/bad.parquet", make())
    assert fetch(store.results, "SELECT count(*) FROM cells") == [(3,)]
    assert len(store.statuses()) == 3
    report = check(store.files)
    assert list(report.bad) == [f"{folder}/bad.parquet"]
    assert problem in report.bad[f"{folder}/bad.parquet"]


@pytest.mark.parametrize("name", ["mine.parquet", "mine-0123456789ab.parquet"])
def test_a_file_of_another_program_is_left_out_and_named(store: Store, name: str) -> None:
    """Such as a table that somebody took from the store, changed and put back: its columns are those of older files."""
    older = table_of([row(10)]).replace_schema_metadata(None)
    plain = pa.table(older.columns, names=older.column_names)
    store.files.write(named("packs", "older", parquet_bytes(plain)), parquet_bytes(plain))
    changed = plain.set_column(plain.column_names.index("cell_id"), "cell_id", pa.array([f"{11:020x}"]))
    store.files.write(f"packs/{name}", parquet_bytes(changed))
    assert fetch(store.results, "SELECT count(*) FROM cells") == [(4,)]
    assert list(check(store.files).bad) == [f"packs/{name}"]
    assert "foreign: another program has written it" in check(store.files).bad[f"packs/{name}"]


def test_bad_plan_is_left_out(store: Store) -> None:
    store.write_plan("eq3", ["a"])
    store.files.write("plans/bad.parquet", b"PAR1")
    store.files.write("plans/foreign.parquet", another_table())
    assert fetch(store.results, "SELECT * FROM plans") == [("eq3", "a")]
    assert list(check(store.files).bad) == ["plans/bad.parquet", "plans/foreign.parquet"]


def test_other_files_are_named_too(store: Store) -> None:
    store.files.write("packs/notes.txt", b"mine")
    store.files.write("leases/x.json", b"{")
    assert fetch(store.results, "SELECT count(*) FROM cells") == [(3,)]
    assert check(store.files).bad == {"packs/notes.txt": "foreign: not a .parquet file", "leases/x.json": "not a lease"}


def test_head_cut_off_is_found_when_it_breaks_a_query(store: Store) -> None:
    store.files.write("packs/bad.parquet", headless())  # its footer is whole
    assert fetch(store.results, "SELECT count(*), sum(L) > 0 FROM cells") == [(3, True)]
    assert "flipped bits" in check(store.files).bad["packs/bad.parquet"]


@pytest.mark.parametrize("where", [0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.999])
def test_flipped_bits_anywhere(store: Store, where: float) -> None:
    path = store.commit("rotten", rows(10, 50, neurons=20))
    flip_bits(store.files, path, where)
    # A query either meets the damage and leaves the file out, or has not touched it; it never ends in an error.
    (count,) = fetch(store.results, "SELECT count(*) FROM (SELECT * FROM cells)")[0]
    assert count in (3, 53)
    assert list(check(store.files).bad) == [path]


def test_file_that_rots_after_it_was_seen(store: Store) -> None:
    path = store.commit("p", rows(10, 3))
    assert len(store.statuses()) == 6
    store.files.write(path, torn())
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


def test_leftovers_are_stale_after_an_hour(store: Store, age: Age) -> None:
    for name, age_s in (("old", 7200), ("new", 60)):
        store.files.write(f"packs/.{name}.inprogress", b"half")
        age(store, f"packs/.{name}.inprogress", age_s)
    lease = Lease(store, "gone")
    age(store, "leases/gone.json", 10**9)
    stale = ["leases/gone.json", "packs/.old.inprogress"]
    assert (check(store.files).stale, check(store.files).bad) == (stale, {})
    assert check(store.files, clean=True).removed == stale
    assert check(store.files).stale == []
    left = [entry.path for entry in store.files.entries("packs", hidden=True)]
    assert left == ["packs/.new.inprogress", *names(store.results)]
    lease.release()


def test_older_files_with_fewer_columns_are_read(store: Store) -> None:
    table = table_of([row(10)]).drop_columns(["host", "activation_change"])
    store.files.write("packs/older.parquet", parquet_bytes(table))
    assert fetch(store.results, "SELECT count(*), count(host) FROM cells") == [(4, 0)]
