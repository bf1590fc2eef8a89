"""The feed of a sweep's queue: missing cells, cells that searches want next, and a last look at what other sweeps trained."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from orchestrator.grid.load import Grid
from orchestrator.plan.missing import enqueue, ordered
from orchestrator.plan.packing import LATE, Order, PackQueue
from orchestrator.search.searchers import Searchers
from sweepkit.store.files import ResultsError
from sweepkit.store.leases import Driver, others_in_flight
from sweepkit.store.store import Store
from sweepkit.store.views import Statuses

LOOK_EVERY_S = 0.5
"""Least seconds between two looks at what other sweeps train: packs may start by the dozen per second."""


@dataclass
class SweepFeed:
    """Queues a sweep's cells. Cells that another sweep is training come last, and are looked up once more before they start.

    Two sweeps of the same cells meet in the middle: one of them, by the names of their leases, goes on from the end of its queue
    once it sees the other, and each looks up what the other has stored meanwhile.
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
    lease: str = ""
    """The path of the sweep's own lease."""
    _late: set[int] = field(default_factory=set)
    _elsewhere: dict[str, Driver] = field(default_factory=dict)
    _looked_at: float = 0.0
    _shares: bool = False
    """Whether another sweep was seen to train cells of this grid."""
    _now: Statuses | None = None
    """The contents of the store at the last look at what another sweep has stored."""

    def enqueue(self, queue: PackQueue, cells: Sequence[int]) -> None:
        """Add ordered cells to the queue. ResultsError if the store cannot be read."""
        self._elsewhere, self._looked_at = others_in_flight(self.store, own=self.lease), time.monotonic()
        late = [i for i in cells if self._id(i) in self._elsewhere]
        if late:
            who = ", ".join(Counter(self._elsewhere[self._id(i)].description for i in late))
            self.say(f"{len(late)} cells are in flight in another sweep ({who}): they come last, if still missing then")
        self._shares |= bool(late)
        self._late.update(late)
        enqueue(queue, cells, self.order, late)

    def accepted(self, queue: PackQueue, cells: list[int]) -> list[int]:
        turns = False
        try:
            is_due = time.monotonic() >= self._looked_at + LOOK_EVERY_S
            if is_due:
                turns = self._look(queue)
            if (is_due and self._shares) or not self._late.isdisjoint(cells):
                self._now = self.store.statuses()
        except ResultsError as error:
            queue.stop(str(error))
            return []
        wanted = [i for i in cells if self._now is None or self._now.get(self._id(i)) == self.before.get(self._id(i))]
        later = [i for i in wanted if i not in self._late and (turns or self._id(i) in self._elsewhere)]
        self._late.update(later)
        queue.add(later, LATE)
        return [i for i in wanted if i not in later]

    def _look(self, queue: PackQueue) -> bool:
        """Look at what other sweeps train. True if the queue turns, as one is met for the first time: the other one starts the
        cells that were about to start, too."""
        self._elsewhere, self._looked_at = others_in_flight(self.store, own=self.lease), time.monotonic()
        met = [driver for cell, driver in self._elsewhere.items() if cell in self._ids]
        if self._shares or not met:
            return False
        self._shares = True
        who = ", ".join(dict.fromkeys(driver.description for driver in met))
        self.say(f"another sweep ({who}) trains cells of this one: each leaves the other what it has begun")
        if turns := self.lease > min(driver.path for driver in met):
            queue.turn()
        return turns

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
        self.store.write_plan(self.grid.sweep, map(self._id, wanted), self.whole, asked)

    def _id(self, i: int) -> str:
        return self.grid.cells[i].cell_id
