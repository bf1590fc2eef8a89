"""Checks of a user's own parts before any is tried. UserFileError names what is wrong, and its line."""

import inspect
import re
from typing import get_args

from orchestrator.grid.keys import BLOCK_KEYS, PARTS, keys_of
from orchestrator.grid.own.source import UserFile, UserFileError, line_at, line_of
from sweepkit.console.words import listed, show
from sweepkit.declarations.keys import KEYS
from sweepkit.declarations.metrics import LISTS, METRICS
from sweepkit.store.columns import check_further
from sweepkit.store.schema import RESERVED
from trainables import networks
from trainables.metrics import Requested, metric_groups
from trainables.metrics.base import Per
from trainables.networks import Network
from trainables.parts import KINDS, Part, declared, kind_of, plain_type
from trainables.tasks import Task
from trainables.training import Descent, Minibatch, Training, all_trainings


def check_task(f: UserFile, cls: type[Task]) -> None:
    """Check that a task is whole, and its name and defaults."""
    line = line_of(f, cls)
    if inspect.isabstract(cls):
        missing = ", ".join(sorted(cls.__abstractmethods__))
        raise UserFileError(f"task {cls.__name__} lacks {missing}", line)
    _check_name(f, cls, "parity")
    try:
        base_lr = cls.default_of("base_lr")
    except KeyError:
        base_lr = None
    if isinstance(base_lr, bool) or not isinstance(base_lr, int | float) or not 0 < base_lr < float("inf"):
        raise UserFileError(f'task {cls.__name__} needs a learning rate: defaults: ClassVar = {{"base_lr": 0.1}}', line)
    if fixed := sorted(cls.defaults.keys() & _settled_keys()):
        text = (
            f"task {cls.__name__}: defaults cannot hold {listed(fixed)}, because networks or trainings have defaults of their own"
        )
        raise UserFileError(text, line_of(f, cls, "defaults"))
    for key in PARTS:
        name = cls.defaults.get(key, cls.default_of(key))
        if not isinstance(name, str):
            raise UserFileError(f"task {cls.__name__}: its default {key} is {show(name)}, and must be the name of a {key}", line)


def check_network(f: UserFile, cls: type[Network]) -> None:
    """Check the methods of a network, its name and its width."""
    line = line_of(f, cls)
    for method in ("init", "apply"):
        if getattr(cls, method) is getattr(Network, method):
            raise UserFileError(f"network {cls.__name__} lacks {method}", line)
        if not callable(getattr(cls, method)):
            raise UserFileError(f"network {cls.__name__}: {method} is not a function", line)
    _check_name(f, cls, "gated")
    if "width" not in cls.model_fields:
        raise UserFileError(f"network {cls.__name__} needs a field width: width: Annotated[int, Field(ge=1)]", line)
    if cls.family != "descent":
        raise UserFileError(f"network {cls.__name__}: your own networks must learn by gradient descent; leave `family` out", line)


def check_training(f: UserFile, cls: type[Training]) -> None:
    """Check that a training is an optimiser, and the methods and the name of it."""
    line = line_of(f, cls)
    if not issubclass(cls, Descent) or cls.family != "descent":
        told = "your own trainings must learn by gradient descent; subclass trainables.training.Minibatch, and leave `family` out"
        raise UserFileError(f"training {cls.__name__}: {told}", line)
    if cls.update is Descent.update:
        raise UserFileError(f"training {cls.__name__} lacks update", line)
    for method in ("start", "schedule", "update"):
        if not callable(getattr(cls, method)):
            raise UserFileError(f"training {cls.__name__}: {method} is not a function", line_of(f, cls, method))
    if cls.examples is Descent.examples and cls.is_full_batch is Descent.is_full_batch:
        told = "does not say how many examples a step takes; subclass trainables.training.Minibatch"
        raise UserFileError(f"training {cls.__name__} {told}", line)
    _check_name(f, cls, "lion")


def _check_name(f: UserFile, cls: type[Part], example: str) -> None:
    name = getattr(cls, "name", None)
    if name is None:
        raise UserFileError(f'{cls.role} {cls.__name__} needs a name: name: ClassVar[str] = "{example}"', line_of(f, cls))
    if not (isinstance(name, str) and name.isidentifier()):
        legal = f'letters, digits and "_", without a digit at its start, such as "{example}"'
        raise UserFileError(f"{cls.role} {cls.__name__}: its name is {show(name)}, and must be {legal}", line_of(f, cls, "name"))


def check_metric(f: UserFile, found: Requested) -> None:
    """Check the declaration of a metric, and that its name is free as a column of the results."""
    metric, line = found.metric, line_at(f, rf"def {re.escape(found.name)}\b")
    if not metric.title or not isinstance(metric.title, str):
        raise UserFileError(f"metric {metric.name} needs a title, such as @metric(title='share of inactive neurons')", line)
    if not metric.low < metric.high:
        raise UserFileError(f"metric {metric.name}: low ({metric.low:g}) must be below high ({metric.high:g})", line)
    if metric.better not in ("higher", "lower", ""):
        raise UserFileError(f"metric {metric.name}: better must be 'higher', 'lower' or ''", line)
    if metric.per not in (legal := get_args(Per)):
        raise UserFileError(f"metric {metric.name}: per must be one of {listed(legal)}, not {show(metric.per)}", line)
    taken = (*BLOCK_KEYS, *METRICS, "seed", *_keys_of_package("network", "training"), *LISTS)
    if metric.name.lower() in RESERVED or metric.name in taken:
        raise UserFileError(f"metric {metric.name}: the results have a column of this name; choose another", line)
    if metric.name in metric_groups():
        raise UserFileError(f"the name {metric.name!r} belongs to a group of metrics of this package; choose another", line)
    try:
        check_further(metric)
    except ValueError as error:
        raise UserFileError(f"metric {metric.name} cannot be a column of the results: {error}", line) from None


