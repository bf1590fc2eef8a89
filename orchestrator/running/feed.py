"""The feed of a sweep's queue: missing cells, cells that searches want next, and what other sweeps train and have trained."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from orchestrator.grid.load import Grid
from orchestrator.plan.missing import enqueue, missing_cells, ordered
from orchestrator.plan.packing import LATE, Order, PackQueue
from orchestrator.search.searchers import Searchers
from sweepkit.console.words import counted
from sweepkit.store.files import ResultsError
from sweepkit.store.files.base import COMPACTED, PACKS
from sweepkit.store.leases import Driver, Lease, others_in_flight
from sweepkit.store.snapshot import Asked
from sweepkit.store.store import Store
from sweepkit.store.upkeep.notes import tell
from sweepkit.store.views import Statuses

LOOK_EVERY_S = 0.5
"""Least seconds between two looks at what other sweeps train: packs may start by the dozen per second."""
LOOKING = 0.1
"""Largest share of a sweep's time that these looks may take: a bucket or a store of a million networks takes long to read."""


@dataclass
class SweepFeed:
    """Queues a sweep's cells. Cells that another sweep is training come last, and each pack is looked up before it starts.

    Of two runs of one sweep the one that began later goes on from the end of the queue once it sees the other, so that they meet
    in the middle. What both begin within a second, and the last cells, which nobody waits for, are trained twice and count once.
    """

    grid: Grid
    store: Store
    before: Statuses
    """The contents of the store at the start."""
    searchers: Searchers
    order: Order
    whole: bool
    """Whether the grid is the whole file, without overrides."""
    say: Callable[[str], None]
    lease: Lease | None = None
    """The sweep's own lease, once it has one: it is not another sweep."""
    command: str = ""
    """The command that asks for the grid."""
    note: str = ""
    """A note on the sweep, for its plan."""
    _late: set[int] = field(default_factory=set)
    _elsewhere: dict[str, Driver] = field(default_factory=dict)
    _now: Statuses | None = None
    """The contents of the store at the last look, if that found cells of this grid elsewhere."""
    _next_look: float = 0.0
    _listed: object = None
    """The files of the store when this sweep was planned; None after the first look."""
    _met: set[str] = field(default_factory=set)
    """Leases of sweeps that were told of."""

    def __post_init__(self) -> None:
        self._listed = self._listing()

    def enqueue(self, queue: PackQueue, cells: Sequence[int]) -> None:
        """Add ordered cells to the queue. ResultsError if the store cannot be read."""
        self._look()
        late = {i for i in cells if self._id(i) in self._elsewhere}
        who = {driver.path: driver.description for i in late if (driver := self._elsewhere[self._id(i)])}
        if not who.keys() <= self._met:
            told = f"{counted(len(late), 'cell')} in flight in another sweep ({', '.join(who.values())})"
            self.say(f"{told}: such cells come last, if still missing then")
            self._met |= who.keys()
        self._late |= late
        enqueue(queue, cells, self.order, late)
        if not queue.turned and self._comes_later():
            queue.turn()

    def accepted(self, queue: PackQueue, cells: list[int]) -> list[int]:
        if time.monotonic() >= self._next_look:
            try:
                self._look()
            except ResultsError as error:
                queue.stop(str(error))
                return []
            self._tell()
        wanted = self._still_wanted(cells)
        turns = not queue.turned and self._comes_later()
        later = {i for i in wanted if i not in self._late and (turns or self._id(i) in self._elsewhere)}
        self._late |= later
        queue.add([i for i in wanted if i in later], LATE)
        if turns:
            queue.turn()
        return [i for i in wanted if i not in later]

    def _look(self) -> None:
        """Look at what other sweeps train, and at the store if some of it is of this grid. ResultsError if it cannot be read."""
        began = time.monotonic()
        try:
            found = others_in_flight(self.store, own=self.lease.path if self.lease else "")
        except ResultsError:  # a courtesy: a sweep alone needs no look, and commits tell what is wrong with the store
            found = {}
        self._elsewhere = {cell: driver for cell, driver in found.items() if cell in self._ids}
        # Between its plan and its first pack a sweep starts Ray; another one may have trained meanwhile, and ended.
        is_first, before, self._listed = self._listed is not None, self._listed, None
        if self._elsewhere or self._late or (is_first and self._listing() != before):
            self._now = self.store.statuses()
        ended = time.monotonic()
        self._next_look = ended + max(LOOK_EVERY_S, (ended - began) / LOOKING)

    def _tell(self) -> None:
        """Say which other sweeps train cells of this one, each once."""
        new = {driver.path: driver.description for driver in self._elsewhere.values() if driver.path not in self._met}
        for who in new.values():
            self.say(f"another sweep ({who}) trains cells of this one: such cells come last, if still missing then")
        self._met |= new.keys()

    def _comes_later(self) -> bool:
        """True if another run of this sweep, which began before it, trains cells of it now."""
        if self.lease is None:
            return False
        own = self.lease.began, self.lease.path
        return any(driver.sweep == self.grid.sweep and (driver.began, driver.path) < own for driver in self._elsewhere.values())

    def _still_wanted(self, cells: list[int]) -> list[int]:
        """The cells that no other sweep has stored since this one began, with all that this grid saves of them."""
        if self._now is None:
            return cells
        now = self._now
        changed = [i for i in cells if now.get(self._id(i)) != self.before.get(self._id(i))]
        stored = {*changed} - {*missing_cells(self.grid.cells, now, changed)}
        return [i for i in cells if i not in stored]

    def _listing(self) -> object:
        return [self.store.files.entries(folder) for folder in (PACKS, COMPACTED)]

    @cached_property
    def _ids(self) -> set[str]:
        return {planned.cell_id for planned in self.grid.cells}

    def refill(self, queue: PackQueue) -> bool:
        if not self.searchers:
            return False
        try:
            found = self.searchers.cells_to_train(lambda i: i in queue.ended or i in queue.dropped)
            if found:
                self.enqueue(queue, ordered(self.grid.cells, found, self.order))
                if self.searchers.plan_is_due():
                    self.write_plan()
        except ResultsError as error:
            queue.stop(str(error))
            return False
        return bool(found)

    def write_plan(self) -> None:
        """Record in the store which cells the sweep asks for.

        Called once nothing can be refused any more: the cells of a refused plan must not count as missing.
        """
        wanted = dict.fromkeys([*self.grid.fixed, *self.searchers.asked])
        rungs = ((search.find.question, i) for search in self.grid.searches for rung in search.rungs.values() for i in rung)
        asked = {self._id(i): question for question, i in rungs if i in wanted}
        text = self.grid.source.text if self.grid.source else ""
        self.store.write_plan(self.grid.sweep, map(self._id, wanted), self.whole, asked, Asked(text, self.command))
        if self.note:
            tell(self.store.files, self.grid.sweep, self.note)
            self.note = ""

    def _id(self, i: int) -> str:
        return self.grid.cells[i].cell_id
