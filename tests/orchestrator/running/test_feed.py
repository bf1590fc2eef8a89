"""A sweep's queue is fed: cells that another sweep has in flight come last, and only if they still want training; two
sweeps of the same cells meet in the middle."""

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


def test_two_sweeps_that_start_together_meet_in_the_middle(small_grid, results, monkeypatch):
    """Both train packs of two networks, in turns, and see each other first when each has begun one: the same."""
    monkeypatch.setattr("orchestrator.running.feed.LOOK_EVERY_S", 0.0)
    grid, store = load_grid(small_grid), Store(results)
    assert len(grid.cells) == 12
    trained, sweeps = [], []
    for _ in range(2):
        said = []
        feed = SweepFeed(grid, store, store.statuses(), (), "grid", True, said.append, Lease(store).path)
        queue = PackQueue(grid.cells, Machine(1, 2**32), CostModel(), pack_seconds=1e9, feed=feed)
        feed.enqueue(queue, range(12))
        monkeypatch.setattr(queue, "_of_shape", lambda lane, queue=queue: list(queue._lanes[lane])[:2])
        sweeps.append((Lease(store, feed.lease.removeprefix("leases/").removesuffix(".json")), queue, said))
    packs = [queue.next() for _, queue, _ in sweeps]
    while any(packs):
        for (lease, _, _), pack in zip(sweeps, packs, strict=True):
            lease.update(grid.cells[i].cell_id for i in (pack.cells if pack else ()))
        for (_, queue, _), pack in zip(sweeps, packs, strict=True):
            if pack:
                trained += pack.cells
                store.commit(f"{len(trained)}", [row(grid.cells[i].cell_id) for i in pack.cells])
                queue.finished(pack.pack_id, ["ok"] * len(pack.cells), [None] * len(pack.cells), 1.0)
        packs = [queue.next() for _, queue, _ in sweeps]
    assert {*trained} == {*range(12)}
    assert len(trained) == 16, "both begin with one pack, unseen, and with the one in the middle at the same moment"
    assert all("each leaves the other what it has begun" in said[0] for *_, said in sweeps)
    for _, queue, _ in sweeps:
        assert {*queue.ended} | queue.dropped == {*range(12)}


def test_cells_that_another_sweep_begins_later_come_last(small_grid, results, monkeypatch):
    monkeypatch.setattr("orchestrator.running.feed.LOOK_EVERY_S", 0.0)
    grid, store = load_grid(small_grid), Store(results)
    feed = SweepFeed(grid, store, store.statuses(), (), "grid", True, lambda words: None, "leases/0.json")
    queue = PackQueue(grid.cells, Machine(2, 2**32), CostModel(), pack_seconds=1e9, feed=feed)
    feed.enqueue(queue, range(12))
    first = queue.next().cells
    with Lease(store, "other") as lease:
        lease.update([grid.cells[i].cell_id for i in range(12) if i not in first][:3])
        lease.beat()
        packs = []
        while pack := queue.next():
            packs.append(pack.cells)
    late = [i for i in range(12) if i not in first][:3]
    assert not queue.dropped and {*packs[-1]} <= {*late}
    assert sorted(i for pack in packs for i in pack) == [i for i in range(12) if i not in first], "none is stored"
