"""What other sweeps on the same results are training now: left to them as long as there is anything else to do."""

from collections import Counter
from collections.abc import Callable, Sequence

from orchestrator.driver import Statuses, Sweep, enqueue
from orchestrator.packing import Order
from store.files import ResultsError
from store.leases import others_in_flight


class Others:
    """Queues a sweep's cells; those in flight elsewhere come last, and are looked up once more before they start."""

    def __init__(self, job: Sweep, before: Statuses, say: Callable[[str], None]) -> None:
        self.job, self.before, self.say = job, before, say
        self._late: set[int] = set()
        job.queue.accept = self._still_missing

    def enqueue(self, cells: Sequence[int], order: Order) -> None:
        """Add ordered cells to the queue. ResultsError where the store cannot be read."""
        elsewhere = others_in_flight(self.job.store)
        late = {i: elsewhere[self._id(i)] for i in cells if self._id(i) in elsewhere}
        if late:
            who = ", ".join(Counter(late.values()))
            self.say(f"{len(late)} cells are in flight in another sweep ({who}): they come last, if still missing then")
        self._late |= late.keys()
        enqueue(self.job.queue, cells, order, late)

    def _still_missing(self, cells: list[int]) -> list[int]:
        if self._late.isdisjoint(cells):
            return cells
        try:
            now = self.job.store.statuses()
        except ResultsError as error:
            self.job.cannot_go_on(str(error))
            return []
        return [i for i in cells if i not in self._late or now.get(self._id(i)) == self.before.get(self._id(i))]

    def _id(self, i: int) -> str:
        return self.job.grid.cells[i].cell_id
