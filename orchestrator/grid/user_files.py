"""A user's own tasks, networks and metrics: Python files that a grid lists under `tasks:`, `networks:` or `metrics:`.

A file travels to the workers as text, so it must stand alone: it may import installed packages, but not files beside it.
"""

import hashlib
import inspect
import linecache
import re
import sys
import traceback
import types
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar, get_args

from console.codes import Interrupted
from console.words import in_a_line, listed, show
from declarations.keys import KEYS
from declarations.lists import LISTS
from declarations.metrics import METRICS
from orchestrator.grid.keys import BLOCK_KEYS, PARTS, keys_of
from store.columns import check_further
from store.schema import RESERVED
from trainables import metrics, networks, tasks
from trainables.metrics import Requested
from trainables.metrics.base import Per
from trainables.networks import Network
from trainables.parts import KINDS, Part, declared, kind_of, plain_type
from trainables.tasks import Task, task_class, task_names
from trainables.training import all_trainings, training_names


@dataclass(frozen=True)
class UserFile:
    """A user's own file as the driver read it."""

    path: str
    source: str

    @property
    def digest(self) -> str:
        """Digest of the source. It enters the ids of cells, so that an edited task or network gives new cells."""
        return hashlib.sha256(self.source.encode(errors="surrogatepass")).hexdigest()[:12]


