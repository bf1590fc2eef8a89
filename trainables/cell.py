"""A cell: one network, fully specified by task, network, training and seed, and the id that names it everywhere."""

import hashlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny, model_validator

from sweepkit.declarations.columns import Key
from sweepkit.declarations.keys import FIRST_NETWORK, KEYS, LEFT_OUT
from trainables.networks import Network, TwoLayer, network_class
from trainables.parts import Part, declared
from trainables.tasks import Task
from trainables.training import Descent, Training, training_class
from trainables.training.base import Loss

SCIENCE_VERSION = "3"
"""Raised whenever a change to streams, tasks, networks, trainings or metrics gives the same cell other numbers."""

SMALL_EPSILON = 1e-2
"""The smallest epsilon at which float32 may compute the output as the literal difference f(x; theta) - f(x; theta_0).

The rounding of the difference, 1e-8 of the sums, then stays near 1e-6 in the logit."""


class Cell(BaseModel):
    """One network: frozen and checked at construction; equal cells have equal ids."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    task: SerializeAsAny[Task]
    network: SerializeAsAny[Network]
    training: SerializeAsAny[Training]
    seed: Annotated[int, Field(ge=0)]

    @model_validator(mode="after")
    def _fit_together(self) -> "Cell":
        if self.network.family != self.training.family:
            raise ValueError(f"training {self.training.name} cannot train network {self.network.name}")
        self.network.check(self)
        self.training.check(self)
        return self

    @property
    def parts(self) -> tuple[Part, Part, Part]:
        """Task, network, training."""
        return self.task, self.network, self.training

    @property
    def width(self) -> int:
        return self.network.width

    @property
    def steps(self) -> int:
        return self.training.steps

    @property
    def eval_every(self) -> int:
        return self.training.eval_every

    @property
    def evaluations(self) -> tuple[int, ...]:
        """The steps after which the network is evaluated, in order."""
        return self.training.evaluations

    @property
    def test_size(self) -> int:
        return self.training.test_size

    @property
    def last_test_size(self) -> int:
        """Test examples of the last evaluation."""
        return self.training.last_test_size

    @property
    def dtype(self) -> str:
        return self.training.dtype

    @property
    def loss(self) -> Loss:
        return self.training.loss

    @property
    def descent(self) -> Descent:
        """The training of a cell that learns by gradient descent. TypeError for any other cell."""
        if not isinstance(self.training, Descent):
            raise TypeError(f"{self.describe()} does not learn by gradient descent")
        return self.training

    @property
    def batch(self) -> int:
        """Examples for one change of the parameters: P if each takes the whole training set."""
        return self.descent.examples(self.task)

    @property
    def updates(self) -> int:
        """Number of times that one step changes the parameters."""
        return self.descent.updates(self.task)

    @property
    def epsilon(self) -> float:
        """epsilon = gamma s (gamma sqrt(d) for symbols): f = 1/epsilon sum_i a_i relu(w_i . x)."""
        return self.network.epsilon(self.task)

    @property
    def output_is_literal(self) -> bool:
        """Whether float32 may take the output as the literal difference f(x; theta) - f(x; theta_0)."""
        return self.epsilon >= SMALL_EPSILON

    @property
    def needs_float64(self) -> bool:
        """True if trainers that take the output as it is written compute in float64: where the cell asks for it, and where a
        centred output would lose its digits in float32."""
        return self.dtype == "float64" or (self.network.is_centred and not self.output_is_literal)

    @property
    def learning_rate(self) -> float:
        """Rate of SGD on a and w: gamma^2 s^2 alpha_0 for gamma <= 1, gamma s alpha_0 above [Tong25 App. G.1]."""
        return self.scaled_lr * self.epsilon**2

    @property
    def scaled_lr(self) -> float:
        """Learning rate on the scaled changes b = (a - a_0)/epsilon, u = (w - w_0)/epsilon.

        It equals `learning_rate` / epsilon^2, by the change of variables.
        """
        base_lr = self.descent.base_lr
        return base_lr if getattr(self.network, "gamma", 1.0) <= 1 else base_lr / self.epsilon

    @property
    def gamma_label(self) -> str | None:
        """`lazy`, or gamma in its shortest form: `1`, `0.1`; None for a network without gamma."""
        return self.network.gamma_label(self.task)

    @property
    def version(self) -> str:
        """The `science_version` of the cell's row in the results: version of the code that computes the cell's numbers (the
        package, the parts), and digests of a user's own files, of data and of weights. These follow a plus, but a space after
        the name of a user's own part."""
        own = [part.version for part in (self.training, self.network) if part.version]
        task, chosen = self.task, self.task.origin != self.task.name
        for part in (self.training, self.network, *([task] if chosen else [])):
            mark = " " if part.origin == part.name else "+"
            own += [f"{part.origin}{mark}{part.source}"] if part.source else []
        of_task = "" if chosen else task.source
        return ", ".join([*own, f"{SCIENCE_VERSION}+{of_task}" if of_task else SCIENCE_VERSION])

    def traits(self) -> dict[str, str | None]:
        """The properties that decide which metrics the cell has; see declarations.metric."""
        return {**self.task.traits(), **self.network.traits(), **self.training.traits()}

    def keys(self) -> dict[str, Any]:
        """The grid keys that identify the cell, with their resolved values, task keys first: they enter its id."""
        hashed = hashed_keys(type(self.task), type(self.network), type(self.training))
        found: dict[str, Any] = {"task": self.task.name}
        for name, value in self._values():
            rule = hashed[name]
            if rule.always or value != rule.default:
                found[name] = value
        return found

    def columns(self) -> dict[str, Any]:
        """The keys and values in the cell's row of the results; those of `LEFT_OUT` only if they differ from the task's default.

        A network other than the first is always named, because readers assume the first network where a row names none.
        """
        keys = self.keys()
        absent = {name for name in LEFT_OUT if name not in keys}
        if self.network.name != FIRST_NETWORK:
            absent.discard("network")
        return {"task": self.task.name, **{name: value for name, value in self._values() if name not in absent}}

    def declared(self) -> dict[str, Key]:
        """Declarations of the keys of the cell's parts, without their `locations`."""
        found: dict[str, Key] = {}
        for part in self.parts:
            found |= {name: key for name, key in declared(type(part)).items() if name not in part.locations}
        return found

    def shape(self) -> tuple[Any, ...]:
        """The keys in which the cells of a pack agree, with their values. Cells of equal shape cost the same."""
        free = {"seed", *self.task.shared_across, *self.network.free, *self.training.free}
        return tuple((k, v) for k, v in self.keys().items() if k not in free)

    def describe(self) -> str:
        """The keys that tell cells of one sweep apart, for people: `same_different L=8 d=128 width=512 gamma=1 seed=0`."""
        keys, words = self.keys(), [self.task.name]
        for part in self.parts:
            if part.role != "task" and part.role in keys:
                words.append(part.name)
            rules = _rules(type(self.task), type(part))
            for name, value in part.identity().items():
                if name in part.told:
                    words.append(_shown(value))
                    continue
                is_length = name in KEYS and KEYS[name].part == "training" and not KEYS[name].searched
                if value is not None and not is_length and (rules[name].default is _NONE or value != rules[name].default):
                    words.append(f"{name}={self.gamma_label if name == 'gamma' else _shown(value)}")
        return " ".join([*words, f"seed={self.seed}"])

    @property
    def cell_id(self) -> str:
        """20 hex digits: hash of the keys in alphabetical order and of the version."""
        text = "\n".join(f"{k}={v!r}" for k, v in sorted(self.keys().items()))
        return hashlib.sha256(f"{self.version}\n{text}".encode()).hexdigest()[:20]

    def every_key(self) -> dict[str, Any]:
        """All keys with their values, those that do not enter the id, too."""
        return {"task": self.task.name, **dict(self._values())}

    def _values(self) -> Iterable[tuple[str, Any]]:
        yield from self.task.identity().items()
        yield "network", self.network.name
        yield from self.network.identity().items()
        yield "training", self.training.name
        yield from self.training.identity().items()
        yield "seed", self.seed


