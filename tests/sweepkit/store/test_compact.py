"""Compaction changes nothing that a reader can see, whenever it runs, is killed, or runs twice."""

import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from itertools import count

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sweepkit.store.files import Entry, Files, ResultsError
from sweepkit.store.snapshot import take
from sweepkit.store.store import Store
from sweepkit.store.upkeep import compact as module
from sweepkit.store.upkeep.check import check
from sweepkit.store.upkeep.compact import compact
from sweepkit.store.views import VIEWS, connect, fetch
from tests.store_rows import flip_bits, keys, names, row, rows
from tests.sweepkit.store.conftest import Age

COMPACTOR = """
import sys
from sweepkit.store.upkeep.compact import compact
from sweepkit.store.files import open_files
print("ready", flush=True)
for _ in range(int(sys.argv[2])):
    compact(open_files(sys.argv[1]), now=True)
"""


def contents(store: Store) -> dict[str, list[tuple[object, ...]]]:
    with connect(store.results) as connection:
        return {view: connection.execute(f"FROM {view} ORDER BY ALL").fetchall() for view in VIEWS}


def fill(store: Store) -> None:
    for i in range(12):
        store.commit(f"p{i}", rows(10 * i, 10, neurons=4 * (i % 2)))
    store.commit("again", rows(0, 10, minute=5))  # later, holding as much
    store.commit("curveless", rows(20, 10, minute=5, curves=0, neurons=4))  # neurons where the first has none
    store.commit("bad", [row(3, "failed", minute=9), row(500, "failed", curves=0)], failed=True)
    store.commit("diverged", [row(4, "diverged", minute=9), row(501, "diverged", neurons=2)])
    store.commit("mine", [row(600, hops=3), row(601, hops=4)], keys(hops="whole"))
    store.write_plan("eq3", ["a", "b"])


def test_nothing_changes_for_readers(store: Store) -> None:
    fill(store)
    before, held = contents(store), store.statuses()
    assert len(before["cells"]) == 124
    done = compact(store.files)
    assert done.merged == 17
    assert len(done.written) == 2  # the pack with a user's key has columns of its own
    assert [file.entry.path for file in take(store.files).rows] == sorted(done.written)
    assert (contents(store), store.statuses()) == (before, held)
    assert check(store.files).bad == {}


def test_twice_is_once(store: Store) -> None:
    fill(store)
    compact(store.files)
    files = names(store.results)
    again = compact(store.files)
    assert (again.merged, again.written, again.deleted) == (0, [], [])
    assert names(store.results) == files


