"""Gradient descent, the base of all optimisers [Tong25 App. F, G.1]."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Union

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from sweepkit.declarations.evaluations import EVEN, evaluations, per_decade
from sweepkit.declarations.keys import FULL_BATCH, WORDS
from trainables.parts import NOT_SEARCHED
from trainables.training.base import Family, Loss, Precision, Training
from trainables.training.schedules import CONSTANT, schedule_of, spelled

if TYPE_CHECKING:
    from torch import Tensor

    from trainables.spec import CellSpec
    from trainables.tasks.base import Task

_FULL = WORDS["batch"][FULL_BATCH]
State = dict[str, "Tensor"]
"""An optimiser's state of one parameter of C networks, such as moments: tensors by name, each shaped as the parameter."""
Scheduled = Union[float, "Tensor"]
"""A number of `Descent.scheduled`: on a GPU a tensor without dimensions, as recorded steps read it anew at each repetition."""


def _spelled(value: Any) -> Any:
    """`{log: n}` as `log n`."""
    if isinstance(value, dict) and list(value) == ["log"] and type(value["log"]) is int:
        return f"log {value['log']}"
    if isinstance(value, dict):
        raise ValueError("must be `even`, or {log: n} for n evaluations per decade of steps")
    return value


def _checked(value: str) -> str:
    per_decade(value)
    return value


