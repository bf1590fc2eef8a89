"""What a task is: its grid keys, and how it draws inputs and labels."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict

from trainables.basics import Array, Preparation, TaskError

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Array", "Preparation", "Task", "TaskError", "register", "task_class", "task_names"]


class Task(BaseModel, ABC):
    """One task with its keys resolved; the fields of a subclass are its grid keys, with their legal ranges.

    Every draw takes the generator it may use, so that a result depends on the cell alone.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    name: ClassVar[str]
    """What `task:` in a grid says."""
    default_base_lr: ClassVar[float]
    """alpha_0 where the grid does not give `base_lr`."""
    shared_across: ClassVar[tuple[str, ...]] = ()
    """Keys that do not enter the random streams: cells that differ only in these see the same draws."""
    has_two_halves: ClassVar[bool] = False
    """Whether the input is a pair (z1; z2), so that the alignment of a neuron's two halves means something."""
    file_digest: ClassVar[str] = ""
    """Digest of the source file of a task that is not part of this package."""
    locations: ClassVar[tuple[str, ...]] = ()
    """Keys that say where something lies, not what it is: they enter neither the cell id nor the results."""

    @property
    @abstractmethod
    def input_dim(self) -> int:
        """Length of the network's input vector."""

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Shape of an input as people look at it: (height, width) of an image, (2, d) of a pair; with `as_shown`."""
        return (2, self.input_dim // 2) if self.has_two_halves else (self.input_dim,)

    def as_shown(self, x: Array) -> Array:
        """Inputs, or weights of neurons, (n, input_dim) as (n, *input_shape)."""
        return x.reshape(len(x), *self.input_shape)

    def shown_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        """The very examples that `train_examples` draws from this generator, as people look at them, and their labels.

        (n, height, width) in grey, (n, height, width, 3) in colours in [0, 1]; the shape need not be that of the weights.
        """
        x, labels = self.train_examples(rng, symbols, n)
        return self.as_shown(x), labels

    @property
    def shown_size(self) -> int:
        """Numbers of one example as `shown_examples` gives it."""
        return prod(self.input_shape)

    @property
    def rulings(self) -> int | None:
        """Pixels between the lines that help the eye in what `as_shown` gives, such as borders of patches; None: no lines."""
        return None

    def identity(self) -> dict[str, Any]:
        """The keys that make the task what it is, with their values: all but `locations`."""
        return {k: getattr(self, k) for k in type(self).model_fields if k not in self.locations}

    @property
    def source(self) -> str:
        """What the numbers come from beside the keys: a user's own file, data. It enters the cell id and the random streams."""
        return self.file_digest

    @classmethod
    def obtain(cls, keys: Mapping[str, Any]) -> None:
        """Get what a task with these keys needs from elsewhere, such as data that can be downloaded. TaskError if it fails.

        Planning alone calls it, before it makes the task: to make a task is quick, asks no server and writes nothing.
        """

    def preparations(self) -> Sequence[Preparation]:
        """Files that `prepare` would have to make now; quick to ask."""
        return ()

    def prepare(self, console: "Console") -> None:
        """Make what training needs and what takes long, such as features of images; said on the console. TaskError if it fails.

        The sweep calls it once, before its workers start. A worker that does not find it (on another node) makes it itself.
        """

    @property
    @abstractmethod
    def richness_scale(self) -> float:
        """s in f = 1/(gamma s) sum_i a_i relu(w_i . x): sqrt(d) where the input norm is O(1) [Tong25 Eq. 1], else 1."""

    @abstractmethod
    def draw_symbols(self, rng: np.random.Generator) -> Array:
        """What is drawn once per network: symbols, patterns, or the split into seen and unseen ones."""

    @abstractmethod
    def train_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        """`n` training inputs (n, input_dim) float32 and labels (n,) in {0, 1}, 1 = same."""

    @abstractmethod
    def test_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        """`n` fresh test inputs and labels, shaped as those of `train_examples`."""


_TASKS: dict[str, type[Task]] = {}


def register(cls: type[Task]) -> type[Task]:
    """Make a task known to grids by its `name`. Registering the same name again replaces it."""
    _TASKS[cls.name] = cls
    return cls


def task_class(name: str) -> type[Task]:
    """The class of a registered task; KeyError when there is none."""
    return _TASKS[name]


def task_names() -> list[str]:
    """Names of all registered tasks, sorted."""
    return sorted(_TASKS)
