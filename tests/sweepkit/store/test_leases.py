"""Leases: seen by others while their driver lives, gone with it."""

import json
import os
import socket
import subprocess
import sys
import threading

import pytest

from sweepkit.store.files import Files, ResultsError
from sweepkit.store.leases import Lease, drivers, forget_dead, others_in_flight
from sweepkit.store.store import Store
from tests.sweepkit.store.conftest import Age
from tests.sweeps import wait_for


def test_others_see_what_is_in_flight(store: Store) -> None:
    with Lease(store) as mine, Lease(store) as other:
        other.update(["a", "b"])
        mine.update(["c"])
        wait_for(lambda: set(others_in_flight(store)) == {"a", "b", "c"})
        assert f"process {os.getpid()} on {socket.gethostname()}" in others_in_flight(store)["a"].description
        other.update([])
        wait_for(lambda: set(others_in_flight(store)) == {"c"})
    assert others_in_flight(store) == {}
    assert store.files.entries("leases") == []


def test_nobody_waits_for_slow_files_and_the_last_news_is_what_stays(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    files = type(store.files)
    written, write = [], files.write
    writes, goes_on = threading.Event(), threading.Event()

    def slow(files: Files, path: str, data: bytes) -> None:
        writes.set()
        goes_on.wait()
        written.append(json.loads(data)["cell_ids"])
        write(files, path, data)

    with Lease(store) as lease:
        monkeypatch.setattr(files, "write", slow)
        lease.update(["0"])
        writes.wait()
        for i in range(1, 1000):  # all of them while the first is being written
            lease.update([f"{i}"])
        goes_on.set()
        wait_for(lambda: set(others_in_flight(store)) == {"999"})
    assert list(map(list, dict.fromkeys(map(tuple, written)))) == [["0"], ["999"]]


def test_silence_expires_and_a_beat_revives(store: Store, age: Age) -> None:
    lease = Lease(store, "other")
    lease.update(["a"])
    age(store, "leases/other.json", 90)
    assert others_in_flight(store) == {}
    assert set(others_in_flight(store, max_age_s=1e6)) == {"a"}
    lease.beat()
    assert set(others_in_flight(store)) == {"a"}


def test_dead_process_of_this_host_expires_at_once(store: Store) -> None:
    code = """import sys
from sweepkit.store.leases import Lease
from sweepkit.store.store import Store
Lease(Store(sys.argv[1]), "x").update(["a"])"""
    subprocess.run([sys.executable, "-c", code, store.results], check=True)
    assert others_in_flight(store) == {}
    (driver,) = drivers(store.files)
    assert (driver.cell_ids, driver.alive) == (("a",), False)


def test_process_of_another_host_is_judged_by_age_alone(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(socket, "gethostname", lambda: "elsewhere")
        Lease(store, "other").update(["a"])
    text = store.files.read("leases/other.json").decode()
    store.files.write("leases/other.json", text.replace(f'"pid": {os.getpid()}', '"pid": 999999999').encode())
    assert set(others_in_flight(store)) == {"a"}


def test_a_late_beat_does_not_revive_a_released_lease(store: Store) -> None:
    lease = Lease(store)
    lease.release()
    lease.beat()
    lease.update(["a"])
    assert others_in_flight(store) == {}


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"host": 1, "pid": "x", "started": 1, "cell_ids": []}', "\x00"])
def test_a_file_that_is_no_lease_is_ignored(store: Store, text: str) -> None:
    store.files.write("leases/x.json", text.encode())
    assert others_in_flight(store) == {}


def test_a_full_disk_does_not_end_the_sweep(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    lease = Lease(store)

    def full(*_: object) -> None:
        raise ResultsError("no space")

    monkeypatch.setattr(type(store.files), "write", full)
    lease.update(["a"])
    lease.beat()


def test_a_read_only_disk_does_not_keep_a_sweep_from_ending(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    lease = Lease(store)

    def read_only(*_: object) -> None:
        raise PermissionError("read-only")

    monkeypatch.setattr(type(store.files), "delete", read_only)
    lease.release()


def test_the_next_driver_forgets_the_dead_and_a_silent_one_comes_back(store: Store, age: Age) -> None:
    with Lease(store, "living"):
        silent = Lease(store, "silent")
        silent.update(["a"])
        age(store, "leases/silent.json", 90)
        forget_dead(store)
        assert [entry.path for entry in store.files.entries("leases")] == ["leases/living.json"]
        silent.beat()
        assert set(others_in_flight(store)) == {"a"}
