"""A sweep's queue is fed: cells that another sweep has in flight come last, and only if they still want training; two
sweeps of the same cells meet in the middle."""

import math
from types import SimpleNamespace

import pytest

from orchestrator.cost.model import CostModel
from orchestrator.grid.load import load_grid
from orchestrator.plan.machine import Machine
from orchestrator.plan.missing import ordered
from orchestrator.plan.packing import PackQueue
from orchestrator.running.feed import SweepFeed
from sweepkit.store.files import ResultsError
from sweepkit.store.leases import Lease
from sweepkit.store.store import Store
from tests.store_rows import row


@pytest.fixture
def always_looks(monkeypatch):
    monkeypatch.setattr("orchestrator.running.feed.LOOK_EVERY_S", 0.0)
    monkeypatch.setattr("orchestrator.running.feed.LOOKING", math.inf)


@pytest.mark.usefixtures("always_looks")
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
    assert said and said[0].startswith("3 cells in flight in another sweep")
    store.commit("other", [row(cell) for cell in ids[1:3]])
    assert feed.accepted(queue, [0, 1, 2, 3]) == [0, 3]


def a_sweep(grid, store, order="grid", **lease):
    """The lease, the queue and what it says, of a sweep of all cells that trains one pack at a time."""
    said, own = [], Lease(store, sweep=grid.sweep, **lease)
    feed = SweepFeed(grid, store, store.statuses(), (), order, True, said.append, own)
    queue = PackQueue(grid.cells, Machine(1, 2**32), CostModel(), pack_seconds=1e9, feed=feed)
    feed.enqueue(queue, ordered(grid.cells, range(len(grid.cells)), order))
    return own, queue, said


def trained_in_turns(grid, store, sweeps):
    """Cells in the order in which sweeps store them, in turns, a pack each at a time."""
    trained = []
    while any(packs := [queue.next() for _, queue, _ in sweeps]):
        for (lease, _, _), pack in zip(sweeps, packs, strict=True):
            lease.update(grid.cells[i].cell_id for i in (pack.cells if pack else ()))
        for (_, queue, _), pack in zip(sweeps, packs, strict=True):
            if pack:
                trained += pack.cells
                store.commit(f"{len(trained)}", [row(grid.cells[i].cell_id) for i in pack.cells])
                queue.finished(pack.pack_id, ["ok"] * len(pack.cells), [None] * len(pack.cells), 1.0)
    return trained


@pytest.fixture
def packs_of_two(monkeypatch, always_looks):
    """Packs of two cells, and a look before each."""
    monkeypatch.setattr("orchestrator.plan.packing.SMALLEST_PACK_S", 0.0)
    monkeypatch.setattr(PackQueue, "cell_seconds", lambda self, i: 1.0)
    monkeypatch.setattr(PackQueue, "_seconds", lambda self, shape: 1.0)
    monkeypatch.setattr(PackQueue, "remaining_seconds", lambda self: 6.0)


@pytest.mark.usefixtures("packs_of_two")
@pytest.mark.parametrize("order", ["grid", "seed-first"])
def test_two_sweeps_that_start_together_meet_in_the_middle(small_grid, results, order):
    grid, store = load_grid(small_grid), Store(results)
    sweeps = [a_sweep(grid, store, order) for _ in range(2)]
    trained = trained_in_turns(grid, store, sweeps)
    assert sorted({*trained}) == list(range(12))
    assert len(trained) <= 16, "both begin with one pack, unseen, and may with the one in the middle at the same moment"
    assert [queue.turned for _, queue, _ in sweeps] == [False, True], "the later one"
    assert all(len(said) == 1 and "such cells come last" in said[0] for *_, said in sweeps)
    for _, queue, _ in sweeps:
        assert {*queue.ended} | queue.dropped == {*range(12)}


@pytest.mark.usefixtures("packs_of_two")
@pytest.mark.parametrize("order", ["grid", "seed-first"])
@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_a_sweep_that_starts_amid_another_one_goes_on_from_the_end(small_grid, results, order, names):
    grid, store = load_grid(small_grid), Store(results)
    first = a_sweep(grid, store, order, driver_id=names[0])
    begun = first[1].next()
    first[0].update(grid.cells[i].cell_id for i in begun.cells)
    second = a_sweep(grid, store, order, driver_id=names[1])
    assert (first[1].turned, second[1].turned) == (False, True)
    store.commit("begun", [row(grid.cells[i].cell_id) for i in begun.cells])
    first[1].finished(begun.pack_id, ["ok"] * len(begun.cells), [None] * len(begun.cells), 1.0)
    trained = trained_in_turns(grid, store, [first, second])
    assert sorted([*begun.cells, *{*trained}]) == list(range(12)) and len(trained) <= 12, "at most the pack in the middle twice"


@pytest.mark.usefixtures("packs_of_two")
def test_another_sweep_with_a_cell_in_common_turns_nothing(small_grid, results):
    grid, store = load_grid(small_grid), Store(results)
    with Lease(store, "a", sweep="another") as lease:
        lease.update([grid.cells[3].cell_id])
        lease.beat()
        _, queue, said = a_sweep(grid, store)
        assert not queue.turned and said[0].startswith("1 cell in flight in another sweep")
        packs = []
        while pack := queue.next():
            packs.append(pack.cells)
    assert packs[-1] == (3,) and sorted(i for pack in packs for i in pack) == list(range(12))


@pytest.mark.usefixtures("packs_of_two")
def test_a_cell_that_another_sweep_stores_without_what_this_one_saves_is_trained(small_grid, results):
    grid, store = load_grid(small_grid), Store(results)
    _, queue, _ = a_sweep(grid, store)
    with Lease(store, "other") as other:
        other.update([grid.cells[0].cell_id])
        other.beat()
        store.commit("other", [row(grid.cells[i].cell_id, curves=curves) for i, curves in ((2, 0), (3, 3))])
        asked = [i for pack in iter(queue.next, None) for i in pack.cells]
    assert 2 in asked and 3 not in asked and queue.dropped == {3}


def test_what_another_sweep_stored_between_plan_and_start_is_not_trained_again(small_grid, results):
    """It began and ended while Ray started here: no lease tells of it."""
    grid, store = load_grid(small_grid), Store(results)
    store.commit("before", [row(grid.cells[0].cell_id)])
    feed = SweepFeed(grid, store, store.statuses(), (), "grid", True, lambda words: None)
    store.commit("other", [row(grid.cells[i].cell_id) for i in range(1, 7)])
    queue = PackQueue(grid.cells, Machine(1, 2**32), CostModel(), pack_seconds=1e9, feed=feed)
    feed.enqueue(queue, range(1, 12))
    assert sorted(i for pack in iter(queue.next, None) for i in pack.cells) == list(range(7, 12))
    assert queue.dropped == {*range(1, 7)}


@pytest.mark.usefixtures("packs_of_two")
def test_a_look_that_fails_stops_nothing(small_grid, results, monkeypatch):
    def unheard(store, own):
        raise ResultsError("no answer")

    monkeypatch.setattr("orchestrator.running.feed.others_in_flight", unheard)
    grid = load_grid(small_grid)
    _, queue, _ = a_sweep(grid, Store(results))
    assert sorted(i for pack in iter(queue.next, None) for i in pack.cells) == list(range(12)) and not queue.fatal
