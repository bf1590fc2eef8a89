"""Interface of an engine: the cells and devices it trains on, how it starts a run, and the cost of a cell."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from trainables.cell import Cell
from trainables.kernels.sizes import TOGETHER

if TYPE_CHECKING:
    from trainables.metrics.measuring import Value
    from trainables.trainers.base import Trainer

ALONE = "cuda alone"
"""The name, among an engine's devices, for the rates of a network that has a card to itself. A step of a pack on a card takes as
long as its slowest network alone, or as all its networks on a full card, whichever is longer."""

Amounts = dict[str, float]
"""Work by kind, in units that a machine has a rate for: `call` is one step, `evaluation` one evaluation, `product` one
multiplication and addition of a dense product, `neuron` the arithmetic of one neuron on one example, `number` one normal number
drawn. Engines add kinds of their own and describe them."""


STEPS = 20
"""Steps that calibration times together."""
CARD_STEPS = 200
"""Steps that it times together on a card: enough to hide the launches, few enough that draws do not weigh."""


class Result(Protocol):
    """The result of training one cell."""

    @property
    def status(self) -> Any: ...

    def summary(self) -> dict[str, Any]:
        """The columns of the summary row; None where there is nothing to report."""

    def lists(self, save: Collection[str]) -> dict[str, Any]:
        """The list columns of the row; `save` names the groups to keep."""


class Run(Protocol):
    """A pack in training: call `advance` until `done`, then `results`. `state` and `load` carry it to another process."""

    @property
    def step(self) -> int: ...
    @property
    def n_steps(self) -> int: ...
    @property
    def seconds(self) -> float: ...
    @property
    def done(self) -> bool: ...

    def watch(self, names: Sequence[Collection[str]]) -> None:
        """Measure these metrics on request of each cell, in the pack's order, on the way if that is where they are measured."""

    def advance(self, seconds: float) -> None:
        """Train for about this long."""

    def measured(self, c: int, names: Sequence[str]) -> "tuple[dict[str, Value], dict[str, str]]":
        """Values of these metrics, which `watch` named, of finished cell c, and the errors of those that failed, each by the
        metric's name."""

    def results(self) -> Sequence[Result]:
        """One result per cell, in the pack's order."""

    def state(self, copied: bool = True) -> dict[str, Any]:
        """Arrays and numbers from which another process can continue. With copied=False they are the trainer's own arrays, which
        later steps change."""

    def load(self, state: dict[str, Any]) -> None:
        """Continue from a value that `state` returned."""


class Timed(NamedTuple):
    """A piece of work to time for calibration: one call of `work` does `n` times these amounts."""

    amounts: Amounts
    work: Callable[[], object]
    n: float
    rounds: int = 3


class Engine(ABC):
    """One way to train packs. An instance is cheap: torch and numba load only in `make` and `calibration`."""

    name: ClassVar[str]
    needs: ClassVar[str]
    """The cells that it trains, in words: `networks that learn by gradient descent`."""
    devices: ClassVar[tuple[str, ...]] = ("cpu",)
    is_oracle: ClassVar[bool] = False
    """Whether the engine serves as the reference of tests; it is never chosen for speed."""
    is_general: ClassVar[bool] = False
    """Whether the engine is chosen only for cells that no other engine trains."""
    seconds: ClassVar[Mapping[str, Mapping[str, float]]]
    """Seconds per unit of work, by device, for a machine that was not measured. Those of a CPU are for one core of a 2-core AMD
    EPYC (Zen 5), unless an engine says otherwise; those of `cuda` are for a full card, those of ALONE for one network on it."""
    merges: ClassVar[frozenset[str]] = frozenset()
    """Keys in which networks of one pack on a card may differ, beside those that are free on every device."""
    double: ClassVar[float] = 1.0
    """Time of a step in float64, divided by its time in float32."""

    @abstractmethod
    def trains(self, cell: Cell) -> bool:
        """Whether the engine trains this cell. A subclass of a known part is refused where it may compute differently."""

    @abstractmethod
    def make(self, cells: Sequence[Cell], device: str = "cpu") -> Run:
        """A run of these cells, before its first step. RuntimeError if the GPU computes wrong numbers."""

    def pack_key(self, cell: Cell, device: str = "cpu") -> tuple[Any, ...]:
        """Cells with the same key may share a pack on this device."""
        shape = cell.shape()
        return shape if device == "cpu" else tuple((key, value) for key, value in shape if key not in self.merges)

    @abstractmethod
    def step_amounts(self, cell: Cell, group: float = 1.0, device: str = "cpu") -> Amounts:
        """Work of one step of one cell. `group` cells that see the same inputs share the work of drawing them equally."""

    @abstractmethod
    def evaluation_amounts(self, cell: Cell, group: float = 1.0) -> Amounts:
        """Work of one evaluation of one cell on its fresh test examples."""

    @abstractmethod
    def memory(self, cells: Sequence[Cell], device: str = "cpu") -> int:
        """Predicted peak bytes of a pack's arrays, without the process that holds them."""

    @abstractmethod
    def calibration(self) -> Iterable[Timed]:
        """Pieces of work to time, from which this machine's rates follow. Loads torch and numba."""

    def card_calibration(self, device: str = "cuda") -> Iterable[tuple[str, Timed]]:
        """Pieces of work to time on a card, each with `cuda` or ALONE; none for an engine that trains on CPUs alone."""
        return ()


