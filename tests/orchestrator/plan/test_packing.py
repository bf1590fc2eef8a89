"""Packs: every cell in exactly one, all that may share it, within time and memory."""

from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.cost.calibration import Rates
from orchestrator.cost.model import CostModel
from orchestrator.grid.load import load_grid
from orchestrator.grid.planned import PlannedCell
from orchestrator.plan.machine import Machine
from orchestrator.plan.missing import enqueue, ordered
from orchestrator.plan.packing import SMALLEST_PACK_S, Filled, PackQueue
from trainables.cell import cell_of
from trainables.engines import ENGINES
from trainables.tasks import PSVRT, Hermite, SameDifferent

PROCESS_BYTES = Rates().process_bytes
MACHINE = Machine(slots=2, bytes_per_pack=4 * 2**30)


def planned(L=3, d=16, seed=0, gamma=1.0, sigma2=0.0, steps=1000, width=64):
    task = SameDifferent(L=L, d=d, sigma2=sigma2)
    cell = cell_of(task, width=width, gamma=gamma, base_lr=0.1, steps=steps, seed=seed)
    return PlannedCell(cell.cell_id, cell, frozenset({"curves"}))


def planned_image(seed=0):
    cell = cell_of(PSVRT(L=16), width=512, gamma=1.0, base_lr=0.1, steps=1000, seed=seed)
    return PlannedCell(cell.cell_id, cell, frozenset({"curves"}))


def plan(n_seeds=4, **kw):
    return [planned(L=L, seed=s, gamma=g, **kw) for s in range(n_seeds) for L in (3, 4, 5) for g in (1.0, 0.1)]


def drain(queue):
    """Work a queue off, each pack ending before the next starts."""
    packs = []
    while pack := queue.next():
        packs.append(pack)
        queue.finished(pack.pack_id, ["ok"] * len(pack.cells), [0.9] * len(pack.cells), pack.seconds, pack.device)
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
    assert queue.memory_factor == {"cpu": 2, "cuda": 1}


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


@pytest.mark.parametrize(("training", "batch", "together"), [("adam", 16, True), ("gd", None, False), ("adam", 0, False)])
@pytest.mark.parametrize("engine", [None, "stacked"])
def test_training_sets_of_any_size_share_a_pack_where_a_step_takes_a_batch(training, batch, together, engine):
    keys = {} if batch is None else {"batch": batch}
    cells = [
        cell_of(
            Hermite(d=8, degree=2, P=P), network="mlp", width=16, training=training, seed=seed, steps=100, eval_every=50, **keys
        )
        for P in (32, 64, 128)
        for seed in range(2)
    ]
    plan = [PlannedCell(c.cell_id, c, frozenset({"curves"})) for c in cells]
    queue = PackQueue(plan, MACHINE, CostModel(), engine)
    queue.add(range(6))
    packs = [{cells[i].task.P for i in pack.cells} for pack in drain(queue)]
    assert packs == ([{32, 64, 128}] if together and engine is None else [{32}, {64}, {128}])


CARD = Machine(2, 2**32, cards=1, card_bytes=100 * 2**30)


def filled(cells, machine=CARD, **kw):
    queue = PackQueue(cells, machine, CostModel(), **kw)
    enqueue(queue, ordered(cells, range(len(cells)), "seed-first"), "seed-first")
    return queue


def test_packs_that_share_a_card_share_its_time():
    """Two cards halve the time that is left; packs that each take a quarter of a card do not."""
    cells = [planned(seed=s, sigma2=1.0, width=1024, d=256, gamma=0.1 * 2**k) for s in range(8) for k in range(8)]
    one, quarters = filled(cells), filled(cells, Machine(16, 2**32, 1, 2**33, asked_share=0.25))
    two = filled(cells, Machine(16, 2**32, 2, 2**33))
    assert one.remaining_seconds() == pytest.approx(quarters.remaining_seconds()) == pytest.approx(2 * two.remaining_seconds())


@pytest.mark.parametrize("engine", [None, "gram"])
def test_noiseless_cells_go_to_the_card_where_there_is_one(engine):
    cells = [planned(seed=s, width=1024, d=256) for s in range(8)]
    assert {(p.engine, p.device) for p in drain(filled(cells, engine=engine))} == {("gram", "cuda")}


def of_grid(name, **axes):
    text = [f"{key}={value}" for key, value in axes.items()]
    return load_grid(name, text).cells


@pytest.mark.parametrize(
    ("grid", "axes", "least"), [("figc3", {}, 264), ("fig1e_lazy", {"L": "64,256,1024", "seed": "range(6)"}, 132)]
)
def test_packs_fill_a_card_whatever_the_symbols_and_dimensions(grid, axes, least):
    """Every pack fits in an H200; the last one of a key takes what is left."""
    cells = of_grid(grid, **axes)
    packs = drain(filled(cells, Machine(2, 2**34, cards=1, card_bytes=110 * 2**30)))  # 16 cores would take some of figc3
    assert {p.device for p in packs} == {"cuda"}
    sizes = defaultdict(list)
    for p in packs:
        (key,) = {ENGINES[p.engine].pack_key(cells[i].cell, "cuda") for i in p.cells}
        sizes[key].append(len(p.cells))
    for of_key in sizes.values():
        assert all(n >= least for n in of_key[:-1]) and max(of_key) >= least
    assert sum(map(sum, sizes.values())) == len(cells)


