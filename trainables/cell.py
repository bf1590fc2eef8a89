"""A cell: one network, fully specified by task, network, training and seed, and the id that names it everywhere."""

import hashlib
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny, model_validator

from trainables.tasks import Task

SCIENCE_VERSION = "3"
"""Raised whenever the same cell would give other numbers (streams, tasks, network, training, measures)."""

SMALL_EPSILON = 1e-2
"""From here on float32 may take the output as the literal difference f(x; theta) - f(x; theta_0).

Its rounding, 1e-8 of the sums, then stays near 1e-6 in the logit."""
LAZY_EPSILON = 1e-5
"""gamma s in the lazy limit: `lazy` is gamma = 1e-5/sqrt(d) [Tong25 App. G.1]."""


class AnyCell(BaseModel):
    """What every kind of cell is: a task and settings, frozen and checked at construction; equal cells have equal ids."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    if TYPE_CHECKING:  # fields of each kind, in its own order
        task: Task
        width: int
        steps: int
        eval_every: int
        test_size: int
        seed: int
        dtype: str

    free: ClassVar[tuple[str, ...]] = ("seed",)
    """Settings in which cells of one pack may differ."""
    headline: ClassVar[tuple[str, str]] = ("best_test_acc", "best test accuracy")
    """The measure that a progress display tells of, and its name for people."""
    measures: ClassVar[tuple[str, ...]] = ()
    """What is measured of such a network and follows from its cell, by the names of the results."""
    telling: ClassVar[tuple[str, ...]] = ()
    """Keys of which it depends which measures there are."""

    @classmethod
    def version_of(cls, task: Task) -> str:
        """Version of what computes the numbers of this kind of cell with this task."""
        raise NotImplementedError

    @classmethod
    def measures_of(cls, task: type[Task], **keys: object) -> tuple[str, ...]:
        """Of `measures` those that networks of this task with these values of `telling` keys can have."""
        return cls.measures

    @property
    def version(self) -> str:
        """`science_version` of its row."""
        return self.version_of(self.task)

    @property
    def gamma_label(self) -> str | None:
        """`lazy`, or gamma in its shortest form: `1`, `0.1`; None where there is no gamma."""
        return None

    def shape(self) -> tuple[Any, ...]:
        """Cells of equal shape can share a pack, and cost the same."""
        return tuple((k, v) for k, v in self.keys().items() if k not in self.free)

    def describe(self) -> str:
        """The keys that tell cells of one sweep apart, for people: `same_different L=8 d=128 width=512 gamma=1 seed=0`."""
        raise NotImplementedError

    def keys(self) -> dict[str, Any]:
        """Every grid key with its resolved value, task keys first."""
        settings = {k: getattr(self, k) for k in type(self).model_fields if k != "task"}
        return {"task": self.task.name, **self.task.identity(), **settings}

    @property
    def cell_id(self) -> str:
        """20 hex digits: hash of the resolved keys in alphabetical order and of the version."""
        text = "\n".join(f"{k}={v!r}" for k, v in sorted(self.keys().items()))
        return hashlib.sha256(f"{self.version}\n{text}".encode()).hexdigest()[:20]


class Cell(AnyCell):
    """One network trained by SGD."""

    free: ClassVar[tuple[str, ...]] = ("gamma", "base_lr", "seed")
    measures: ClassVar[tuple[str, ...]] = (
        "best_test_acc", "final_test_acc", "best_test_error", "final_train_acc", "final_train_loss", "readout_ratio",
        "alignment_pos", "alignment_neg", "activation_change",
    )  # fmt: skip

    task: SerializeAsAny[Task]
    width: Annotated[int, Field(ge=1)]
    gamma: Annotated[float, Field(gt=0)]
    base_lr: Annotated[float, Field(gt=0)]
    steps: Annotated[int, Field(ge=1)] = 25000
    batch: Annotated[int, Field(ge=1)] = 128
    eval_every: Annotated[int, Field(ge=1)] = 1000
    test_size: Annotated[int, Field(ge=1)] = 1024
    seed: Annotated[int, Field(ge=0)]
    dtype: Literal["float32", "float64"] = "float32"

    @model_validator(mode="after")
    def _whole_evaluations(self) -> "Cell":
        if self.steps % self.eval_every:
            raise ValueError(f"steps ({self.steps}) is not a multiple of eval_every ({self.eval_every})")
        return self

    @property
    def epsilon(self) -> float:
        """epsilon = gamma s (gamma sqrt(d) for symbols): f = 1/epsilon sum_i a_i relu(w_i . x)."""
        return self.gamma * self.task.richness_scale

    @property
    def output_is_literal(self) -> bool:
        """Whether float32 may take the output as the literal difference f(x; theta) - f(x; theta_0)."""
        return self.epsilon >= SMALL_EPSILON

    @property
    def learning_rate(self) -> float:
        """SGD's rate on a and w: gamma^2 s^2 alpha_0 for gamma <= 1, gamma s alpha_0 above [Tong25 App. G.1]."""
        return self.scaled_lr * self.epsilon**2

    @property
    def scaled_lr(self) -> float:
        """Learning rate on the scaled changes b = (a - a_0)/epsilon, u = (w - w_0)/epsilon.

        `learning_rate` over epsilon^2, which is what the change of variables leaves of it.
        """
        return self.base_lr if self.gamma <= 1 else self.base_lr / self.epsilon

    @property
    def gamma_label(self) -> str:
        """`lazy`, or the number in its shortest form: `1`, `0.1`."""
        return "lazy" if self.gamma == lazy_gamma(self.task) else f"{self.gamma:.6g}"

    def describe(self) -> str:
        """The keys that tell cells of one sweep apart, for people: `same_different L=8 d=128 width=512 gamma=1 seed=0`."""
        task = " ".join(f"{k}={v}" for k, v in self.task.identity().items() if v != type(self.task).model_fields[k].default)
        return f"{self.task.name} {task} width={self.width} gamma={self.gamma_label} seed={self.seed}"

    @classmethod
    def version_of(cls, task: Task) -> str:
        return science_version(task)

    def shape(self) -> tuple[Any, ...]:
        """They also differ in what the task does not let enter the streams, such as noise."""
        return tuple((k, v) for k, v in self.keys().items() if k not in {*self.free, *self.task.shared_across})


def science_version(task: Task) -> str:
    """Version of what computes this task's numbers: the package's, and the digest of a user's own task file."""
    return f"{SCIENCE_VERSION}+{task.source}" if task.source else SCIENCE_VERSION


def lazy_gamma(task: Task) -> float:
    """The gamma that stands for gamma ~ 0: gamma s = 1e-5 [Tong25 App. G.1]."""
    return LAZY_EPSILON / task.richness_scale