_TYPES = {kind: tuple(t for t, k in KINDS.items() if k == kind) for kind in ("whole", "text", "truth")} | {"number": (float, int)}


def check_part(f: UserFile, cls: type[Part]) -> None:
    """Check what parts of cells have alike: the names of keys that they list, their versions and their fields."""
    _check_words(f, cls)
    _check_fields(f, cls)
    if issubclass(cls, Descent):
        _check_free(f, cls)


def _check_words(f: UserFile, cls: type[Part]) -> None:
    """Check the attributes in which a part lists names of its keys, and its version."""
    of_tasks = ("also_hashed", "later") if issubclass(cls, Task) else ()
    for word in ("locations", "shared_across", "free", "hashed_at_default", "told", *of_tasks):
        names = getattr(cls, word)
        if not isinstance(names, tuple | list | frozenset | set) or not all(isinstance(name, str) for name in names):
            text = f"{cls.role} {cls.__name__}: {word} must hold names of keys, such as ('d',), not {show(names)}"
            raise UserFileError(text, line_of(f, cls, word))
    if not isinstance(cls.version, str):
        raise UserFileError(
            f"{cls.role} {cls.__name__}: version must be a text, not {show(cls.version)}", line_of(f, cls, "version")
        )


def _check_free(f: UserFile, cls: type[Descent]) -> None:
    """Check the keys in which networks of one pack may differ: an optimiser gets them as tensors of numbers."""
    own = [n for n, field in cls.model_fields.items() if n not in Minibatch.model_fields and field.annotation in (int, float)]
    if wrong := [name for name in cls.free if name not in ("base_lr", *own)]:
        told = f"free names {listed(map(show, wrong))}; it may name base_lr and numbers among its own keys"
        raise UserFileError(f"training {cls.__name__}: {told}: {listed(own) or 'it has none'}", line_of(f, cls, "free"))


def _check_fields(f: UserFile, cls: type[Part]) -> None:
    """Check the fields of a part. Each becomes a key of grids and a column of the results, so its name must be free as both."""
    seen: dict[str, str] = {}
    of_others = {name for name, key in KEYS.items() if key.part != "task" and not key.derived}
    of_other_role = _keys_of_package("training" if cls.role == "network" else "network")
    taken = {*PARTS, *of_others} if issubclass(cls, Task) else {"seed", *PARTS, *of_other_role}
    of_every = Task.model_fields if issubclass(cls, Task) else {}
    hidden = {*vars(Part), *of_every, *_attributes_of_optimisers(cls)}
    for name, field in cls.model_fields.items():
        if name in of_every and name not in vars(cls).get("__annotations__", {}):
            continue

        def refuse(why: str, name: str = name) -> UserFileError:
            return UserFileError(f"{cls.role} {cls.__name__}, field {name}: {why}", line_of(f, cls, name))

        kind = kind_of(field.annotation)
        if cls.role == "task" and plain_type(field.annotation) is not field.annotation:
            kind = None  # only a network may leave a key out, with None; a task has all its keys
        if name in taken or name in BLOCK_KEYS:
            raise refuse("a grid uses this name already")
        if name in hidden:
            raise refuse(f"every {cls.role} has something else of this name; choose another")
        if kind is None:
            given = "" if get_args(field.annotation) else getattr(field.annotation, "__name__", "")
            given = given or str(field.annotation).replace("typing.", "")
            raise refuse(f"must be int, float, bool, str or a Literal of texts, to be a column; it is {given}")
        if name in KEYS:
            shared = KEYS[name]
            if shared.kind != kind and not (shared.kind == "number" and kind == "whole"):
                legal = " or ".join(t.__name__ for t in _TYPES[shared.kind])
                raise refuse(f"the results have a column of this name; make it {legal}, or choose another name")
            if shared.part != cls.role:
                raise refuse(f"the results have a column of this name, for a {shared.part}; choose another")
        elif name.lower() in RESERVED:
            raise refuse("the results have a column of this name (case makes no difference); choose another")
        if other := seen.get(name.lower()):
            raise refuse(f"differs from {other} only in case, which the results cannot tell apart")
        seen[name.lower()] = name
        try:
            if not field.is_required():
                keys_of(cls)[name].check(field.get_default(call_default_factory=True))
            if name not in KEYS:
                check_further(declared(cls)[name])
        except ValueError as error:
            raise refuse(f"its declaration is not legal: {error}") from None


def _attributes_of_optimisers(cls: type[Part]) -> set[str]:
    """Methods and facts of every optimiser, which a field of this name would hide."""
    return {*vars(Training), *vars(Descent), *vars(Minibatch)} - {*Minibatch.model_fields} if issubclass(cls, Descent) else set()


def _parts_of_package() -> list[type[Part]]:
    """This package's networks and trainings, without those of user files, which depend on the grids read before."""
    return [part for part in (*all_trainings(), *networks.all_networks()) if not part.file_digest]


def _keys_of_package(*roles: str) -> set[str]:
    """Keys of this package's networks or trainings."""
    return {name for part in _parts_of_package() if part.role in roles for name in part.model_fields}


def _settled_keys() -> set[str]:
    """Keys of this package's networks and trainings that have a default in every part that has them."""
    parts = _parts_of_package()
    required = {name for part in parts for name, field in part.model_fields.items() if field.is_required()}
    return {name for part in parts for name in part.model_fields} - required
