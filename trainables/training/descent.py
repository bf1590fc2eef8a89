"""Gradient descent: what all its optimisers share [Tong25 App. F, G.1]."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field, model_validator

from trainables.training.base import Family, Loss, Precision, Training

if TYPE_CHECKING:
    from torch import Tensor

    from trainables.cell import Cell
    from trainables.tasks.base import Task

State = dict[str, "Tensor"]
"""What an optimiser keeps of one parameter of C networks, such as moments: tensors by name, each shaped as the parameter."""


class Descent(Training):
    """Steps along the gradient of the loss. A subclass says what an optimiser makes of the gradients, by `start` and `update`.

    Both see one parameter of C networks at a time, a tensor (C, ...), and may mix nothing across the first axis. The networks
    share every key of the training but those in `free`, which come as tensors (C, 1, ..., 1).
    """

    family: ClassVar[Family] = "descent"
    free: ClassVar[tuple[str, ...]] = ("base_lr",)
    is_full_batch: ClassVar[bool] = False
    """Whether each step takes the whole training set."""
    is_normalised: ClassVar[bool] = False
    """Whether the length of a step does not depend on that of the gradient, as Adam's."""

    base_lr: Annotated[float, Field(gt=0)]
    steps: Annotated[int, Field(ge=1)] = 25000
    eval_every: Annotated[int, Field(ge=1)] = 1000
    test_size: Annotated[int, Field(ge=1)] = 1024
    dtype: Precision = "float32"
    loss: Loss

    @model_validator(mode="after")
    def _whole_evaluations(self) -> "Descent":
        if self.steps % self.eval_every:
            raise ValueError(f"steps ({self.steps}) is not a multiple of eval_every ({self.eval_every})")
        return self

    def check(self, cell: "Cell") -> None:
        if cell.task.n_train == 0:
            raise ValueError(f"training {self.name} learns from examples, and task {cell.task.name} has P = 0 of them")
        if self.loss == "cross_entropy" and cell.task.targets == "real":
            raise ValueError(f"loss cross_entropy needs labels, and the targets of {cell.task.name} are real numbers; take mse")

    @classmethod
    def headline_of(cls, task: "type[Task]") -> tuple[str, str]:
        return cls.headline if task.targets != "real" else ("test_mse", "test mean squared error")

    def examples(self, task: "Task") -> int:
        """Examples that one step takes."""
        raise NotImplementedError

    def rate(self, cell: "Cell") -> float:
        """Learning rate of the cell's parameters, before the factors of `Network.rates`.

        A gradient is proportional to 1/epsilon, and so is what a change of the parameters does to the output: SGD's rate is
        therefore base_lr times epsilon^2 (`Cell.learning_rate`). A normalised step has a length of its own: its rate is base_lr.
        """
        return self.base_lr if self.is_normalised else cell.learning_rate

    def start(self, theta: "Tensor", free: Mapping[str, "Tensor"]) -> State:
        """What is kept of a parameter, before the first step."""
        return {}

    def update(
        self, theta: "Tensor", gradient: "Tensor", state: State, rate: "Tensor", free: Mapping[str, "Tensor"], step: int
    ) -> None:
        """Change parameter and state in place by step 0, 1, ...; the gradient stays as it is.

        `rate` is the learning rate; `free` holds the training's own keys that are free. Both multiply as (C, 1, ..., 1). A key
        whose default is 0 is absent where it is 0 in all networks, so that nothing is spent on it.
        """
        raise NotImplementedError


class Minibatch(Descent):
    """Each step takes a batch: a fresh one, or one drawn with replacement from a fixed training set."""

    batch: Annotated[int, Field(ge=1)] = 128

    def examples(self, task: "Task") -> int:
        return self.batch
