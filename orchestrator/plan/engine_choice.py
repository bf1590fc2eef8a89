"""The engine and the device for the cells of each shape of a plan, and their predicted seconds."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from orchestrator.cost.model import CostModel
from orchestrator.grid.planned import PlannedCell
from orchestrator.plan.machine import CONTEXT_BYTES, Machine
from trainables.cell import Cell
from trainables.engines import ENGINES
from trainables.tasks import Task

Shape = tuple[tuple[Any, ...], tuple[bool, ...]]
"""`Cell.shape`, and whether each engine trains such a cell: cells with the same `Cell.shape` may differ in noise."""


class Choice(NamedTuple):
    """Engine and device for the cells of a shape, the predicted seconds of one, and the key of its packs."""

    engine: str
    device: str
    seconds: float
    key: tuple[Any, ...]


def shapes_of(plan: Sequence[PlannedCell]) -> tuple[list[Shape], list[int]]:
    """The shape of each cell and the number of its task, in the order of the plan; equal shapes are one object.

    Each shape is worked out once for all cells that have the same task, network and training objects: a plan of a million
    cells has a few hundred such combinations.
    """
    known: dict[tuple[Any, ...], tuple[Shape, int]] = {}
    same: dict[Shape, Shape] = {}
    tasks: dict[Task, int] = {}
    shapes, numbers = [], []
    for p in plan:
        key = (id(p.cell.task), id(p.cell.network), id(p.cell.training))
        if key not in known:
            shape = p.cell.shape(), tuple(engine.trains(p.cell) for engine in ENGINES.values())
            known[key] = same.setdefault(shape, shape), tasks.setdefault(p.cell.task, len(tasks))
        shape, number = known[key]
        shapes.append(shape)
        numbers.append(number)
    return shapes, numbers


class Choices:
    """The choice for each shape of a plan. It stands until `forget`."""

    def __init__(
        self,
        plan: Sequence[PlannedCell],
        cost: CostModel,
        engine: str | None,
        pack_seconds: float,
        pending: Mapping[Shape, int],
    ) -> None:
        self.plan, self.cost, self.engine, self.pack_seconds, self.pending = plan, cost, engine, pack_seconds, pending
        self.shapes, task_numbers = shapes_of(plan)
        self._inputs: dict[Shape, set[tuple[int, int]]] = defaultdict(set)  # the distinct inputs of each shape
        self._cells: dict[Shape, int] = defaultdict(int)
        self.first: dict[Shape, int] = {}  # one cell of each shape
        for i, (shape, task, p) in enumerate(zip(self.shapes, task_numbers, plan, strict=True)):
            self._inputs[shape].add((p.cell.seed, task))
            self._cells[shape] += 1
            self.first.setdefault(shape, i)
        self._made: dict[Shape, Choice] = {}
        self.off_cards: set[Shape] = set()
        """Shapes that train on processors alone, because a card could not train them."""
        self._mates: Counter[tuple[str, tuple[Any, ...]]] = Counter()  # cells by the engine and the key of a pack on a card

    def of(self, shape: Shape, machine: Machine) -> Choice:
        """The choice for a shape on this machine."""
        if shape not in self._made:
            cell = self.plan[self.first[shape]].cell
            group = self._cells[shape] / len(self._inputs[shape])
            among = self._among(shape) if machine.cards else 1
            engine, device = self._best(cell, machine.without_cards() if shape in self.off_cards else machine, group, among)
            if device == "cuda" and ENGINES[engine].memory([cell], device) + CONTEXT_BYTES > machine.bytes_of(device):
                engine, device = self._best(cell, machine.without_cards(), group, among)
            predicted = self.cost.predicted(cell, engine, device, group, among)
            # If cells are so large that a pack holds few of them, only those few share their inputs.
            group = min(group, max(1.0, self.pack_seconds / predicted))
            seconds = self.cost.predicted(cell, engine, device, group, among)
            self._made[shape] = Choice(engine, device, seconds, ENGINES[engine].pack_key(cell, device))
        return self._made[shape]

    def forget(self) -> None:
        """Choose anew: packs have shown how fast cards are, or cards cannot be used any more."""
        self._made.clear()
        self._mates.clear()

    def _best(self, cell: Cell, machine: Machine, group: float, among: int) -> tuple[str, str]:
        slots = machine.throughput
        if self.engine is None:
            return self.cost.choose(cell, slots, group, among)
        return self.engine, "cuda" if "cuda" in slots and "cuda" in ENGINES[self.engine].devices else "cpu"

    def _among(self, shape: Shape) -> int:
        """Number of pending cells that may share a pack with this shape on a card, by the engine that merges most."""
        if not self._mates:
            for one, n in (self.pending or self._cells).items():
                for key in self._keys_on_cards(one):
                    self._mates[key] += n
        return max((self._mates[key] for key in self._keys_on_cards(shape)), default=1) or 1

    def _keys_on_cards(self, shape: Shape) -> list[tuple[str, tuple[Any, ...]]]:
        cell = self.plan[self.first[shape]].cell
        fit = [engine for engine, trains in zip(ENGINES.values(), shape[1], strict=True) if trains and not engine.is_oracle]
        return [(engine.name, engine.pack_key(cell, "cuda")) for engine in fit if "cuda" in engine.devices]
