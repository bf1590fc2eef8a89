"""Leases: the cells that each driver is training now, so that other drivers leave them alone.

A lease is a courtesy, not a lock: if one is missed, cells are computed twice and counted once.
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

from sweepkit.store.files import Files, ResultsError, Unreadable, age_s
from sweepkit.store.files.base import LEASES
from sweepkit.store.store import Store

MAX_AGE_S = 60.0
"""Seconds of silence after which a driver counts as dead. A live driver should beat several times within it."""
BEAT_EVERY_S = 15.0
"""Seconds between the beats with which a live driver renews its lease."""
UPDATE_EVERY_S = 1.0
"""Least seconds between two writes by a lease's thread: packs may come and go by the dozen per second, and files are slow."""


class Driver(NamedTuple):
    """Another driver's lease."""

    path: str
    description: str
    cell_ids: tuple[str, ...]
    age_s: float
    alive: bool
    scratch: str = ""
    """The directory that holds the checkpoints of what it trains; empty if it keeps none."""
    sweep: str = ""
    """The name of the sweep that it runs."""
    began: float = 0.0
    """When it began, in seconds since 1970."""


class Lease:
    """This driver's lease, which lists its cells in flight. It is best effort: a full disk must not end a sweep here.

    As a context manager it writes from a thread of its own, so that its caller need not wait: other drivers see a change after
    about UPDATE_EVERY_S. Otherwise each change is written at once.
    """

    def __init__(self, store: Store, driver_id: str | None = None, sweep: str = "") -> None:
        self.driver_id = driver_id or f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._files = store.files
        self._path = f"{LEASES}/{self.driver_id}.json"
        self._lock = threading.RLock()  # a signal handler may release while the same thread writes
        self._released = False
        self._news: deque[Iterable[str]] = deque(maxlen=1)
        self._wake = threading.Event()
        self._writer: threading.Thread | None = None
        self.began = time.time()
        """When this driver began, in seconds since 1970: of two that train the same cells the later one has more."""
        started = datetime.fromtimestamp(self.began, UTC).isoformat(timespec="seconds")
        self._facts: dict[str, Any] = {"host": socket.gethostname(), "pid": os.getpid(), "started": started, "cell_ids": []}
        self._facts |= {"sweep": sweep, "began": self.began}
        self._write()

    @property
    def path(self) -> str:
        """The path of the lease file below the root of the results."""
        return self._path

    def update(self, cell_ids: Iterable[str]) -> None:
        """Replace the cells in flight by these. The iterable is read when the lease is written, perhaps in another thread."""
        self._news.append(cell_ids)
        if self._writer:
            self._wake.set()
        else:
            self.beat()

    def tell(self, **facts: str) -> None:
        """Add facts about this driver to its lease, and write it."""
        with self._lock:
            self._facts |= facts
            self._write()

    def beat(self) -> None:
        """Renew the lease."""
        with self._lock:
            self._write()

    def release(self) -> None:
        """Delete the lease, as nothing is in flight any more. A later beat has no effect."""
        with self._lock:
            self._released = True
            with suppress(OSError, ResultsError):  # bucket out of reach, or disk read-only: the lease stays and expires
                self._files.delete(self._path)
        self._wake.set()

    def __enter__(self) -> "Lease":
        self._writer = threading.Thread(target=self._keep_beating, daemon=True)
        self._writer.start()
        return self

    def _keep_beating(self) -> None:
        """Renew the lease even while nothing is reported: packs may wait long for a busy cluster."""
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
                return  # go on without a lease: others may repeat our cells, which is better than to stop


def others_in_flight(store: Store, max_age_s: float = MAX_AGE_S, own: str = "") -> dict[str, Driver]:
    """The cells that live drivers are training, each with its driver; without those of the lease at the path `own`."""
    alive = [driver for driver in drivers(store.files, max_age_s, but=own) if driver.alive]
    return {cell: driver for driver in alive for cell in driver.cell_ids}


def forget_dead(store: Store) -> None:
    """Delete the leases of dead drivers. A driver that was only silent writes its lease again with its next beat."""
    for driver in drivers(store.files):
        if not driver.alive:
            with suppress(OSError, ResultsError):
                store.files.delete(driver.path)


def drivers(files: Files, max_age_s: float = MAX_AGE_S, but: str = "") -> list[Driver]:
    """All leases that can be read, without that at the path `but`. A driver is dead if it was silent for too long or if its
    process on this host is gone."""
    found = []
    for entry in files.entries(LEASES):
        if entry.path == but:
            continue
        try:
            facts = json.loads(files.read(entry.path))
            host, pid, started = str(facts["host"]), int(facts["pid"]), str(facts["started"])
            cells = tuple(str(cell) for cell in facts["cell_ids"])
            scratch, sweep = (str(facts.get(name, "")) for name in ("scratch", "sweep"))
            began = float(facts.get("began", 0.0))
        except (FileNotFoundError, Unreadable, ValueError, KeyError, TypeError, RecursionError):
            continue  # gone meanwhile, out of reach, or not a lease: `check` reports the latter two
        gone = host == socket.gethostname() and not is_running(pid)
        who = f"process {pid} on {host} since {started}"
        alive = not gone and age_s(files, entry) <= max_age_s
        found.append(Driver(entry.path, who, cells, age_s(files, entry), alive, scratch, sweep, began))
    return found


def is_running(pid: int) -> bool:
    """Whether this host has a process with this id, of any user."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
