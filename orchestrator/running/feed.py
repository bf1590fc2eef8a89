"""The feed of a sweep's queue: missing cells, cells that searches want next, and a last look at what other sweeps trained."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from orchestrator.grid.load import Grid
from orchestrator.plan.missing import enqueue, ordered
from orchestrator.plan.packing import Order, PackQueue
from orchestrator.search.searchers import Searchers
from sweepkit.store.files import ResultsError
from sweepkit.store.leases import others_in_flight
from sweepkit.store.store import Store
from sweepkit.store.views import Statuses


@dataclass
class SweepFeed:
    """Queues a sweep's cells. Cells that another sweep is training come last, and are looked up once more before they start."""

    grid: Grid
    store: Store
    before: Statuses
    """The contents of the store at the start."""
    searchers: Searchers
    order: Order
    whole: bool
    """Whether the grid is the whole file, without overrides."""
    say: Callable[[str], None]
    _late: set[int] = field(default_factory=set)

    def enqueue(self, queue: PackQueue, cells: Sequence[int]) -> None:
        """Add ordered cells to the queue. ResultsError if the store cannot be read."""
        elsewhere = others_in_flight(self.store)
        late = {i: elsewhere[self._id(i)] for i in cells if self._id(i) in elsewhere}
        if late:
            who = ", ".join(Counter(late.values()))
            self.say(f"{len(late)} cells are in flight in another sweep ({who}): they come last, if still missing then")
        self._late |= late.keys()
        enqueue(queue, cells, self.order, late)

    def accepted(self, queue: PackQueue, cells: list[int]) -> list[int]:
        if self._late.isdisjoint(cells):
            return cells
        try:
            now = self.store.statuses()
        except ResultsError as error:
            queue.stop(str(error))
            return []
        return [i for i in cells if i not in self._late or now.get(self._id(i)) == self.before.get(self._id(i))]

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