class DescentEngine(Engine):
    """An engine whose packs share the loop of gradient descent: it makes a trainer."""

    @abstractmethod
    def trainer(self, cells: Sequence[Cell], device: str = "cpu") -> "Trainer":
        """The trainer that takes the steps. RuntimeError if the GPU computes wrong numbers."""

    @abstractmethod
    def shapes(self) -> Sequence[Sequence[Cell]]:
        """Groups of cells to time. Cells of a group see the same inputs; each kind of work weighs in at least one group."""

    def card_packs(self) -> Sequence[Sequence[Cell]]:
        """Packs to time on a card, each of cells that cost the same and enough of them to fill it."""
        return ()

    def make(self, cells: Sequence[Cell], device: str = "cpu") -> Run:
        from trainables.trainers.run import PackRun

        return PackRun(cells, self.trainer(cells, device))

    def calibration(self) -> Iterable[Timed]:
        for cells in self.shapes():
            made = self.trainer(cells)
            yield Timed(self.step_amounts(cells[0], len(cells)), _onward(made, STEPS), STEPS * len(cells))
            if getattr(cells[0].task, "L", 4) > 3:  # cells of three symbols serve only to time a bare step
                amounts = self.evaluation_amounts(cells[0], len(cells))
                yield Timed(amounts, partial(made.evaluate, 0, cells[0].test_size), len(cells), 1)

    def card_calibration(self, device: str = "cuda") -> Iterable[tuple[str, Timed]]:
        for pack in self.card_packs():
            group = among_groups(pack)
            for name, cells, shared in ((ALONE, pack[:1], 1.0), ("cuda", pack, group)):
                made = self.trainer(cells, device)
                amounts = self.step_amounts(cells[0], shared, "cuda")
                yield name, Timed(amounts, _onward(made, CARD_STEPS), CARD_STEPS * len(cells))
                if name == ALONE:
                    del made  # the next pack may need all the memory
            amounts = self.evaluation_amounts(pack[0], group)
            yield "cuda", Timed(amounts, partial(made.evaluate, 0, pack[0].test_size), len(pack), 1)
            del made


def _onward(trainer: "Trainer", n_steps: int) -> Callable[[], object]:
    """Take the next n_steps at each call. Steps taken again would cost other draws: those drawn ahead for the steps that follow
    are lost, and those at hand serve again."""
    first = count(0, n_steps)
    return lambda: trainer.train(next(first), n_steps)


def among_groups(cells: Sequence[Cell]) -> float:
    """How many cells of a pack see the same inputs, on average."""
    return len(cells) / groups_of(cells)


def groups_of(cells: Sequence[Cell]) -> int:
    """Number of groups of cells that see the same inputs."""
    return len({(cell.seed, cell.task) for cell in cells})


def item_bytes(cell: Cell) -> int:
    """Bytes of one number in the cell's precision."""
    return 8 if cell.dtype == "float64" else 4


def evaluation_numbers(cells: Sequence[Cell], device: str = "cpu") -> float:
    """How many numbers an evaluation and the metrics at the end hold at once. A card evaluates a whole group at once."""
    largest, m = max(cells, key=lambda cell: cell.task.input_dim), cells[0].width
    d_in, n = largest.task.input_dim, max(cell.test_size for cell in cells)
    one = n * (2 * d_in + 2 * m) + 2.5 * d_in * m + 2 * d_in * max(cell.last_test_size - cell.test_size for cell in cells)
    most = Counter((cell.seed, cell.task) for cell in cells).most_common(1)[0][1]
    return one if device == "cpu" else one + 6 * min(TOGETHER, most * n * m)