def test_merged_files_go_later_or_now(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(store)
    before = contents(store)
    first = compact(store.files)
    assert len(first.waiting) == 17
    monkeypatch.setattr(module, "GRACE_S", 0.0)
    second = compact(store.files)
    assert (sorted(second.deleted), second.waiting) == (sorted(first.waiting), [])
    assert names(store.results) == sorted(first.written)
    assert contents(store) == before
    store.commit("new", rows(1000, 2))
    third = compact(store.files, now=True)
    assert third.merged == 2  # the new pack and the small compacted file
    assert len(third.deleted) == 2
    assert len(fetch(store.results, "FROM cells")) == 126


def test_files_stay_after_they_are_merged_however_old_they_are(store: Store, age: Age) -> None:
    """A reader may have listed them just before."""
    fill(store)
    for entry in store.files.entries("packs"):
        age(store, entry.path, 10 * module.GRACE_S)
    done = compact(store.files)
    assert done.deleted == [] and len(done.waiting) == 17
    for path in done.written:
        age(store, path, 2 * module.GRACE_S)
    assert sorted(compact(store.files).deleted) == sorted(done.waiting)


def test_compacted_files_are_sorted_and_deduplicated(store: Store) -> None:
    for i in range(3):
        store.commit(f"p{i}", rows(0, 30, minute=i))
    (path,) = compact(store.files).written
    table = pq.ParquetFile(pa.BufferReader(store.files.read(path))).read()
    keys = [(r["L"], r["seed"]) for r in table.select(["L", "seed"]).to_pylist()]
    assert keys == sorted(keys)
    assert len(keys) == 30


def test_large_files_are_left_alone_and_it_ends(store: Store) -> None:
    for i in range(20):
        noise = random.Random(i)  # or it would compress to nothing
        for one in (found := rows(10 * i, 10, neurons=100)):
            one["neuron_readout"] = [noise.random() for _ in range(100)]
        store.commit(f"p{i}", found)
    sizes = [entry.size for entry in store.files.entries("packs")]
    target = 3 * max(sizes)
    done = compact(store.files, now=True, target_bytes=target)
    assert len(done.written) > 1
    assert len(store.statuses()) == 200
    assert compact(store.files, now=True, target_bytes=target).written == []


def test_recommit_after_compaction(store: Store) -> None:
    store.commit("p", rows(0, 5))
    store.commit("q", rows(10, 5))
    compact(store.files, now=True)
    store.commit("p", rows(0, 5))  # the very same bytes
    store.commit("p", rows(0, 5, minute=3, host="later"))
    assert fetch(store.results, "SELECT count(*), count(host) FROM cells") == [(10, 5)]
    compact(store.files, now=True)
    assert fetch(store.results, "SELECT count(*), count(host) FROM cells") == [(10, 5)]
    assert len(names(store.results)) == 1


def test_damaged_pack_is_not_copied(store: Store) -> None:
    path = store.commit("rotten", rows(100, 50, neurons=20))
    store.commit("p", rows(0, 5))
    flip_bits(store.files, path, 0.5)
    done = compact(store.files, now=True)
    assert list(done.bad) == [path]
    assert len(store.statuses()) == 5
    assert path in names(store.results)  # kept for whoever wants to rescue it


@pytest.mark.parametrize("where", [0.1, 0.3, 0.6])
def test_damaged_compacted_file_keeps_its_sources(store: Store, where: float) -> None:
    fill(store)
    before = contents(store)
    written = compact(store.files).written
    for path in written:
        flip_bits(store.files, path, where)
    done = compact(store.files, now=True)
    assert set(done.bad) == set(written)
    assert contents(store) == before


def test_torn_compacted_file_is_as_if_never_written(store: Store) -> None:
    fill(store)
    before = contents(store)
    for path in compact(store.files).written:
        data = store.files.read(path)
        store.files.write(path, data[: len(data) // 2])
    assert contents(store) == before


def test_crash_at_each_step_loses_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(store)
    before = contents(store)

    def crash(*_: object) -> None:
        raise ResultsError("no space")

    with monkeypatch.context() as patch, pytest.raises(ResultsError):
        patch.setattr(type(store.files), "write", crash)
        compact(store.files)
    assert contents(store) == before
    deleted: list[str] = []
    delete = type(store.files).delete

    def crash_at_third(self: object, path: str) -> None:
        deleted.append(path)
        if len(deleted) == 3:
            raise ResultsError("killed")
        delete(store.files, path)

    with monkeypatch.context() as patch, pytest.raises(ResultsError):
        patch.setattr(type(store.files), "delete", crash_at_third)
        compact(store.files, now=True)
    assert contents(store) == before
    compact(store.files, now=True)
    assert contents(store) == before


def test_a_compaction_between_any_two_listings_of_a_reader_hides_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = type(store.files).entries
    for moment in range(4):  # packs, failed packs, and twice the compacted files
        for i in range(2):
            store.commit(f"p{moment}-{i}", rows(100 * moment + 10 * i, 10))
        calls = count()

        def listed(
            files: Files, folder: str, hidden: bool = False, calls: Iterator[int] = calls, moment: int = moment
        ) -> list[Entry]:
            if next(calls) == moment:
                compact(store.files, now=True)
            return entries(files, folder, hidden)

        with monkeypatch.context() as patch:
            patch.setattr(type(store.files), "entries", listed)
            assert sum(file.n_rows for file in take(store.files).rows) == 20 * (moment + 1)


def test_never_a_wrong_count_beside_writers_and_compactors(store: Store) -> None:
    """Readers in threads, two compacting processes that delete at once, a writer: counts only grow, as committed."""
    store.commit("p0", rows(0, 10))
    compactors = [
        subprocess.Popen([sys.executable, "-c", COMPACTOR, store.results, "100000"], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for process in compactors:
        assert process.stdout is not None
        process.stdout.readline()
    committed, wrong, reads, stop = [1], [], [0], threading.Event()

    def read() -> None:
        try:
            while not stop.is_set():
                least = committed[0]
                count, distinct, curves = fetch(
                    store.results,
                    "SELECT count(*), count(DISTINCT cell_id), (SELECT count(*) FROM curves) FROM cells",
                )[0]
                most = committed[0] + 1  # the next may be visible before it is counted
                if not (10 * least <= count <= 10 * most and count == distinct and curves == 3 * count and count % 10 == 0):
                    wrong.append((least, count, distinct, curves, most))
                reads[0] += 1
        except Exception as error:  # noqa: BLE001 (whatever it is, the test must show it)
            wrong.append(error)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for thread in readers:
        thread.start()

    def seen() -> bool:
        return reads[0] > 30 and committed[0] > 100 and bool(store.files.entries("compacted"))

    while not (seen() or wrong):
        store.commit(f"p{committed[0]}", rows(1000 * committed[0], 10))
        committed[0] += 1
        time.sleep(0.01)
    stop.set()
    for thread in readers:
        thread.join()
    assert [process.poll() for process in compactors] == [None, None]
    for process in compactors:
        process.kill()
        process.communicate()
    assert wrong == []
    assert any(name.startswith("compacted/") for name in names(store.results))
    compact(store.files, now=True)
    assert len(store.statuses()) == 10 * committed[0]
    assert check(store.files).bad == {}


def test_a_compacted_file_with_a_damaged_footer_hides_no_pack(store: Store) -> None:
    store.commit("a", rows(0, 2))
    store.commit("b", rows(2, 2))
    before = contents(store)
    (path,) = compact(store.files).written
    data = store.files.read(path)
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    at = data.index(b"holds_curves", footer)
    store.files.write(path, data[:at] + b"holds_curvez" + data[at + 12 :])
    assert [entry.path for entry in take(store.files).bad] == [path]
    assert contents(store) == before
