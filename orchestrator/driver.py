"""One sweep from plan to end: what is missing, what became of each pack, what is recorded when something fails. Knows no Ray."""

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Protocol

from orchestrator.grid import Grid, PlannedCell
from orchestrator.packing import LATE, Order, PackQueue
from orchestrator.work import Failure, Outcome, PackWork, Provenance, failed_row
from store.files import ResultsError
from store.leases import Lease
from store.store import Store
from store.views import Held

Statuses = Mapping[str, Held]
"""Of each stored cell: its status and which extras (curves, neurons, weights) the store holds."""


class Runner(Protocol):
    """Takes packs from the sweep's queue until it gives none, and reports what becomes of each."""

    def run(self, sweep: "Sweep") -> None:
        """Return when nothing is pending or in flight, or when the sweep drains and its packs have ended."""


def missing_cells(
    plan: Sequence[PlannedCell],
    statuses: Statuses,
    among: Sequence[int] | None = None,
    *,
    retry_failed: bool = False,
    force: bool = False,
) -> list[int]:
    """Positions of the cells (of these, or of all) that want training: not stored, stored without the extras asked for, or
    failed if retrying."""

    def wanted(planned: PlannedCell) -> bool:
        status, extras = statuses.get(planned.cell_id, Held("missing", frozenset()))
        if status == "missing":
            return True
        if status == "failed":
            return retry_failed
        return status == "ok" and not planned.save <= extras

    return [i for i in (range(len(plan)) if among is None else among) if force or wanted(plan[i])]


def ordered(plan: Sequence[PlannedCell], cells: Sequence[int], order: Order) -> list[int]:
    """The cells in the order in which they start. `seed-first`: the whole grid for one seed, then for the next."""
    if order == "grid":
        return list(cells)
    if order == "shuffled":
        return random.Random(0).sample(list(cells), len(cells))
    rank = {seed: k for k, seed in enumerate(dict.fromkeys(planned.cell.seed for planned in plan))}
    return sorted(cells, key=lambda i: rank[plan[i].cell.seed])


def enqueue(queue: PackQueue, cells: Sequence[int], order: Order, late: Collection[int] = ()) -> None:
    """Add ordered cells to the queue, `late` ones last; with `seed-first` packs keep to one seed where that is enough work."""
    seeds = groupby((i for i in cells if i not in late), lambda i: queue.plan[i].cell.seed if order == "seed-first" else 0)
    for rank, (_, group) in enumerate(seeds):
        queue.add(list(group), rank)
    queue.add([i for i in cells if i in late], LATE)


@dataclass
class Sweep:
    """A sweep under way: its queue, its store, its lease, and the ears of the display."""

    grid: Grid
    queue: PackQueue
    store: Store
    lease: Lease
    provenance: Provenance
    fail_fast: bool = False
    later: Sequence[int] = ()
    """Cells that may be added to the queue while the sweep runs."""
    on_change: Callable[[], None] = lambda: None
    fatal: str = ""
    """Why the sweep cannot go on at all, such as a full disk."""
    interrupted: bool = False
    on_leaving: list[Callable[[], None]] = field(default_factory=list)
    """What is to be given back should the process end at once."""
    _leased: tuple[str, ...] = ()

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
        self.queue.finished(pack_id, outcome.statuses, outcome.headline, outcome.seconds, outcome.device)
        self.changed()

    def failed(self, pack_id: str, failure: Failure) -> None:
        """A pack failed: its halves are tried again, and a cell that fails alone becomes a row with its reason and log."""
        for i in self.queue.failed(pack_id, failure.out_of_memory):
            planned = self.grid.cells[i]
            try:
                path = self.store.write_log(planned.cell_id, failure.log)
                self.store.commit(pack_id, [failed_row(planned, pack_id, failure.reason, path, self.provenance)], failed=True)
            except ResultsError as error:
                self.cannot_go_on(str(error))
            if self.fail_fast:
                self.drain()
        self.changed()

    def cannot_go_on(self, reason: str) -> None:
        """The store cannot be written: nothing is lost, but nothing more can be done."""
        self.fatal = self.fatal or reason
        self.drain()

    def changed(self) -> None:
        """Tell other drivers which cells are in flight here, when packs came or went; redraw."""
        in_flight = tuple(self.queue.in_flight)
        if in_flight != self._leased:
            self._leased = in_flight
            packs = list(self.queue.in_flight.values())  # the lease reads it later, when others may be in flight
            self.lease.update(self.grid.cells[i].cell_id for p in packs for i in p.cells)
        self.on_change()


class DebugRunner:
    """The same sweep without Ray: packs one after the other in this process."""

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
