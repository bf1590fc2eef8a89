"""Interface of a task: its keys, the shape and kind of its inputs and targets, and how it draws both."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar

import numpy as np
from pydantic import Field

from sweepkit.declarations.columns import Role
from sweepkit.declarations.keys import FIRST_NETWORK, FIRST_TRAINING
from trainables.basics import Array, Preparation, TaskError
from trainables.features.images.table import Table, Taken
from trainables.parts import Part

if TYPE_CHECKING:
    from rich.console import Console
    from torch import Tensor

AnyArray = TypeVar("AnyArray", Array, "Tensor")

__all__ = ["Array", "Preparation", "Task", "TaskError", "register", "task_class", "task_names"]


Inputs = Literal["vector", "tokens"]
"""A real vector (input_dim,), or a sequence of whole numbers (input_dim,) below `n_tokens`."""
Targets = Literal["binary", "classes", "real"]
"""A label 0 or 1; a class 0 .. n_outputs - 1; a real number, or a vector (n_outputs,) of them."""


class Task(Part, ABC):
    """One task with its keys resolved.

    Every draw takes the generator it may use, so that a result depends on the cell alone.
    """

    role: ClassVar[Role] = "task"
    inputs: ClassVar[Inputs] = "vector"
    targets: ClassVar[Targets] = "binary"
    has_two_halves: ClassVar[bool] = False
    """Whether the input is a pair (z1; z2), so that the alignment of a neuron's two halves means something."""
    has_fixed_tests: ClassVar[bool] = False
    """Whether all evaluations see the same test examples; otherwise each draws fresh ones."""
    validates: ClassVar[bool] = False
    """Whether each evaluation also takes validation examples, which pick the one that counts; see `validation_examples`."""
    labels_are_tokens: ClassVar[bool] = False
    """Whether the class of an example is one of the tokens, so that a network may score it by the token's own embedding."""
    tokens_are_words: ClassVar[bool] = False
    """True if a token's number is that of a tokenizer's word, so that given vectors of words belong to the tokens."""
    defaults: ClassVar[Mapping[str, Any]] = {}
    """Defaults of network and training keys that a grid with this task may leave out, such as {"base_lr": 0.1}. None means that
    the grid must give the key. A network or training that has a default of its own keeps it."""
    presets: ClassVar[Mapping[str, Any]] = {}
    """Defaults that take the place of those of the network and the training, such as {"steps": 1000}."""
    also_hashed: ClassVar[tuple[str, ...]] = ()
    """Keys of network and training that enter the cell id even at their default: they once were this task's own."""
    later: ClassVar[tuple[str, ...]] = ()
    """Keys that came after the first stored results: they enter the cell id only if they differ from their default. `data_seed`
    is one in every task."""

    data_seed: Annotated[int | None, Field(ge=0)] = None
    """The seed of symbols, training and test examples, where it is not that of the cell; then weights alone follow the cell's."""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        fields = cls.__pydantic_fields__  # a task's own keys come first wherever keys are listed
        fields |= {name: fields.pop(name) for name in Task.__pydantic_fields__}

    @classmethod
    def default_of(cls, key: str) -> Any:
        """The default that this task gives a key of network or training; KeyError if it gives none."""
        if key in cls.presets:
            return cls.presets[key]
        for base in cls.__mro__:
            if key in (own := base.__dict__.get("defaults", {})):
                if own[key] is None:
                    raise KeyError(key)
                return own[key]
            # Users' older tasks set `default_base_lr` and `richness_scale` instead; the latter holds if the grid gives no
            # prefactor.
            if key == "base_lr" and "default_base_lr" in base.__dict__:
                return base.__dict__["default_base_lr"]
            if key == "prefactor" and "richness_scale" in base.__dict__:
                return "sqrt_d"
        if key in _USUAL:
            return _USUAL[key]
        if key == "loss":
            return "mse" if cls.targets == "real" else "cross_entropy"
        raise KeyError(key)

    @classmethod
    def traits(cls) -> dict[str, str | None]:
        """The task's part of `Cell.traits`; `outputs` is None where their number depends on the task's keys."""
        answers = "one" if cls.n_answers is Task.n_answers else "several"
        number = 1 if cls.n_outputs is Task.n_outputs else cls.n_outputs
        known = {"binary": "one", "classes": "several"}.get(cls.targets)
        if known is None and isinstance(number, int):
            known = "one" if number == 1 else "several"
        return {"targets": cls.targets, "outputs": known, "validated": "yes" if cls.validates else "no", "answers": answers}

    @property
    def n_outputs(self) -> int:
        """Number of a network's outputs: 1, K for K classes, or the length of a real target."""
        return 1

    @property
    def n_answers(self) -> int:
        """Number of targets of an example: 1, or T where targets are (n, T) and each is answered by itself. Outputs are then n T,
        one example after the other."""
        return 1

    @property
    def n_tokens(self) -> int:
        """Number of different tokens, if inputs are sequences of tokens."""
        raise NotImplementedError(f"inputs of task {self.name} are not tokens")

    @property
    def n_train(self) -> int | None:
        """P, the size of the fixed training set; None where each step sees fresh examples."""
        return None

    @property
    def target_scale(self) -> float:
        """Factor of the targets e_k that the mean squared error takes for class k."""
        return 1.0

    @property
    def patch_length(self) -> int | None:
        """Length of the patches that an input consists of; None for inputs without patches."""
        return None

    @property
    def norm_dim(self) -> int:
        """d of the prefactor 1/sqrt(d): dimension of the part of the input that has a norm of order 1."""
        return self.input_dim // 2 if self.has_two_halves else self.input_dim

    @property
    @abstractmethod
    def input_dim(self) -> int:
        """Length of the network's input vector."""

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Shape of an input as people look at it: (height, width) of an image, (2, d) of a pair. `as_shown` gives this shape."""
        return (2, self.input_dim // 2) if self.has_two_halves else (self.input_dim,)

    @property
    def image_shape(self) -> tuple[int, int, int] | None:
        """(channels, height, width) of an input that is an image; None for other inputs."""
        return None

    def as_images(self, x: "AnyArray") -> "AnyArray":
        """Inputs (n, input_dim), an array or a tensor, as (n, *image_shape): one channel after the other, each row by row."""
        return x.reshape(len(x), *(self.image_shape or ()))

    def as_shown(self, x: "AnyArray") -> "AnyArray":
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
        """How many numbers one example from `shown_examples` has."""
        return prod(self.input_shape)

    @property
    def rulings(self) -> int | None:
        """Pixels between helping lines in pictures from `as_shown`, such as borders of patches; None for no lines."""
        return None

    @classmethod
    def obtain(cls, keys: Mapping[str, Any]) -> None:
        """Get the files that a task with these keys needs from elsewhere, such as data to download. TaskError if that fails.

        Only planning calls it, before it makes the task: making a task is quick, asks no server and writes nothing.
        """

    def preparations(self) -> Sequence[Preparation]:
        """Files that `prepare` would have to make now. This call is quick."""
        return ()

    def prepare(self, console: "Console") -> None:
        """Make the files that training needs and that take long, such as features of images, and say so on the console. TaskError
        if that fails.

        The sweep calls it once, before its workers start. A worker that does not find the files (on another node) makes them
        itself.
        """

    @property
    def table_bytes(self) -> int:
        """Bytes of `table`; 0 where inputs are not the rows of one. This call is quick, and made before the table is."""
        return 0

    def table(self) -> Table:
        """The table whose rows are the inputs; where `table_bytes` is 0 there is none."""
        raise NotImplementedError(f"inputs of task {self.name} are no rows of a table")

    def train_rows(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Taken, Array]:
        """The examples that `train_examples` draws from the same generator, as rows of `table`, and their targets."""
        raise NotImplementedError(f"inputs of task {self.name} are no rows of a table")

    def train_set(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        """The first n of the `n_train` training examples, all if there are fewer."""
        if not self.table_bytes:
            x, targets = self.train_examples(rng, symbols, self.n_train or 0)
            return x[:n], targets[:n]
        taken, targets = self.train_rows(rng, symbols, self.n_train or 0)
        return self.table().inputs(taken.first(n)), targets[:n]

    def validation_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        """`n` validation inputs and targets, shaped as those of `train_examples`; the same ones at each evaluation."""
        raise NotImplementedError(f"task {self.name} has no validation examples")

    @abstractmethod
    def draw_symbols(self, rng: np.random.Generator) -> Array:
        """Draw what is fixed for a network: symbols, patterns, or the split into seen and unseen ones."""

    @abstractmethod
    def train_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        """`n` training inputs (n, input_dim), float32 unless tokens, and targets (n,) or (n, n_outputs). Label 1 means same."""

    @abstractmethod
    def test_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        """`n` fresh test inputs and targets, shaped as those of `train_examples`."""


_USUAL = {"network": FIRST_NETWORK, "training": FIRST_TRAINING, "prefactor": "sqrt_d"}
"""Defaults for tasks that set no others."""

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


def names_of_images() -> list[str]:
    """Names of the tasks whose inputs are images, or may be, sorted."""
    return [name for name in task_names() if _TASKS[name].image_shape is not Task.image_shape]
