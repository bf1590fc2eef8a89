"""The memory of a pack: that of a node, divided by the packs that train there at once."""

import pytest

from orchestrator.cards import Card
from orchestrator.cost.model import CostModel
from orchestrator.grid.planned import PlannedCell
from orchestrator.grid.top import Resources
from orchestrator.plan import forecast as forecasts
from orchestrator.plan.machine import HOST_BYTES, MEMORY_SHARE, Machine, Node
from orchestrator.plan.packing import PackQueue
from tests.orchestrator.plan.test_packing import planned

GIB = 2**30


def of(*nodes: Node, at_once: int | None = None, card: Card | None = None, asked: float | str = "auto") -> Machine:
    return Machine.of(nodes, at_once, card, asked)


@pytest.mark.parametrize(
    ("nodes", "at_once", "slots", "divided"),
    [
        ([Node(4, 40 * GIB)], None, 4, 10 * GIB),
        ([Node(66, 22 * GIB)], 1, 1, 22 * GIB),
        ([Node(4, 40 * GIB)], 99, 4, 10 * GIB),
        ([Node(4, 40 * GIB), Node(4, 40 * GIB)], None, 8, 10 * GIB),
        ([Node(4, 40 * GIB), Node(4, 40 * GIB)], 2, 2, 20 * GIB),  # both may come to lie on one node
        ([Node(4, 40 * GIB), Node(4, 8 * GIB)], None, 8, 2 * GIB),
        ([Node(4, 40 * GIB), Node(0, GIB)], None, 4, 10 * GIB),  # a head that trains nothing
    ],
)
def test_memory_is_divided_by_the_packs_that_run(nodes, at_once, slots, divided):
    machine = of(*nodes, at_once=at_once)
    assert (machine.slots, machine.bytes_per_pack) == (slots, pytest.approx(MEMORY_SHARE * divided, abs=8))


def test_the_host_keeps_memory_for_each_process_on_a_card():
    card = Card("H200", 100 * GIB)
    plain, shared = (of(Node(4, 40 * GIB, 2), card=card, asked=asked) for asked in ("auto", 0.5))
    assert 4 * plain.bytes_per_pack == pytest.approx(MEMORY_SHARE * 40 * GIB - 2 * HOST_BYTES, abs=8)
    assert 4 * shared.bytes_per_pack == pytest.approx(MEMORY_SHARE * 40 * GIB - 4 * HOST_BYTES, abs=8)


def test_fewer_packs_train_at_once_if_not_even_the_smallest_fits():
    machine = of(Node(66, 20 * GIB))
    need = GIB
    fewer = machine.with_room_for(need)
    assert fewer.slots == int(MEMORY_SHARE * 20) and fewer.bytes_per_pack >= need
    assert machine.with_room_for(machine.bytes_per_pack) == machine
    assert machine.with_room_for(17 * GIB) == machine  # no node has as much: it is refused
    mixed = of(Node(8, 16 * GIB), Node(8, 64 * GIB)).with_room_for(5 * GIB)
    assert mixed.slots == int(12.8 / 5) + 8


def test_a_large_pack_takes_the_memory_of_several():
    machine = of(Node(4, 40 * GIB))
    assert [machine.places(int(share * GIB)) for share in (0.1, 8, 8.1, 24, 32, 100)] == [1, 1, 2, 3, 4, 4]
    assert machine.most_bytes("cpu") == int(MEMORY_SHARE * 40 * GIB)


@pytest.mark.parametrize("at_once", [None, 4, 1])
def test_a_small_pack_keeps_the_memory_of_a_core_however_few_train_at_once(at_once):
    """A second sweep on the same Ray finds the rest."""
    machine = of(Node(16, 64 * GIB), at_once=at_once)
    kept = [machine.reserved(int(MEMORY_SHARE * gib * GIB)) / MEMORY_SHARE / GIB for gib in (0.3, 4, 4.1, 15, 64, 99)]
    assert kept == pytest.approx([4, 4, 8, 16, 64, 64])


def wide(seed: int) -> PlannedCell:
    return planned(seed=seed, d=512, width=100_000, sigma2=1.0, steps=1000)


def test_a_network_larger_than_its_share_trains_beside_fewer_others():
    cells = [wide(0), *(planned(seed=s) for s in range(8))]
    alone = PackQueue(cells, Machine(1, 2**40), CostModel(), "gram").pack_bytes([0])
    machine = of(Node(4, int(2 * alone / MEMORY_SHARE)))
    queue = PackQueue(cells, machine, CostModel(), "gram", pack_seconds=1e-9)
    queue.add(range(9))
    queue.make_room()
    assert queue.too_large() == [] and queue.machine.slots == 4 and queue.machine.places(alone) == 2
    found = forecasts.forecast(queue)
    assert sum(shape.cells for shape in found.shapes) == 9
    assert found.bytes <= 2 * alone
    hopeless = PackQueue(cells, of(Node(4, int(0.9 * alone / MEMORY_SHARE))), CostModel(), "gram")
    hopeless.add(range(9))
    hopeless.make_room()
    assert hopeless.too_large() == [0]


def test_the_forecast_waits_until_a_large_pack_has_its_memory():
    cells = [wide(s) for s in range(2)]
    alone = PackQueue(cells, Machine(1, 2**40), CostModel(), "gram").pack_bytes([0])

    def wall(gib_of: float) -> float:
        queue = PackQueue(cells, of(Node(2, int(gib_of * alone / MEMORY_SHARE))), CostModel(), "gram", pack_seconds=1e-9)
        queue.add(range(2))
        return forecasts.forecast(queue).wall_s - queue.cost.rates.start_s

    assert wall(1.5) == pytest.approx(2 * wall(2.1))  # one after the other


@pytest.mark.parametrize(("at_once", "slots"), [(None, 66), (1, 1)])
def test_this_machine_counts_what_this_process_may_use(monkeypatch, at_once, slots):
    monkeypatch.setattr(forecasts, "cores", lambda: 2)
    monkeypatch.setattr(forecasts, "available_bytes", lambda: 22 * GIB)
    machine = forecasts.this_machine(Resources(gpus_per_pack=0, cpus_per_pack=0.03), at_once)
    assert (machine.slots, machine.bytes_per_pack) == (slots, int(MEMORY_SHARE * 22 * GIB) // slots)
