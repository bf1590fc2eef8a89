"""One sweep while it trains: how each pack ended, and the rows that record failures. Knows no Ray."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from orchestrator.grid.load import Grid
from orchestrator.plan.packing import PackQueue
from orchestrator.run.work import Failure, Outcome, PackWork, Provenance, declared_of, failed_row
from store.files import ResultsError
from store.leases import Lease
from store.store import Store


class Runner(Protocol):
    """Takes packs from the sweep's queue until the queue is empty, and reports how each ends."""

    def run(self, sweep: "Sweep") -> None:
        """Return when nothing is pending or in flight, or when the sweep drains and its packs have ended."""


class Display(Protocol):
    """The display of a running sweep."""

    def changed(self) -> None:
        """Redraw: packs have started, ended or progressed."""


@dataclass
class Sweep:
    """A sweep under way: its queue, its store, its lease and its display."""

    grid: Grid
    queue: PackQueue
    store: Store
    lease: Lease
    provenance: Provenance
    fail_fast: bool = False
    later: Sequence[int] = ()
    """Cells that may be added to the queue while the sweep runs."""
    display: Display | None = None
    interrupted: bool = False
    on_leaving: list[Callable[[], None]] = field(default_factory=list)
    """Functions that give back what the sweep holds, to be called if the process must end at once."""
    _leased: tuple[str, ...] = ()

    def drain(self) -> None:
        """Start no further pack; those in flight finish."""
        self.queue.draining = True
        self._redraw()

    def progressed(self, pack_id: str, fraction: float) -> None:
        """Record that a pack in flight has done this share of its steps."""
        self.queue.progress(pack_id, fraction)
        self.changed()

    def committed(self, pack_id: str, outcome: Outcome) -> None:
        """Record that a pack is in the store."""
        self.queue.finished(pack_id, outcome.statuses, outcome.headline, outcome.seconds, outcome.device)
        self.changed()

    def failed(self, pack_id: str, failure: Failure) -> None:
        """Record that a pack failed. Its halves are tried again; a cell that fails alone gets a row with its reason and log."""
        for i in self.queue.failed(pack_id, failure.out_of_memory):
            planned = self.grid.cells[i]
            try:
                path = self.store.write_log(planned.cell_id, failure.log)
                row = failed_row(planned, pack_id, failure.reason, path, self.provenance)
                self.store.commit(pack_id, [row], declared_of([planned]), failed=True)
            except ResultsError as error:
                self.cannot_go_on(str(error))
            if self.fail_fast:
                self.drain()
        self.changed()

    def cannot_go_on(self, reason: str) -> None:
        """Start no further pack: the store cannot be written, or a worker may not train for this sweep."""
        self.queue.stop(reason)
        self._redraw()

    def _redraw(self) -> None:
        if self.display:
            self.display.changed()

    def changed(self) -> None:
        """Redraw. If packs started or ended, tell other drivers, by the lease, which cells are in flight here."""
        in_flight = tuple(self.queue.in_flight)
        if in_flight != self._leased:
            self._leased = in_flight
            packs = list(self.queue.in_flight.values())  # a copy: the lease reads it later, when other packs may be in flight
            self.lease.update(self.grid.cells[i].cell_id for p in packs for i in p.cells)
        self._redraw()


class DebugRunner:
    """Runs a sweep without Ray: its packs train one after the other in this process."""

    def run(self, sweep: Sweep) -> None:
        while pack := sweep.queue.next():
            members = [sweep.grid.cells[i] for i in pack.cells]
            sweep.changed()
            result: Outcome | Failure | None = None
            work = None
            while result is None:
                try:
                    work = work or PackWork(pack.pack_id, members, pack.engine, pack.device)
                    result = work.advance(1.0, sweep.provenance)
                except ResultsError as error:
                    return sweep.cannot_go_on(str(error))
                except Exception as error:  # noqa: BLE001 - whatever a cell raises becomes its row; the sweep goes on
                    result = Failure.of(error)
                if isinstance(result, Outcome):
                    sweep.committed(pack.pack_id, result)
                elif isinstance(result, Failure):
                    sweep.failed(pack.pack_id, result)
                elif work is not None:
                    sweep.progressed(pack.pack_id, work.fraction)
