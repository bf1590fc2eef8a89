"""What every engine offers, and the cells that may train together."""

from collections.abc import Iterator, Sequence
from typing import ClassVar, Literal, NamedTuple, Protocol

from trainables.cell import AnyCell, Cell
from trainables.equilibrium.cell import EquilibriumCell
from trainables.streams import BLOCK_STEPS, stream, stream_owner
from trainables.tasks import SameDifferent
from trainables.tasks.base import Array
from trainables.tasks.patches import PatchTask

EngineName = Literal["reference", "batched", "gram", "patches", "langevin"]
ENGINES: tuple[EngineName, ...] = ("reference", "batched", "gram", "patches", "langevin")
ON_CARD: tuple[EngineName, ...] = ("reference", "batched", "gram")
"""Engines that also train on a GPU."""
NEEDS: dict[EngineName, str] = {
    "reference": "networks that learn by SGD",
    "batched": "networks that learn by SGD",
    "gram": "noiseless same_different",
    "patches": "images that hold two patches, such as psvrt",
    "langevin": "networks at equilibrium, of tasks with real targets such as he3",
}
"""What an engine trains; see `can_train`."""


class Measures(NamedTuple):
    """State of each cell of a pack at its last step: readouts and alignments (C, m), activation change (C,)."""

    readout: Array
    alignment: Array
    activation_change: Array


class Engine(Protocol):
    """Trains the cells it was made for, all at the same step. C is the number of cells."""

    name: ClassVar[str]

    def train(self, first_step: int, n_steps: int) -> tuple[Array, Array]:
        """Take the steps from `first_step`; mean loss and number of right predictions of each step's batch, both (C, n_steps)."""

    def test_accuracy(self, step: int) -> Array:
        """Accuracy (C,) on the test examples that belong to `step`."""

    def measures(self, step: int) -> Measures:
        """Weight structure now, and the activation change over the test examples that belong to `step`."""

    def hidden_weights(self, c: int, neurons: Array) -> Array:
        """Hidden weights w = w_0 + eps u (n, D) that the n named neurons of cell c have now."""

    def state(self) -> dict[str, Array]:
        """All that training has changed, as arrays; they may be views of what goes on training."""

    def load(self, state: dict[str, Array]) -> None:
        """Put back what `state` returned."""


def can_train(engine: EngineName, cell: AnyCell) -> bool:
    """Whether the engine trains this cell; a task derived from one that it knows may draw or label in its own way."""
    task = type(cell.task)
    if isinstance(cell, EquilibriumCell) or engine == "langevin":
        return isinstance(cell, EquilibriumCell) and engine == "langevin"
    if engine == "gram":  # noiseless pairs of training symbols
        return task is SameDifferent and cell.task.sigma2 == 0  # type: ignore[attr-defined]
    if engine == "patches":  # images that hold two patches
        same = task.train_examples is PatchTask.train_examples and task.test_examples is PatchTask.test_examples
        return issubclass(task, PatchTask) and same
    return True


class Groups:
    """Cells that see the same inputs: `group` gives each cell's, `members` each group's, `cells` one that stands for each."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        keys = [(stream_owner(cell), cell.task) for cell in cells]
        first = {key: cell for key, cell in zip(reversed(keys), reversed(cells), strict=True)}
        order = list(dict.fromkeys(keys))
        number = {key: g for g, key in enumerate(order)}
        self.group = [number[key] for key in keys]
        self.members = [[c for c, g in enumerate(self.group) if g == k] for k in range(len(order))]
        self.cells = [first[key] for key in order]
        self.owners = [owner for owner, _ in order]
        self.symbols = [c.task.draw_symbols(stream(o, "symbols")) for c, o in zip(self.cells, self.owners, strict=True)]

    def __len__(self) -> int:
        return len(self.cells)


def blocks(first_step: int, n_steps: int) -> Iterator[tuple[int, slice]]:
    """The blocks of the batch stream that hold the given steps, each with the steps to take from it."""
    step, last = first_step, first_step + n_steps
    while step < last:
        block, offset = divmod(step, BLOCK_STEPS)
        n = min(BLOCK_STEPS - offset, last - step)
        yield block, slice(offset, offset + n)
        step += n
