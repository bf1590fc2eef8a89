"""Interface of a training: how a cell's network gets its weights, in how many steps, and how often it is evaluated."""

from typing import TYPE_CHECKING, ClassVar, Literal

from sweepkit.declarations.columns import Role
from sweepkit.declarations.evaluations import evaluations
from sweepkit.declarations.keys import Loss as Loss
from trainables.parts import Part

if TYPE_CHECKING:
    from trainables.spec import CellSpec
    from trainables.tasks.base import Task

Family = Literal["descent", "sampling", "ridge"]
"""Trainings of one family train the same networks: by gradient descent, as samples of a posterior, or by solving for the last
layer."""
Precision = Literal["float32", "float64"]


class Training(Part):
    """One training with its keys resolved."""

    role: ClassVar[Role] = "training"
    family: ClassVar[Family]
    headline: ClassVar[tuple[str, str]] = ("best_test_acc", "best test accuracy")
    """The metric that a progress display shows, and its title."""

    if TYPE_CHECKING:  # fields of each training, with its own legal values and defaults
        steps: int
        eval_every: int
        test_size: int
        dtype: Precision
        loss: Loss

    @property
    def evaluations(self) -> tuple[int, ...]:
        """The steps after which a network is evaluated, in order; `steps` is the last."""
        return evaluations(self.steps, self.eval_every)

    @property
    def last_test_size(self) -> int:
        """Test examples of the last evaluation."""
        return self.test_size

    def check(self, cell: "CellSpec") -> None:
        """ValueError if the training cannot train the cell's network on the cell's task."""

    @classmethod
    def headline_of(cls, task: "type[Task]") -> tuple[str, str]:
        """The headline of networks that learn this task."""
        return cls.headline

    def traits(self) -> dict[str, str | None]:
        """The properties that, with network and task, decide which metrics there are; see declarations.metric."""
        return {"training": self.name, "loss": self.loss, "sampled": "yes" if self.family == "sampling" else "no"}


_TRAININGS: dict[str, type[Training]] = {}


def register(cls: type[Training]) -> type[Training]:
    """Make a training known to grids by its `name`."""
    _TRAININGS[cls.name] = cls
    return cls


def training_class(name: str) -> type[Training]:
    """The class of a registered training; KeyError when there is none."""
    return _TRAININGS[name]


def training_names() -> list[str]:
    """Names of all registered trainings, sorted."""
    return sorted(_TRAININGS)


def all_trainings() -> list[type[Training]]:
    """All registered trainings in the order of their registration."""
    return list(_TRAININGS.values())
