"""The attributes of a cell that its network and training ask for. `trainables.cell.Cell`, which holds them both, has these."""

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from sweepkit.declarations.keys import Loss
    from trainables.tasks.base import Task


class CellSpec(Protocol):
    """One network, fully specified."""

    @property
    def task(self) -> "Task": ...

    @property
    def network(self) -> Any:
        """A Network; this module knows none, so that each of them can know it."""

    @property
    def training(self) -> Any:
        """A Training."""

    @property
    def loss(self) -> "Loss": ...

    @property
    def batch(self) -> int:
        """Examples for one change of the parameters."""

    def shape(self) -> tuple[Any, ...]:
        """The keys in which the cells of a pack agree, with their values."""

    @property
    def learning_rate(self) -> float:
        """Rate of SGD on the weights themselves [Tong25 App. G.1]."""