class Descent(Training):
    """Steps along the gradient of the loss. A subclass defines an optimiser by `start` and `update`.

    Both get one parameter of C networks at a time, a tensor (C, ...), and must not mix networks, the first axis. The networks
    share every key of the training except those in `free`, which come as tensors (C, 1, ..., 1).
    """

    family: ClassVar[Family] = "descent"
    free: ClassVar[tuple[str, ...]] = ("base_lr",)
    measured_by: ClassVar[tuple[str, ...]] = ("eval_every", "eval_at", "test_size", "final_test_size")
    """Keys that say when and on how many examples a network is measured. They leave its training as it is."""
    is_normalised: ClassVar[bool] = False
    """Whether the length of a step is independent of the gradient's length, as in Adam."""
    moments: ClassVar[int] = 2
    """Most tensors of a parameter's state, by which memory is predicted."""

    base_lr: Annotated[float, Field(gt=0)]
    steps: Annotated[int, Field(ge=1)] = 25000
    eval_every: Annotated[int, Field(ge=1)] = 1000
    eval_at: Annotated[
        str, BeforeValidator(_spelled), AfterValidator(_checked),
        Field(title="evaluations beside those every eval_every steps", json_schema_extra=NOT_SEARCHED),
    ] = EVEN  # fmt: skip
    test_size: Annotated[int, Field(ge=1)] = 1024
    final_test_size: Annotated[
        int | None, Field(ge=1, title="test examples of the last evaluation, if not test_size", json_schema_extra=NOT_SEARCHED)
    ] = None
    lr_schedule: Annotated[
        str, BeforeValidator(spelled), Field(title="schedule of the learning rate", json_schema_extra=NOT_SEARCHED)
    ] = CONSTANT  # fmt: skip
    dtype: Precision = "float32"
    loss: Loss

    @model_validator(mode="after")
    def _whole_evaluations(self) -> "Descent":
        if self.steps % self.eval_every:
            raise ValueError(f"steps ({self.steps}) is not a multiple of eval_every ({self.eval_every})")
        return self

    @model_validator(mode="before")
    @classmethod
    def _same_size_once(cls, keys: Any) -> Any:
        """A last evaluation of `test_size` examples is the usual one, so that equal networks are one cell."""
        size = keys.get("test_size", cls.model_fields["test_size"].default)
        return {**keys, "final_test_size": None} if keys.get("final_test_size") == size else keys

    @property
    def evaluations(self) -> tuple[int, ...]:
        return evaluations(self.steps, self.eval_every, self.eval_at)

    @property
    def last_test_size(self) -> int:
        return self.final_test_size or self.test_size

    def check(self, cell: "CellSpec") -> None:
        if cell.task.n_train == 0:
            raise ValueError(f"training {self.name} learns from examples, and task {cell.task.name} has P = 0 of them")
        if self.is_full_batch and cell.task.n_train is None:
            told, hint = (
                ("gd", "take sgd") if self.name == "gd" else (f"{self.name} with batch = full (or 0)", "give batch a number")
            )
            raise ValueError(f"training {told} takes a training set of P examples, and task {cell.task.name} has none; {hint}")
        if self.loss == "cross_entropy" and cell.task.targets == "real":
            raise ValueError(f"loss cross_entropy needs labels, and the targets of {cell.task.name} are real numbers; take mse")
        if self.loss == "cross_entropy" and cell.task.target_scale != 1:
            raise ValueError("loss cross_entropy has classes for targets, which alpha cannot divide; take mse, or alpha: 1")

    @classmethod
    def headline_of(cls, task: "type[Task]") -> tuple[str, str]:
        if task.targets == "real":
            return "test_mse", "test mean squared error"
        return ("picked_test_acc", "picked test accuracy") if task.validates else cls.headline

    @property
    def is_full_batch(self) -> bool:
        """Whether each step takes the whole training set."""
        return False

    @property
    def takes_epochs(self) -> bool:
        """True if each step takes as many examples as the training set has, or a few more to fill its last batch."""
        return False

    def updates(self, task: "Task") -> int:
        """Number of times that one step changes the parameters."""
        return 1

    def examples(self, task: "Task") -> int:
        """Number of examples for one change of the parameters."""
        if self.is_full_batch:
            return task.n_train or 0
        raise NotImplementedError

    def rate(self, cell: "CellSpec") -> float:
        """Learning rate of the cell's parameters, before the factors of `Network.rates` and of `lr_schedule`.

        The gradient is proportional to 1/epsilon, and so is the change of the output per change of the parameters. So SGD's rate
        is `Cell.learning_rate`, which is base_lr epsilon^2 for gamma <= 1. The length of a normalised step does not depend on the
        gradient's: its rate is base_lr.
        """
        return self.base_lr if self.is_normalised else cell.learning_rate

    def start(self, theta: "Tensor", free: Mapping[str, "Tensor"]) -> State:
        """The optimiser's state of a parameter before the first step."""
        return {}

    def schedule(self, update: int) -> tuple[float, ...]:
        """Numbers that depend on how often the parameters were changed, 0, 1, ..., such as bias corrections; `update` computes
        with them.

        There are as many every time.
        """
        return ()

    @property
    def has_constant_rate(self) -> bool:
        """Whether every step has the same learning rate."""
        return self.lr_schedule == CONSTANT

    def scheduled(self, update: int, updates: int = 1) -> tuple[float, ...]:
        """All numbers that depend on the number of a change of the parameters, of which a step makes `updates`: the factor of the
        learning rate, which belongs to the step, unless it is constant, and `schedule`."""
        factor = () if self.has_constant_rate else (schedule_of(self.lr_schedule).at(update // updates),)
        return *factor, *self.schedule(update)

    def update(
        self,
        theta: "Tensor",
        gradient: "Tensor",
        state: State,
        rate: "Tensor",
        free: Mapping[str, "Tensor"],
        scheduled: Sequence[Scheduled],
    ) -> None:
        """Change parameter and state in place; the gradient stays as it is.

        `rate` is the step's learning rate; `free` holds the training's own keys that are free. Both multiply as (C, 1, ..., 1).
        A key whose default is 0 is absent if it is 0 in all networks, so that it costs no time. `scheduled` are the numbers of
        `schedule` for this step. A GPU records the calls of a block of steps and repeats them for every block: what is to differ
        between blocks belongs into `state` or `schedule`, and no tensor may be asked for its value. In memory the numbers of a
        parameter may lie in another order, where `reshape` serves and `view` fails.
        """
        raise NotImplementedError


def own_free(trainings: Sequence[Descent]) -> dict[str, list[float]]:
    """The training's own keys in which networks of a pack may differ, each with its value in every network. A key that is 0 by
    default and in all networks is left out."""
    fields, found = type(trainings[0]).model_fields, {}
    for name in trainings[0].free:
        values = [getattr(training, name) for training in trainings]
        if name not in Minibatch.model_fields and (any(values) or fields[name].default != 0):
            found[name] = values
    return found


def _as_count(value: Any) -> Any:
    return FULL_BATCH if value == _FULL else value


class Minibatch(Descent):
    """Each step takes a batch: a fresh one, one drawn with replacement from a fixed training set, or the whole set. With
    `per_step: epoch` a step takes as many batches of at most `batch` as hold the training set, from random orders of it that
    follow each other."""

    batch: Annotated[
        int, BeforeValidator(_as_count), Field(ge=FULL_BATCH, json_schema_extra={"word": _FULL})
    ] = 128  # fmt: skip
    per_step: Annotated[Literal["batch", "epoch"], Field(title="what a step takes", json_schema_extra=NOT_SEARCHED)] = "batch"

    def check(self, cell: "CellSpec") -> None:
        if self.takes_epochs and cell.task.n_train is None:
            raise ValueError(f"per_step: epoch takes a training set of P examples, and task {cell.task.name} has none")
        super().check(cell)

    @property
    def is_full_batch(self) -> bool:
        return self.batch == FULL_BATCH

    @property
    def takes_epochs(self) -> bool:
        return self.per_step == "epoch"

    def updates(self, task: "Task") -> int:
        return 1 if not self.takes_epochs or self.is_full_batch else -(-(task.n_train or 0) // self.batch)

    def examples(self, task: "Task") -> int:
        if self.is_full_batch:
            return super().examples(task)
        # The batches of an epoch are of one size: 750 examples twice rather than 1024 and 476.
        return -(-(task.n_train or 0) // max(self.updates(task), 1)) if self.takes_epochs else self.batch