class UserFileError(ValueError):
    """A file that cannot be used. `line`: the line of the problem in the file, if known."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


class UserParts(NamedTuple):
    """The tasks, networks and metrics that a file defines."""

    file: UserFile
    tasks: dict[str, type[Task]]
    networks: list[type[Network]]
    metrics: dict[str, Requested]


_LOADED: dict[str, UserParts] = {}
_WANTED = {
    "tasks": "it defines no task; subclass trainables.tasks.Task (examples/parity.py shows how)",
    "networks": "it defines no network; subclass trainables.networks.Network (examples/own_network.py shows how)",
    "metrics": "it defines no metric; decorate a function with trainables.metrics.metric (examples/own_metric.py shows how)",
}


def register_user_file(f: UserFile, wanted: str = "") -> UserParts:
    """Run the file once in this process and make its parts known; UserFileError says what is wrong with it.

    `wanted`: `tasks`, `networks` or `metrics`; the file must define at least one of this kind.
    """
    # So that tracebacks show the lines of this text, even if the file at this path has changed since.
    linecache.cache[f.path] = (len(f.source), None, f.source.splitlines(keepends=True), f.path)
    if f.digest not in _LOADED:
        _LOADED[f.digest] = _load(f)
    found = _LOADED[f.digest]
    if not (getattr(found, wanted) if wanted else found.tasks or found.networks or found.metrics):
        raise UserFileError(_WANTED[wanted or "tasks"])
    for cls in found.tasks.values():
        if cls.name in task_names() and not task_class(cls.name).file_digest:
            raise UserFileError(f"the name {cls.name!r} belongs to a task of this package; choose another", line_of(f, cls))
        tasks.register(cls)
    for network in found.networks:
        if any(n.name == network.name and not n.file_digest for n in networks.all_networks()):
            text = f"the name {network.name!r} belongs to a network of this package; choose another"
            raise UserFileError(text, line_of(f, network))
        networks.register(network)
    for asked in found.metrics.values():
        if asked.name in metrics.requested_names() and not metrics.requested_metric(asked.name).metric.digest:
            raise UserFileError(f"the name {asked.name!r} belongs to a metric of this package; choose another")
        if asked.name in metrics.metric_groups():
            raise UserFileError(f"the name {asked.name!r} belongs to a group of metrics of this package; choose another")
        metrics.register(asked)
    return found._replace(file=f)


def _load(f: UserFile) -> UserParts:
    # The file becomes a module in sys.modules, where pydantic looks up annotations and pickle looks up classes.
    module = types.ModuleType(f"user_file_{f.digest}")
    module.__file__ = f.path
    sys.modules[module.__name__] = module
    try:
        exec(compile(f.source, f.path, "exec", dont_inherit=True), module.__dict__)
        return _parts_of(f, module)
    except BaseException as error:
        del sys.modules[module.__name__]
        if isinstance(error, UserFileError | KeyboardInterrupt | Interrupted):
            raise
        raise _explained(f, error) from error


def _explained(f: UserFile, error: BaseException) -> UserFileError:
    """The error for an exception that a file raised when it ran, with the line of the file where it happened."""
    if isinstance(error, SyntaxError) and error.filename == f.path:
        return UserFileError(f"not Python: {error.msg}", error.lineno)
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == f.path]
    return UserFileError(f"running it raised {in_a_line(error)}", lines[-1] if lines else None)


def _parts_of(f: UserFile, module: types.ModuleType) -> UserParts:
    own_tasks, own_networks = _defined(module, Task), _defined(module, Network)  # type: ignore[type-abstract]
    for task in own_tasks:
        _check_task(f, task)
    for network in own_networks:
        _check_network(f, network)
    for cls in (*own_tasks, *own_networks):
        _check_words(f, cls)
        _check_fields(f, cls)
        cls.file_digest = f.digest
    asked = [found for found in vars(module).values() if isinstance(found, Requested)]
    own_metrics = [found.of_file(f.digest) for found in dict.fromkeys(asked) if found.measure.__module__ == module.__name__]
    for metric in own_metrics:
        _check_metric(f, metric)
    for kind, names in (
        ("tasks", [task.name for task in own_tasks]),
        ("networks", [network.name for network in own_networks]),
        ("metrics", [metric.name for metric in own_metrics]),
    ):
        if len({*names}) < len(names):
            raise UserFileError(f"two of its {kind} have the same name")
        if kind == "metrics" and len({name.lower() for name in names}) < len(names):
            raise UserFileError("two of its metrics have names that differ only in case, which the results cannot tell apart")
    by_name = {task.name: task for task in own_tasks}
    return UserParts(f, by_name, own_networks, {metric.name: metric for metric in own_metrics})


P = TypeVar("P", bound=Part)


def _defined(module: types.ModuleType, kind: type[P]) -> list[type[P]]:
    """Classes of this kind that the file defines. Abstract classes without a name are left out: they are bases of others."""
    mine = [c for c in vars(module).values() if inspect.isclass(c) and issubclass(c, kind) and c.__module__ == module.__name__]
    return [c for c in dict.fromkeys(mine) if c.__dict__.get("name") is not None or not _is_abstract(c)]


def _is_abstract(cls: type[Part]) -> bool:
    return inspect.isabstract(cls) or (issubclass(cls, Network) and cls.apply is Network.apply)


def _check_task(f: UserFile, cls: type[Task]) -> None:
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
        if not isinstance(name, str) or (key == "training" and name not in training_names()):
            legal = f"one of {listed(training_names())}" if key == "training" else "the name of a network"
            raise UserFileError(f"task {cls.__name__}: its default {key} is {show(name)}, and must be {legal}", line)


def _check_network(f: UserFile, cls: type[Network]) -> None:
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


def _check_name(f: UserFile, cls: type[Part], example: str) -> None:
    name = getattr(cls, "name", None)
    if name is None:
        raise UserFileError(f'{cls.role} {cls.__name__} needs a name: name: ClassVar[str] = "{example}"', line_of(f, cls))
    if not (isinstance(name, str) and name.isidentifier()):
        legal = f'letters, digits and "_", without a digit at its start, such as "{example}"'
        raise UserFileError(f"{cls.role} {cls.__name__}: its name is {show(name)}, and must be {legal}", line_of(f, cls, "name"))


def _check_metric(f: UserFile, found: Requested) -> None:
    metric, line = found.metric, line_at(f, rf"def {re.escape(found.name)}\b")
    if not metric.title or not isinstance(metric.title, str):
        raise UserFileError(f"metric {metric.name} needs a title, such as @metric(title='share of inactive neurons')", line)
    if not metric.low < metric.high:
        raise UserFileError(f"metric {metric.name}: low ({metric.low:g}) must be below high ({metric.high:g})", line)
    if metric.better not in ("higher", "lower", ""):
        raise UserFileError(f"metric {metric.name}: better must be 'higher', 'lower' or ''", line)
    if metric.per not in (legal := get_args(Per)):
        raise UserFileError(f"metric {metric.name}: per must be one of {listed(legal)}, not {show(metric.per)}", line)
    taken = (*BLOCK_KEYS, *METRICS, *_package_keys(), *LISTS)
    if metric.name.lower() in RESERVED or metric.name in taken:
        raise UserFileError(f"metric {metric.name}: the results have a column of this name; choose another", line)
    try:
        check_further(metric)
    except ValueError as error:
        raise UserFileError(f"metric {metric.name} cannot be a column of the results: {error}", line) from None


_TYPES = {kind: tuple(t for t, k in KINDS.items() if k == kind) for kind in ("whole", "text", "truth")} | {"number": (float, int)}


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


def _check_fields(f: UserFile, cls: type[Part]) -> None:
    """Check the fields of a part. Each becomes a key of grids and a column of the results, so its name must be free as both."""
    seen: dict[str, str] = {}
    of_others = {name for name, key in KEYS.items() if key.part != "task" and not key.derived}
    taken = {*PARTS, *of_others} if issubclass(cls, Task) else {"seed", *PARTS, *_training_keys()}
    of_every = Task.model_fields if issubclass(cls, Task) else {}
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
        if name in vars(Part) or name in of_every:
            raise refuse("every task and network has something else of this name; choose another")
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


def _training_keys() -> set[str]:
    return {name for training in all_trainings() for name in training.model_fields}


def _settled_keys() -> set[str]:
    """Keys of this package's networks and trainings that have a default in every part that has them."""
    parts = (*all_trainings(), *(network for network in networks.all_networks() if not network.file_digest))
    required = {name for part in parts for name, field in part.model_fields.items() if field.is_required()}
    return {name for part in parts for name in part.model_fields} - required


def _package_keys() -> set[str]:
    """Keys of this package's networks and trainings, without those of user files, which depend on the grids read before."""
    own = (network for network in networks.all_networks() if not network.file_digest)
    return {"seed", *_training_keys(), *(name for network in own for name in network.model_fields)}


def line_of(f: UserFile, cls: type[Any], field: str = "") -> int | None:
    """The line in which the class starts, or the field in it; None if it is not found."""
    lines = f.source.splitlines()
    start = line_at(f, rf"class {cls.__name__}\b")
    if start is None or not field:
        return start
    for i, text in enumerate(lines[start:], start + 1):
        if re.match(rf"\s+{field}\s*:", text):
            return i
        if re.match(r"class\b", text):
            break
    return start


def line_at(f: UserFile, pattern: str) -> int | None:
    """The first line that starts with the pattern; None where there is none."""
    return next((i for i, text in enumerate(f.source.splitlines(), 1) if re.match(pattern, text)), None)