class Rule(NamedTuple):
    """How a key enters the cell id: `always`, or only if it differs from its `default`."""

    always: bool
    default: Any


_NONE = object()
"""Stands in place of a default for a key that must be given."""


@cache
def hashed_keys(task: type[Task], network: type[Network], training: type[Training]) -> Mapping[str, Rule]:
    """The rule of each key that may enter the id of cells with these parts, by name: of all but `locations`."""
    found: dict[str, Rule] = {"task": Rule(True, _NONE), "seed": Rule(True, _NONE)}
    for part in (task, network, training):
        found |= {name: rule for name, rule in _rules(task, part).items() if name not in part.locations}
    for name in ("network", "training"):
        found[name] = Rule(False, _task_default(task, name))
    return found


@cache
def _rules(task: type[Task], part: type[Part]) -> Mapping[str, Rule]:
    found = {}
    for name, field in part.model_fields.items():
        of_task = field.is_required() or name in task.presets
        default = _task_default(task, name) if of_task else field.get_default(call_default_factory=True)
        always = name in part.hashed_at_default or name in task.also_hashed
        if issubclass(part, Task):
            always = name not in (*Task.model_fields, *part.later)
        found[name] = Rule(always or default is _NONE, default)
    return found


def _task_default(task: type[Task], key: str) -> Any:
    try:
        return task.default_of(key)
    except KeyError:
        return _NONE


def default_of(task: type[Task], part: type[Part], key: str) -> Any:
    """The value of a part's key if a grid with this task leaves it out. KeyError if the grid must give the key."""
    default = _rules(task, part)[key].default
    if default is _NONE:
        raise KeyError(key)
    return default


def parts_of(task: type[Task], network: str | None = None, training: str | None = None) -> tuple[type[Network], type[Training]]:
    """Classes of a cell's network and training, by name or by the task's default.

    KeyError if no part has that name, if the training cannot train the network, or if the task has no default.
    """
    trained = training_class(training or task.default_of("training"))
    return network_class(network or task.default_of("network"), trained.family), trained


def cell_of(task: Task, *, seed: int, network: str | None = None, training: str | None = None, **keys: Any) -> Cell:
    """The cell with these keys of network and training; missing keys take defaults. ValidationError if a part refuses its
    keys."""
    kinds = parts_of(type(task), network, training)
    made = []
    for kind in kinds:
        own = {name: keys.pop(name) for name in kind.model_fields if name in keys}
        for name in kind.model_fields.keys() - own.keys():
            with suppress(KeyError):  # pydantic then says that it is missing
                own[name] = default_of(type(task), kind, name)
        made.append(own)
    made[0] |= keys  # the network refuses keys that no part knows
    return Cell(task=task, network=kinds[0](**made[0]), training=kinds[1](**made[1]), seed=seed)


def lazy_gamma(task: Task, network: type[Network] = TwoLayer, **keys: Any) -> float:
    """The gamma that stands for gamma ~ 0: gamma s = 1e-5. `keys` are the network's; missing ones take their defaults."""
    for name in network.model_fields:
        with suppress(KeyError):
            keys.setdefault(name, default_of(type(task), network, name))
    return network.model_construct(**keys).lazy_gamma(task)


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
