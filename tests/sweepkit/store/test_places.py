"""Results mean the same wherever they lie, whoever reads them, and whatever the clocks of the machines say."""

import errno
import os
import pickle
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from sweepkit.store.connections import close_kept
from sweepkit.store.distinct import _hashes
from sweepkit.store.files import Entry, LocalFiles, ResultsError, Unreadable, age_s, local, open_files
from sweepkit.store.leases import Lease, drivers
from sweepkit.store.snapshot import latest_plan, take
from sweepkit.store.store import Store
from sweepkit.store.upkeep.check import check
from sweepkit.store.upkeep.compact import compact
from sweepkit.store.upkeep.copy import copy
from sweepkit.store.upkeep.export import export
from sweepkit.store.views import fetch
from tests.store_rows import names, row, rows

FOLDERS = ["L=99", "task=x/status=failed", "cell_id=1/seed=__HIVE_DEFAULT_PARTITION__", "sqlite:x", "with space", "ä%20"]
"""Folders that DuckDB, or a shell, could take for more than a name."""


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_folder_above_the_results_changes_a_value(tmp_path: Path, folder: str) -> None:
    plain, odd = Store(str(tmp_path / "results")), Store(str(tmp_path / folder / "results"))
    for store in (plain, odd):
        store.commit("a", rows(0, 3))
        store.commit("b", rows(2, 3, minute=1))
        store.write_plan("s", [f"{i:020x}" for i in range(5)])
    asked = ["FROM cells ORDER BY cell_id", "FROM curves ORDER BY ALL", "FROM plans ORDER BY ALL"]
    expected = [fetch(plain.results, sql) for sql in asked]
    assert [fetch(odd.results, sql) for sql in asked] == expected
    copy(odd.files, open_files(str(tmp_path / folder / "copied")))
    compact(odd.files, now=True)
    assert fetch(odd.results, asked[0]) == expected[0]
    assert fetch(str(tmp_path / folder / "copied"), asked[0]) == expected[0]


@pytest.mark.parametrize("folder", FOLDERS)
def test_an_export_is_a_duckdb_file_wherever_it_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    store = Store(str(tmp_path / "results"))
    store.commit("a", rows(0, 3))
    monkeypatch.chdir(tmp_path)
    export(store.files, Path(folder))
    with duckdb.connect(str(tmp_path / folder / "results.duckdb"), read_only=True) as connection:
        assert connection.execute("SELECT L FROM cells ORDER BY L").fetchall() == [(2,), (3,), (4,)]


Deny = Callable[[str, int], None]


@pytest.fixture
def deny(monkeypatch: pytest.MonkeyPatch) -> Deny:
    """Let files whose path ends like this fail to open, with this error: root reads all, so rights cannot show it."""

    def patch(path: str, number: int) -> None:
        opened, read = pa.OSFile, Path.read_bytes

        def fails(name: str) -> None:
            if str(name).endswith(path):
                raise OSError(number, f"Failed to open local file {name!r}")

        def open_file(name: str, mode: str) -> pa.NativeFile:
            fails(name)
            return opened(name, mode)

        def read_bytes(self: Path) -> bytes:
            fails(str(self))
            return read(self)

        monkeypatch.setattr("sweepkit.store.files.local.pa.OSFile", open_file)
        monkeypatch.setattr(Path, "read_bytes", read_bytes)

    return patch


@pytest.mark.parametrize("number", [errno.ESTALE, errno.EIO, errno.EMFILE, errno.EACCES])
def test_a_file_that_cannot_be_read_stops_readers_with_path_and_reason(tmp_path: Path, deny: Deny, number: int) -> None:
    store = Store(str(tmp_path / "results"))
    store.commit("a", rows(0, 3))
    path = store.commit("b", rows(3, 3))
    deny(path, number)
    with pytest.raises(ResultsError, match=rf"cannot read .*results/{path}: {os.strerror(number)}$"):
        fetch(store.results, "SELECT count(*) FROM cells")
    with pytest.raises(Unreadable):
        compact(store.files)
    with pytest.raises(Unreadable):
        copy(store.files, open_files(str(tmp_path / "copied")))
    assert len(names(store.results)) == 2


def test_a_file_that_cannot_be_read_later_is_not_taken_for_a_damaged_one(tmp_path: Path, deny: Deny) -> None:
    store = Store(str(tmp_path / "results"))
    path = store.commit("a", rows(0, 3))
    assert take(store.files).bad == {}  # its footer was read
    deny(path, errno.EIO)
    with pytest.raises(Unreadable, match="Input/output error"):
        compact(store.files)
    assert take(store.files).bad == {}


