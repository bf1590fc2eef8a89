"""Gradient descent on the whole training set at each step."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from trainables.training.descent import Descent, Scheduled, State

if TYPE_CHECKING:
    from torch import Tensor

    from trainables.cell import Cell
    from trainables.tasks.base import Task


class GD(Descent):
    """theta <- theta - rate g, g the gradient of the mean loss over the P training examples."""

    name: ClassVar[str] = "gd"
    is_full_batch: ClassVar[bool] = True

    def check(self, cell: "Cell") -> None:
        super().check(cell)
        if not cell.task.n_train:
            raise ValueError(f"training gd takes a training set of P examples, and task {cell.task.name} has none; take sgd")

    def examples(self, task: "Task") -> int:
        return task.n_train or 0

    def update(
        self,
        theta: "Tensor",
        gradient: "Tensor",
        state: State,
        rate: "Tensor",
        free: Mapping[str, "Tensor"],
        scheduled: Sequence[Scheduled],
    ) -> None:
        theta.addcmul_(gradient, rate, value=-1)