def test_only_memory_keeps_a_pack_on_a_card_small():
    cells = of_grid("fig1e_lazy", L="1024", seed="range(6)")
    small = filled(cells, Machine(16, 2**36, cards=1, card_bytes=16 * 2**30), engine="gram")
    packs = drain(small)
    assert all(p.bytes <= 16 * 2**30 for p in packs)
    assert min(len(p.cells) for p in packs[:-1]) > 20 and len(packs) > len(drain(filled(cells, engine="gram")))


def test_a_pack_that_cannot_fill_a_card_takes_a_share_of_it():
    def of(n_seeds):
        gammas = [1.0 / (1 + k) for k in range(10)]
        return [planned(L=12, seed=s, gamma=g, width=1024, d=256) for s in range(n_seeds) for g in gammas]

    share = {n: filled(of(n)).next().share for n in (2, 4, 27)}
    assert share == {2: 1 / 4, 4: 1 / 2, 27: 1}  # a lone network of L = 12 keeps some hundredth of a card busy
    assert filled(of_grid("fig1e_lazy", L="1024", d="1024", seed="range(16)")).next().share == 1  # each fills an eighth of a card
    asked = filled(of(27), Machine(2, 2**32, 1, 2**36, asked_share=0.25))
    assert asked.next().share == 0.25


def test_the_time_of_a_pack_on_a_card_is_that_of_its_slowest_network_or_of_all():
    cost = CostModel()
    small, large = planned(L=3, width=1024).cell, planned(L=12, width=1024).cell
    one, several = (cost.predicted_pack(cells, "gram", "cuda") for cells in ([large], [large, *[small] * 20]))
    evaluations = 20 * cost.predicted_pack([small], "gram", "cuda")
    assert one <= several < one + evaluations
    assert cost.predicted_pack([large] * 2000, "gram", "cuda") > 3 * one


def test_without_its_cards_a_plan_goes_on_with_processors():
    """A lost pack of many shapes comes back as packs of one shape each; every cell trains once."""
    cells = [planned(L=L, seed=s, width=1024, d=d) for s in range(30) for L in (3, 4, 12) for d in (64, 256)]
    queue = filled(cells)
    first = queue.next()
    assert first.device == "cuda" and len({cells[i].cell.shape() for i in first.cells}) > 1
    queue.set_aside_cards(1)
    queue.lost(first.pack_id)
    packs = drain(queue)
    assert {p.device for p in packs} == {"cpu"}
    assert sorted(i for p in packs for i in p.cells) == list(range(len(cells)))
    assert all(len({cells[i].cell.shape() for i in p.cells}) == 1 for p in packs)


def test_a_lost_pack_of_a_card_is_cut_anew_for_processors():
    """On a card hundreds of large networks are one pack; a processor takes them a few at a time."""
    cells = [planned(L=1024, d=1024, width=4096, seed=s, steps=50_000) for s in range(264)]
    queue = filled(cells, Machine(16, 6 * 2**30, cards=1, card_bytes=110 * 2**30))
    first = queue.next()
    assert first.device == "cuda" and len(first.cells) == 264
    queue.set_aside_cards(1)
    queue.lost(first.pack_id)
    packs = drain(queue)
    assert {p.device for p in packs} == {"cpu"} and max(p.bytes for p in packs) <= 6 * 2**30
    assert sorted(i for p in packs for i in p.cells) == list(range(264))


def test_a_cell_too_large_for_a_card_trains_on_a_processor():
    cells = [planned(L=1024, d=1024, width=4096, seed=s) for s in range(4)]
    queue = filled(cells, Machine(2, 2**36, cards=1, card_bytes=2**29))
    assert {p.device for p in drain(queue)} == {"cpu"} and not queue.too_large()


def test_few_cells_that_are_left_do_not_count_on_those_that_are_done():
    """Five networks leave a card nearly empty, whatever the size of the grid."""
    cells = [planned(L=12, seed=s, width=1024, d=256, steps=25_000) for s in range(2000)]
    few = PackQueue(cells, Machine(16, 2**34, cards=1, card_bytes=2**36), CostModel())
    few.add(range(5))
    assert few.next().device == "cpu"
    many = PackQueue(cells, Machine(16, 2**34, cards=1, card_bytes=2**36), CostModel())
    many.add(range(2000))
    assert many.next().device == "cuda"


def test_processors_never_wait_behind_a_card():
    """Asked for a device, a queue gives what trains there, wherever it stands."""
    cells = [planned(L=12, seed=s, width=1024, d=256, steps=25_000) for s in range(300)]
    images = [planned_image(seed=s) for s in range(8)]
    queue = filled([*cells, *images], Machine(16, 2**32, cards=1, card_bytes=2**36))
    assert queue.next(("cpu",)).engine == "patches"
    assert queue.next(("cuda",)).engine == "gram"


def test_the_choice_between_a_card_and_processors_learns_from_packs():
    """A card that proves a thousand times slower than predicted gets no further packs."""
    cells = [planned(seed=s, width=256, steps=100_000) for s in range(1200)]
    queue = filled(cells, pack_seconds=1e-3)
    pack = queue.next()
    assert pack.device == "cuda"
    queue.finished(pack.pack_id, ["ok"] * len(pack.cells), [0.9] * len(pack.cells), 1000 * pack.seconds, "cuda")
    assert queue.next().device == "cpu"


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