def test_check_reports_what_cannot_be_read_and_removes_nothing(tmp_path: Path, deny: Deny) -> None:
    store = Store(str(tmp_path / "results"))
    path = store.commit("a", rows(0, 3))
    store.files.write("packs/torn.parquet", b"no Parquet")
    left = store.files._at("packs/.x.inprogress")
    left.touch()
    os.utime(left, (0, 0))
    deny(path, errno.ESTALE)
    found = check(store.files, clean=True)
    assert found.unread == {path: "Stale file handle"}
    assert list(found.bad) == ["packs/torn.parquet"]
    assert left.exists() and not found.removed


def test_a_lease_and_weights_that_cannot_be_read_are_no_bad_files(tmp_path: Path, deny: Deny) -> None:
    store = Store(str(tmp_path / "results"))
    pixels = {"kind": "example", "same": True, "shape": [1], "pixels": [1.0]}
    weights = store.write_weights("a", [pixels])
    store.commit("a", [row(0, weights_file=weights)])
    lease = Lease(store)
    for path in (weights, lease.path):
        deny(path, errno.EACCES)
    found = check(store.files)
    assert (found.bad, found.unread) == ({}, dict.fromkeys([weights, lease.path], "Permission denied"))


def test_too_little_memory_is_no_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(str(tmp_path / "results"))
    store.commit("a", rows(0, 3))

    def fails(*_: object) -> None:
        raise pa.ArrowMemoryError("malloc of size 1 failed")

    monkeypatch.setattr("sweepkit.store.snapshot.pq.read_metadata", fails)
    with pytest.raises(Unreadable, match="too little memory"):
        take(store.files)


def test_what_cannot_be_read_is_told_in_another_process_too() -> None:
    error = pickle.loads(pickle.dumps(Unreadable.of("packs/a", OSError(errno.ESTALE, "Stale"))))
    assert (type(error), str(error), error.reason) == (Unreadable, "cannot read packs/a: Stale file handle", "Stale file handle")


def test_a_file_that_cannot_be_deleted_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(str(tmp_path / "results"))
    store.commit("a", rows(0, 3))
    store.commit("b", rows(3, 3))
    unlink = Path.unlink

    def refused(self: Path, missing_ok: bool = False) -> None:  # as in a sticky folder, where others wrote the files
        if self.parent.name == "packs":
            raise OSError(errno.EPERM, "Operation not permitted")
        unlink(self, missing_ok)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", refused)
        with pytest.raises(ResultsError, match=r"cannot delete .*: Operation not permitted"):
            compact(store.files, now=True)
    assert fetch(store.results, "SELECT count(*) FROM cells") == [(6,)]


def test_own_folders_of_a_shared_directory_are_shared_again(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "results"))
    store.commit("a", rows(0, 3))
    (tmp_path / "results").chmod(0o2770)
    (tmp_path / "results" / "packs").chmod(0o700)  # as an older version left it, or a kill right after it was made
    store.prepare()
    assert (tmp_path / "results" / "packs").stat().st_mode & 0o7777 == 0o2770


