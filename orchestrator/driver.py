"""One sweep from plan to end: what is missing, what became of each pack, what is recorded when something fails. Knows no Ray."""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from orchestrator.grid import Grid, PlannedCell
from orchestrator.packing import Order, PackQueue
from orchestrator.work import Failure, Outcome, PackWork, Provenance, failed_row
from store.files import ResultsError
from store.leases import Lease
from store.store import Store

Statuses = Mapping[str, tuple[str, frozenset[str]]]
"""Of each stored cell: its status and which extras (curves, neurons) its row holds."""


class Runner(Protocol):
    """Takes packs from the sweep's queue until it gives none, and reports what becomes of each."""

    def run(self, sweep: "Sweep") -> None:
        """Return when nothing is pending or in flight, or when the sweep drains and its packs have ended."""


def missing_cells(
    plan: Sequence[PlannedCell], statuses: Statuses, *, retry_failed: bool = False, force: bool = False
) -> list[int]:
    """Positions of the cells that want training: not stored, stored without the extras asked for, or failed if retrying."""

    def wanted(planned: PlannedCell) -> bool:
        status, extras = statuses.get(planned.cell_id, ("missing", frozenset()))
        if status == "missing":
            return True
        if status == "failed":
            return retry_failed
        return status == "ok" and not planned.save <= extras

    return [i for i, planned in enumerate(plan) if force or wanted(planned)]


def ordered(plan: Sequence[PlannedCell], cells: Sequence[int], order: Order) -> list[int]:
    """The cells in the order in which they start. `seed-first` runs the whole grid for one seed, then for the next."""
    if order == "grid":
        return list(cells)
    if order == "shuffled":
        return random.Random(0).sample(list(cells), len(cells))
    rank = {seed: k for k, seed in enumerate(dict.fromkeys(planned.cell.seed for planned in plan))}
    return sorted(cells, key=lambda i: rank[plan[i].cell.seed])


@dataclass
class Sweep:
    """A sweep under way: its queue, its store, its lease, and the ears of the display."""

    grid: Grid
    queue: PackQueue
    store: Store
    lease: Lease
    provenance: Provenance
    fail_fast: bool = False
    on_change: Callable[[], None] = lambda: None
    fatal: str = ""
    """Why the sweep cannot go on at all, such as a full disk."""
    interrupted: bool = False
    started: float = field(default_factory=time.monotonic)
    _leased: frozenset[str] = frozenset()
    _beat: float = 0.0

    def drain(self) -> None:
        """Start no further pack; those in flight finish."""
        self.queue.draining = True
        self.on_change()

    def progressed(self, pack_id: str, fraction: float) -> None:
        """A pack in flight has done this share of its steps."""
        self.queue.progress(pack_id, fraction)
        self.changed()

    def committed(self, pack_id: str, outcome: Outcome) -> None:
        """A pack is in the store."""
        self.queue.finished(pack_id, outcome.statuses, outcome.best, outcome.seconds)
        self.changed()

    def failed(self, pack_id: str, failure: Failure) -> None:
        """A pack failed: its halves are tried again, and a cell that fails alone becomes a row with its reason and log."""
        for i in self.queue.failed(pack_id, failure.out_of_memory):
            path = self._write_log(self.grid.cells[i].cell_id, failure.log)
            row = failed_row(self.grid.cells[i], pack_id, failure.reason, path, self.provenance)
            self.store.commit(pack_id, [row], failed=True)
            if self.fail_fast:
                self.queue.draining = True
        self.changed()

    def cannot_go_on(self, reason: str) -> None:
        """The store cannot be written: nothing is lost, but nothing more can be done."""
        self.fatal = self.fatal or reason
        self.drain()

    def changed(self) -> None:
        """Tell other drivers which cells are in flight here, at most every 5 s while they stay the same; redraw."""
        in_flight = frozenset(self.grid.cells[i].cell_id for p in self.queue.in_flight.values() for i in p.cells)
        if in_flight != self._leased:
            self.lease.update(sorted(in_flight))
        elif time.monotonic() - self._beat > 5:
            self.lease.beat()
        else:
            self.on_change()
            return
        self._leased, self._beat = in_flight, time.monotonic()
        self.on_change()

    def _write_log(self, cell_id: str, log: str) -> str:
        path = Path(self.provenance.results) / "logs" / f"{cell_id}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(log)
        return str(path)


class DebugRunner:
    """The same sweep without Ray: packs one after the other in this process."""

    def run(self, sweep: Sweep) -> None:
        while pack := sweep.queue.next():
            members = [sweep.grid.cells[i] for i in pack.cells]
            sweep.changed()
            try:
                work = PackWork(pack.pack_id, members, pack.engine, pack.device)
                while not work.run.done:
                    work.run.advance(1.0)
                    sweep.progressed(pack.pack_id, work.fraction)
            except Exception as error:  # noqa: BLE001 - whatever a cell raises becomes its row; the sweep goes on
                sweep.failed(pack.pack_id, Failure.of(error))
                continue
            try:
                sweep.committed(pack.pack_id, work.commit(sweep.provenance))
            except ResultsError as error:
                sweep.cannot_go_on(str(error))
