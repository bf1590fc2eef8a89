"""Leases: what each driver is training right now, so that another one can leave it alone.

A courtesy, not a lock: should a lease be missed, cells are computed twice and counted once.
"""

import json
import os
import socket
import threading
import time
import uuid
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, NamedTuple

from store.files import Files, ResultsError, age_s
from store.snapshot import LEASES
from store.store import Store

MAX_AGE_S = 60.0
"""A driver that has not been heard of for so long is taken for dead. Beat several times within it."""
BEAT_EVERY_S = 15.0
"""How often a live driver renews its lease."""
UPDATE_EVERY_S = 1.0
"""News of cells in flight is written no more often: packs may come and go by the dozen a second, and files are slow."""


class Driver(NamedTuple):
    """Another driver's lease."""

    path: str
    description: str
    cell_ids: tuple[str, ...]
    age_s: float
    alive: bool


class Lease:
    """This driver's cells in flight. Best effort: a full disk must not end a sweep here.

    As a context it is written from a thread of its own, so that nobody waits for it: others see what changed within about
    UPDATE_EVERY_S. Otherwise each change is written at once.
    """

    def __init__(self, store: Store, driver_id: str | None = None) -> None:
        self.driver_id = driver_id or f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._files = store.files
        self._path = f"{LEASES}/{self.driver_id}.json"
        self._lock = threading.RLock()  # a signal handler may release while the same thread writes
        self._released = False
        self._news: deque[Iterable[str]] = deque(maxlen=1)
        self._wake = threading.Event()
        self._writer: threading.Thread | None = None
        started = datetime.now(UTC).isoformat(timespec="seconds")
        self._facts: dict[str, Any] = {"host": socket.gethostname(), "pid": os.getpid(), "started": started, "cell_ids": []}
        self._write()

    @property
    def path(self) -> str:
        """The file below the root of the results that tells of this driver."""
        return self._path

    def update(self, cell_ids: Iterable[str]) -> None:
        """These are in flight now, in place of those before. They are read when they are written, perhaps in another thread."""
        self._news.append(cell_ids)
        if self._writer:
            self._wake.set()
        else:
            self.beat()

    def beat(self) -> None:
        """Still here."""
        with self._lock:
            self._write()

    def release(self) -> None:
        """Nothing is in flight any more; a beat that comes later is without effect."""
        with self._lock:
            self._released = True
            with suppress(OSError, ResultsError):  # a bucket out of reach, a disk that takes no writes: it stays, and expires
                self._files.delete(self._path)
        self._wake.set()

    def __enter__(self) -> "Lease":
        self._writer = threading.Thread(target=self._keep_beating, daemon=True)
        self._writer.start()
        return self

    def _keep_beating(self) -> None:
        """Also while nothing is reported: packs may wait long for a busy cluster."""
        while not self._released:
            self._wake.wait(BEAT_EVERY_S)
            self._wake.clear()
            self.beat()
            time.sleep(UPDATE_EVERY_S)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.release()

    def _write(self) -> None:
        if not self._released:
            with suppress(IndexError):  # nothing new
                self._facts["cell_ids"] = sorted(self._news.pop())
            try:
                self._files.write(self._path, json.dumps(self._facts).encode())
            except ResultsError:
                return  # without a lease others may repeat our cells; without us nobody computes them


def others_in_flight(store: Store, max_age_s: float = MAX_AGE_S) -> dict[str, str]:
    """Cells that live drivers are training, each with who does."""
    alive = [driver for driver in drivers(store.files, max_age_s) if driver.alive]
    return {cell: driver.description for driver in alive for cell in driver.cell_ids}


def forget_dead(store: Store) -> None:
    """Delete the leases of drivers that were killed. One that was only silent renews its own with its next beat."""
    for driver in drivers(store.files):
        if not driver.alive:
            with suppress(OSError, ResultsError):
                store.files.delete(driver.path)


def drivers(files: Files, max_age_s: float = MAX_AGE_S) -> list[Driver]:
    """All leases that can be read. Dead: silent for too long, or its process on this host is gone."""
    found = []
    for entry in files.entries(LEASES):
        try:
            facts = json.loads(files.read(entry.path))
            host, pid, started = str(facts["host"]), int(facts["pid"]), str(facts["started"])
            cells = tuple(str(cell) for cell in facts["cell_ids"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue  # gone meanwhile, or not a lease: `check` names those
        gone = host == socket.gethostname() and not is_running(pid)
        who = f"process {pid} on {host} since {started}"
        found.append(Driver(entry.path, who, cells, age_s(files, entry), alive=not gone and age_s(files, entry) <= max_age_s))
    return found


def is_running(pid: int) -> bool:
    """Whether this host has such a process, whoever's it is."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
