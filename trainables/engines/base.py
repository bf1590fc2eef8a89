"""What an engine is: which cells it trains and where, how it is made, and what a cell costs on it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from trainables.cell import Cell

if TYPE_CHECKING:
    from trainables.trainers.base import Trainer

Amounts = dict[str, float]
"""Work by kind, in units that a machine has a rate for: `call` is one step, `evaluation` one evaluation, `product` one
multiplication and addition of a dense product, `neuron` the arithmetic of one neuron on one example, `number` one normal number
drawn. Engines add kinds of their own and say what they are."""


STEPS = 20
"""Steps that calibration times together."""


class Result(Protocol):
    """What training one cell yields."""

    @property
    def status(self) -> Any: ...

    def summary(self) -> dict[str, Any]:
        """The columns of the summary row; None where there is nothing to report."""

    def lists(self, save: Collection[str]) -> dict[str, Any]:
        """The list columns of the row, of what is saved."""


class Run(Protocol):
    """A pack being trained: `advance` until `done`, then `results`; `state` and `load` survive a lost process."""

    @property
    def step(self) -> int: ...
    @property
    def n_steps(self) -> int: ...
    @property
    def seconds(self) -> float: ...
    @property
    def done(self) -> bool: ...

    def advance(self, seconds: float) -> None:
        """Train for about this long."""

    def results(self) -> Sequence[Result]:
        """One result per cell, in the pack's order."""

    def state(self, copied: bool = True) -> dict[str, Any]:
        """Arrays and numbers from which another process can go on; not copied, training goes on in the engine's."""

    def load(self, state: dict[str, Any]) -> None:
        """Go on from what `state` returned."""


class Timed(NamedTuple):
    """Something to time for calibration: `work` does `n` times these amounts for each cell."""

    amounts: Amounts
    work: Callable[[], object]
    n: float
    rounds: int = 3


class Engine(ABC):
    """One way to train packs. Making one is cheap: torch and numba load with `make`."""

    name: ClassVar[str]
    needs: ClassVar[str]
    """The cells that it trains, in words: `networks that learn by gradient descent`."""
    devices: ClassVar[tuple[str, ...]] = ("cpu",)
    is_oracle: ClassVar[bool] = False
    """Whether it is there for tests to compare with, and never chosen for speed."""
    is_general: ClassVar[bool] = False
    """Whether it is chosen only for cells that no other engine trains."""
    seconds: ClassVar[Mapping[str, Mapping[str, float]]]
    """By device, seconds per unit of work on one core of a 2-core AMD EPYC (Zen 5): for a machine that was not measured."""
    double: ClassVar[float] = 1.0
    """Time of a step in float64 over float32."""

    @abstractmethod
    def trains(self, cell: Cell) -> bool:
        """Whether it trains this cell; a part derived from one that it knows may do things in its own way."""

    @abstractmethod
    def make(self, cells: Sequence[Cell], device: str = "cpu") -> Run:
        """The cells at their beginning. RuntimeError where a GPU computes wrongly."""

    @abstractmethod
    def step_amounts(self, cell: Cell, group: float = 1.0) -> Amounts:
        """Work of one step of one cell; of `group` cells that see the same inputs each does its share of drawing them."""

    @abstractmethod
    def evaluation_amounts(self, cell: Cell, group: float = 1.0) -> Amounts:
        """Work of one evaluation of one cell on its fresh test examples."""

    @abstractmethod
    def memory(self, cells: Sequence[Cell], device: str = "cpu") -> int:
        """Predicted peak bytes of a pack's arrays, without the process that holds them."""

    @abstractmethod
    def calibration(self) -> Iterable[Timed]:
        """What is timed to find this machine's rates; torch and numba are loaded here."""


class DescentEngine(Engine):
    """An engine whose packs share the loop of gradient descent: it makes a trainer."""

    @abstractmethod
    def trainer(self, cells: Sequence[Cell], device: str = "cpu") -> "Trainer":
        """What takes the steps. RuntimeError where a GPU computes wrongly."""

    @abstractmethod
    def shapes(self) -> Sequence[Sequence[Cell]]:
        """Groups of cells that see the same inputs, to be timed; such that every kind of work weighs in some."""

    def make(self, cells: Sequence[Cell], device: str = "cpu") -> Run:
        from trainables.trainers.run import PackRun

        return PackRun(cells, self.trainer(cells, device))

    def calibration(self) -> Iterable[Timed]:
        for cells in self.shapes():
            made = self.trainer(cells)
            yield Timed(self.step_amounts(cells[0], len(cells)), partial(made.train, 0, STEPS), STEPS * len(cells))
            if getattr(cells[0].task, "L", 4) > 3:  # those of three symbols tell what a step costs by itself
                amounts = self.evaluation_amounts(cells[0], len(cells))
                yield Timed(amounts, partial(made.evaluate, 0), len(cells), 1)


def groups_of(cells: Sequence[Cell]) -> int:
    """Number of groups of cells that see the same inputs."""
    return len({(cell.seed, cell.task) for cell in cells})


def item_bytes(cell: Cell) -> int:
    """Bytes of a number of the cell's precision."""
    return 8 if cell.dtype == "float64" else 4


def evaluation_bytes(cell: Cell) -> float:
    """Numbers that an evaluation, and the metrics at the end, hold at once."""
    d_in, m = cell.task.input_dim, cell.width
    return cell.test_size * (2 * d_in + 2 * m) + 2.5 * d_in * m
