"""Packs: every cell in exactly one, all of one shape, within time and memory."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.cost.calibration import Rates
from orchestrator.cost.model import CostModel
from orchestrator.grid.load import PlannedCell
from orchestrator.plan.missing import enqueue, ordered
from orchestrator.plan.packing import SMALLEST_PACK_S, Filled, Machine, PackQueue
from trainables.cell import cell_of
from trainables.tasks import SameDifferent

PROCESS_BYTES = Rates().process_bytes
MACHINE = Machine(slots=2, bytes_per_pack=4 * 2**30)


def planned(L=3, d=16, seed=0, gamma=1.0, sigma2=0.0, steps=1000, width=64):
    task = SameDifferent(L=L, d=d, sigma2=sigma2)
    cell = cell_of(task, width=width, gamma=gamma, base_lr=0.1, steps=steps, seed=seed)
    return PlannedCell(cell.cell_id, cell, frozenset({"curves"}))


def plan(n_seeds=4, **kw):
    return [planned(L=L, seed=s, gamma=g, **kw) for s in range(n_seeds) for L in (3, 4, 5) for g in (1.0, 0.1)]


def drain(queue):
    """Work a queue off, each pack ending before the next starts."""
    packs = []
    while pack := queue.next():
        packs.append(pack)
        queue.finished(pack.pack_id, ["ok"] * len(pack.cells), [0.9] * len(pack.cells), pack.seconds)
    return packs


@given(
    seeds=st.integers(1, 8), pack_seconds=st.floats(0.01, 100), slots=st.integers(1, 9), steps=st.sampled_from([1000, 100_000])
)
@settings(max_examples=40, deadline=None)
def test_every_cell_is_in_one_pack_of_its_shape(seeds, pack_seconds, slots, steps):
    cells = plan(seeds, steps=steps)
    queue = PackQueue(cells, Machine(slots, 2**32), CostModel(), pack_seconds=pack_seconds)
    queue.add(range(len(cells)))
    packs = drain(queue)
    assert sorted(i for p in packs for i in p.cells) == list(range(len(cells)))
    for p in packs:
        assert len({cells[i].cell.shape() for i in p.cells}) == 1
    assert queue.ended == dict.fromkeys(range(len(cells)), "ok")
    assert len({p.pack_id for p in packs}) == len(packs)


@given(
    order=st.sampled_from(["seed-first", "grid", "shuffled"]), pack_seconds=st.floats(0.01, 100), late=st.sets(st.integers(0, 95))
)
@settings(max_examples=30, deadline=None)
def test_cells_of_a_pack_lie_side_by_side(order, pack_seconds, late):
    cells = plan(16, steps=100_000)
    queue = PackQueue(cells, MACHINE, CostModel(), pack_seconds=pack_seconds)
    enqueue(queue, ordered(cells, range(len(cells)), order), order, late)
    place = {i: k for k, i in enumerate(queue.side_by_side())}
    assert sorted(place) == list(range(len(cells)))
    for p in drain(queue):
        places = [place[i] for i in p.cells]
        assert places == list(range(places[0], places[0] + len(places)))


def test_equal_shapes_are_one_object_and_other_noise_is_another_shape():
    cells = [planned(seed=0), planned(seed=1, gamma=0.1), planned(seed=2, sigma2=1.0), planned(seed=0, width=128)]
    queue = PackQueue(cells, MACHINE, CostModel())
    shapes = queue._shape
    assert shapes[0] is shapes[1]
    assert len(set(shapes)) == 3


def test_packs_keep_to_the_time_target():
    cells = [planned(seed=s, sigma2=1.0, steps=100_000) for s in range(60)]
    queue = PackQueue(cells, MACHINE, CostModel(), pack_seconds=60)
    queue.add(range(60))
    each = queue.cell_seconds(0)
    assert 1 < each < 30  # the sizes below mean something
    for p in drain(queue):
        assert len(p.cells) == 1 or p.seconds <= 60


def test_packs_shrink_towards_the_end_so_that_slots_finish_together():
    cells = [planned(seed=s, sigma2=1.0, steps=100_000) for s in range(20)]
    queue = PackQueue(cells, MACHINE, CostModel(), pack_seconds=1000)
    queue.add(range(20))
    sizes = [len(p.cells) for p in drain(queue)]
    assert sizes[0] > sizes[-1]
    assert sizes[-1] * queue.cell_seconds(0) <= max(SMALLEST_PACK_S, queue.cell_seconds(0))


def test_packs_keep_to_the_memory():
    cells = [planned(seed=s, d=512, width=4096, sigma2=1.0, steps=1000) for s in range(40)]
    machine = Machine(slots=1, bytes_per_pack=PROCESS_BYTES + 600 * 2**20)
    queue = PackQueue(cells, machine, CostModel(), pack_seconds=1e9)
    queue.add(range(40))
    packs = drain(queue)
    assert all(p.bytes <= machine.bytes_per_pack for p in packs)
    assert len(packs) > 5


def test_cost_improves_as_packs_finish():
    cells = [planned(seed=s) for s in range(40)]
    queue = PackQueue(cells, MACHINE, CostModel(), engine="gram", pack_seconds=1e-9)
    queue.add(range(40))
    before = queue.remaining_seconds()
    pack = queue.next()
    queue.finished(pack.pack_id, ["ok"], [0.9], 100 * pack.seconds)
    assert queue.remaining_seconds() == pytest.approx(100 * before * 39 / 40, rel=1e-6)


def test_a_failing_pack_is_halved_down_to_the_cell_that_fails():
    cells = [planned(seed=s) for s in range(8)]
    queue = PackQueue(cells, MACHINE, CostModel(), pack_seconds=1e9)
    queue.add(range(8))
    failed = []
    while pack := queue.next():
        if 5 in pack.cells:
            failed += queue.failed(pack.pack_id)
        else:
            queue.finished(pack.pack_id, ["ok"] * len(pack.cells), [None] * len(pack.cells), 1.0)
    assert failed == [5]
    assert queue.ended == {i: "failed" if i == 5 else "ok" for i in range(8)}


def test_out_of_memory_makes_later_packs_smaller():
    cells = [planned(seed=s, d=512, width=4096, sigma2=1.0) for s in range(40)]
    machine = Machine(slots=1, bytes_per_pack=PROCESS_BYTES + 2000 * 2**20)
    queue = PackQueue(cells, machine, CostModel(), pack_seconds=1e9)
    queue.add(range(40))
    first = queue.next()
    assert queue.failed(first.pack_id, out_of_memory=True) == []
    sizes = [len(p.cells) for p in drain(queue)]
    assert sizes[:2] == [len(first.cells) // 2, len(first.cells) - len(first.cells) // 2]
    assert max(sizes) < len(first.cells)


def test_packs_that_run_out_of_memory_together_tell_it_once():
    cells = [planned(seed=s) for s in range(32)]
    queue = PackQueue(cells, MACHINE, CostModel(), pack_seconds=1e-9)
    queue.add(range(32))
    for pack in [queue.next() for _ in range(8)]:
        queue.failed(pack.pack_id, out_of_memory=True)
    assert queue.memory_factor == 2


def test_cells_of_another_sweep_start_last_and_in_packs_of_their_own():
    cells = [planned(seed=s) for s in range(10)]
    queue = PackQueue(cells, MACHINE, CostModel(), pack_seconds=1e9)
    enqueue(queue, range(10), "seed-first", late={0, 1, 2})
    packs = drain(queue)
    assert [set(p.cells) for p in packs] == [set(range(3, 10)), {0, 1, 2}]


def test_seed_first_keeps_packs_to_one_seed_where_that_is_enough_work():
    cells = [planned(seed=s, gamma=g, sigma2=1.0, steps=100_000) for s in range(4) for g in (1.0, 0.3, 0.1)]
    queue = PackQueue(cells, MACHINE, CostModel(), pack_seconds=1e9)
    enqueue(queue, ordered(cells, range(12), "seed-first"), "seed-first")
    assert queue.cell_seconds(0) > SMALLEST_PACK_S / 3  # three cells are enough for a pack
    seeds = [[cells[i].cell.seed for i in p.cells] for p in drain(queue)]
    assert all(len(set(pack)) == 1 for pack in seeds)
    started = [pack[0] for pack in seeds]
    assert started == sorted(started)


def test_short_cells_of_several_seeds_share_a_pack():
    cells = [planned(seed=s) for s in range(50)]
    queue = PackQueue(cells, MACHINE, CostModel(), pack_seconds=60)
    enqueue(queue, ordered(cells, range(50), "seed-first"), "seed-first")
    assert len(drain(queue)) == 1


def test_a_card_takes_as_many_packs_as_share_it():
    cells = [planned(seed=s, sigma2=1.0) for s in range(64)]
    one = PackQueue(cells, Machine(16, 2**32, gpu_slots=1, gpu_bytes_per_pack=2**33), CostModel())
    four = PackQueue(cells, Machine(16, 2**32, gpu_slots=4, gpu_bytes_per_pack=2**31), CostModel())
    for queue in (one, four):
        queue.add(range(64))
    assert one.remaining_seconds() == pytest.approx(4 * four.remaining_seconds())


@pytest.mark.parametrize("engine", [None, "gram"])
def test_noiseless_cells_go_to_the_card_where_there_is_one(engine):
    cells = [planned(seed=s, width=1024, d=256) for s in range(8)]
    queue = PackQueue(cells, Machine(16, 2**32, gpu_slots=4, gpu_bytes_per_pack=2**33), CostModel(), engine)
    queue.add(range(8))
    assert {(p.engine, p.device) for p in drain(queue)} == {("gram", "cuda")}


def test_noisy_and_noiseless_cells_of_one_shape_go_to_their_own_engines():
    cells = [planned(seed=s, sigma2=s2) for s in range(3) for s2 in (0.0, 1.0)]
    queue = PackQueue(cells, MACHINE, CostModel(), pack_seconds=1e9)
    queue.add(range(6))
    assert {(p.engine, frozenset(cells[i].cell.task.sigma2 for i in p.cells)) for p in drain(queue)} == {
        ("gram", frozenset({0.0})),
        ("batched", frozenset({1.0})),
    }


def test_draining_starts_nothing():
    queue = PackQueue([planned()], MACHINE, CostModel())
    queue.add([0])
    queue.draining = True
    assert queue.next() is None
    assert queue.n_pending == 1


class AllButOne(Filled):
    """Another sweep has trained cell 1."""

    def accepted(self, queue, cells):
        return [i for i in cells if i != 1]


def test_late_cells_are_looked_up_before_they_start():
    cells = [planned(seed=s) for s in range(3)]
    queue = PackQueue(cells, MACHINE, CostModel(), pack_seconds=1e9, feed=AllButOne())
    queue.add(range(3))
    assert queue.next().cells == (0, 2)
    assert queue.n_cells == 2


def test_draining_counts_what_is_in_flight_alone():
    cells = [planned(seed=s, sigma2=1.0, steps=100_000) for s in range(40)]
    queue = PackQueue(cells, MACHINE, CostModel(), pack_seconds=20)
    queue.add(range(40))
    packs = [queue.next(), queue.next()]
    queue.draining = True
    assert queue.remaining_seconds() == pytest.approx(max(p.seconds for p in packs), rel=0.01)