def test_a_file_that_was_read_and_is_still_listed_when_it_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its footer is known, so that only the query finds it gone."""
    store = Store(str(tmp_path / "results"))
    store.commit("a", rows(0, 3))
    path = store.commit("b", rows(3, 3))
    assert fetch(store.results, "SELECT count(*) FROM cells") == [(6,)]
    entries, pauses = LocalFiles.entries, list[float]()
    ghost = store.files.entry(path)
    close_kept()
    _hashes.clear()
    store.files.delete(path)
    assert ghost

    def listed(self: LocalFiles, folder: str, hidden: bool = False) -> list[Entry]:
        return entries(self, folder, hidden) + [ghost] * (folder == "packs" and sum(pauses) < limit_s)

    monkeypatch.setattr(LocalFiles, "entries", listed)
    monkeypatch.setattr("sweepkit.store.snapshot.time.sleep", pauses.append)
    monkeypatch.setattr("sweepkit.store.snapshot._PAUSES_S", (0, 20, 20))
    limit_s = float("inf")
    with pytest.raises(ResultsError, match="lists files that are not there when they are read"):
        fetch(store.results, "SELECT count(*) FROM cells")
    assert pauses == [0, 20, 20]
    pauses.clear()
    with pytest.raises(ResultsError, match="lists files that are not there when they are read"):
        compact(store.files)
    limit_s = 30.0
    pauses.clear()
    assert fetch(store.results, "SELECT count(*) FROM cells") == [(3,)]


def test_a_file_that_a_server_still_lists_is_looked_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(str(tmp_path / "results"))
    store.commit("a", rows(0, 3))
    entries, pauses = LocalFiles.entries, list[float]()
    ghost = Entry("packs/gone.parquet", 10, 0.0)

    def listed(self: LocalFiles, folder: str, hidden: bool = False) -> list[Entry]:
        return entries(self, folder, hidden) + [ghost] * (folder == "packs" and sum(pauses) < limit_s)

    monkeypatch.setattr(LocalFiles, "entries", listed)
    monkeypatch.setattr("sweepkit.store.snapshot.time.sleep", pauses.append)
    limit_s = 30.0  # within what file servers keep a listing for
    assert fetch(store.results, "SELECT count(*) FROM cells") == [(3,)]
    pauses.clear()
    limit_s = float("inf")
    with pytest.raises(ResultsError, match=r"lists files that are not there when they are read: .*gone\.parquet"):
        take(store.files)


@pytest.mark.parametrize("ahead_s", [600, -600])
def test_the_last_plan_counts_whatever_the_clocks_say(store: Store, monkeypatch: pytest.MonkeyPatch, ahead_s: int) -> None:
    now_ns = time.time_ns
    with monkeypatch.context() as clock:
        clock.setattr("sweepkit.store.store.time.time_ns", lambda: now_ns() + ahead_s * 10**9)
        store.write_plan("s", ["a", "b"], whole=True)
    store.write_plan("s", ["c"], whole=True)
    assert fetch(store.files, "SELECT cell_id FROM plans") == [("c",)]
    store.write_plan("s", ["a", "b"], whole=True)  # the same request again
    store.write_plan("s", ["d"])
    assert fetch(store.files, "SELECT cell_id FROM plans ORDER BY ALL") == [("a",), ("b",), ("d",)]
    store.write_plan("other", ["e"], whole=True)
    assert abs(latest_plan(store.files, "other") / 1e6 - time.time()) < 60  # another sweep's clock does not count


def test_the_time_of_rows_that_are_trained_again(store: Store) -> None:
    late = datetime.now(UTC) + timedelta(hours=1)
    store.commit("a", [row(0, finished_at=late), row(1)])
    assert store.last_finished([f"{0:020x}"]) == late
    assert store.last_finished(["none"]) is None


def test_ages_are_by_the_clock_that_dates_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver with a fast clock takes no living driver for a dead one: the lease is new by the file server's clock."""
    store = Store(str(tmp_path / "results"))
    store.prepare()
    lease = Lease(store)
    store.files.delete(lease.path)
    lease._facts["host"] = "another"
    lease.beat()
    now = time.time
    local._ahead_s.cache_clear()
    with monkeypatch.context() as clock:
        clock.setattr("sweepkit.store.files.local.time.time", lambda: now() + 600)
        (driver,) = drivers(store.files)
        assert driver.alive and driver.age_s < 60
    local._ahead_s.cache_clear()


def test_someone_who_only_reads_has_the_own_clock(tmp_path: Path) -> None:
    local._ahead_s.cache_clear()
    files = LocalFiles(str(tmp_path / "none"))  # no file can be made there
    begun = time.time()
    assert 5 <= age_s(files, Entry("a", 1, begun - 5)) <= time.time() - begun + 5


def test_a_log_is_shown_below_the_present_root(store: Store, tmp_path: Path) -> None:
    path = store.write_log("a", "traceback")
    assert path == "logs/a.txt"
    store.commit("new", [row("a", status="failed", log_path=path)], failed=True)
    store.commit("old", [row("b", status="failed", log_path="/where/it/was/logs/b.txt")], failed=True)
    store.commit("strange", [row("c", status="failed", log_path="/etc/passwd")], failed=True)
    shown = fetch(store.files, "SELECT log_path FROM cells ORDER BY cell_id")
    assert shown == [(f"{store.results}/logs/a.txt",), (f"{store.results}/logs/b.txt",), ("/etc/passwd",)]
    if "://" not in store.results:
        moved = tmp_path / "moved"
        os.rename(store.results, moved)
        assert fetch(str(moved), "SELECT log_path FROM cells WHERE cell_id = 'a'") == [(f"{moved}/logs/a.txt",)]


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOTSUP])
def test_a_share_that_cannot_sync_folders_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    _fail_to_sync_folders(monkeypatch, number)
    store = Store(str(tmp_path / "results"))
    store.prepare()
    store.commit("a", rows(0, 3))
    store.commit("b", rows(3, 3))
    compact(store.files, now=True)
    assert fetch(store.results, "SELECT count(*) FROM cells") == [(6,)]


def test_a_probe_that_fails_is_not_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fail_to_sync_folders(monkeypatch, errno.EIO)
    with pytest.raises(ResultsError, match="Input/output error"):
        Store(str(tmp_path / "results")).prepare()
    assert os.listdir(tmp_path / "results") == []


def _fail_to_sync_folders(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    fsync = os.fsync

    def fails(descriptor: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{descriptor}"):
            raise OSError(number, os.strerror(number))
        fsync(descriptor)

    monkeypatch.setattr("sweepkit.console.writing.os.fsync", fails)
