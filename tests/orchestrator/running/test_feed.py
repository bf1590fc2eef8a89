"""A sweep's queue is fed: cells that another sweep has in flight come last, and only if they still want training."""

from types import SimpleNamespace

from orchestrator.cost.model import CostModel
from orchestrator.grid.load import load_grid
from orchestrator.plan.machine import Machine
from orchestrator.plan.packing import PackQueue
from orchestrator.running.feed import SweepFeed
from sweepkit.store.leases import Lease
from sweepkit.store.store import Store
from tests.store_rows import row


def test_of_the_cells_in_flight_elsewhere_those_are_dropped_that_the_other_sweep_stored(small_grid, results):
    """Cells 0 and 1 were stored before without the curves asked for; the other sweep has by now stored the curves of cell 1, and
    cell 2."""
    grid, store, said = load_grid(small_grid), Store(results), []
    ids = [planned.cell_id for planned in grid.cells]
    store.commit("before", [row(cell, curves=0) for cell in ids[:2]])
    feed = SweepFeed(grid, store, store.statuses(), SimpleNamespace(), "grid", True, said.append)
    queue = PackQueue(grid.cells, Machine(2, 2**32), CostModel(), pack_seconds=1e9, feed=feed)
    with Lease(store, "other") as lease:
        lease.update(ids[:3])
        lease.beat()
        feed.enqueue(queue, range(4))
    assert said and said[0].startswith("3 cells are in flight in another sweep")
    store.commit("other", [row(cell) for cell in ids[1:3]])
    assert feed.accepted(queue, [0, 1, 2, 3]) == [0, 3]
