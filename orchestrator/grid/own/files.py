"""A user's own tasks, networks, trainings and metrics: Python files that a grid lists under a key of KINDS.

A file travels to the workers as text, so it must stand alone: it may import installed packages, but not files beside it.
"""

import inspect
import linecache
import sys
import traceback
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

from orchestrator.grid.own.checks import check_metric, check_network, check_part, check_task, check_training
from orchestrator.grid.own.source import UserFile, UserFileError, line_at, line_of
from sweepkit.console.exit_codes import Interrupted
from sweepkit.console.words import in_a_line
from sweepkit.shipped import example
from trainables import metrics, networks, tasks, training
from trainables.metrics import Requested, requested_metric, requested_names
from trainables.networks import Network, all_networks
from trainables.parts import Part
from trainables.tasks import Task, task_class, task_names
from trainables.training import Descent, Training, all_trainings

Own = type[Part] | Requested
"""A part that a file defines: a class, or a metric."""


class OwnKind(NamedTuple):
    """A kind of parts that a user's own file may define."""

    example: str
    """The file in `examples/` that shows how."""
    way: str
    """How a file defines such a part, in words."""
    defined: Callable[[types.ModuleType], Sequence[Any]]
    """The parts of the kind that a module defines."""
    check: Callable[[UserFile, Any], None]
    """Checks one of them before it is tried; UserFileError says what is wrong."""
    known: Callable[[], Iterable[Own]]
    """All registered ones: those of the package, and those of every file that this process has read."""
    register: Callable[[Any], object]

    def of_package(self) -> list[Any]:
        """The parts of the kind that the package has."""
        return [part for part in self.known() if not part.file_digest]


P = TypeVar("P", bound=Part)


def _classes(kind: type[P], module: types.ModuleType) -> list[type[P]]:
    """Classes of this kind that the module defines. Abstract classes without a name are left out: they are bases of others."""
    mine = [c for c in vars(module).values() if inspect.isclass(c) and issubclass(c, kind) and c.__module__ == module.__name__]
    return [c for c in dict.fromkeys(mine) if c.__dict__.get("name") is not None or not _is_abstract(c)]


def _is_abstract(cls: type[Part]) -> bool:
    is_open = (issubclass(cls, Network) and cls.apply is Network.apply) or (
        issubclass(cls, Descent) and cls.update is Descent.update
    )
    return inspect.isabstract(cls) or is_open


def _measures(module: types.ModuleType) -> list[Requested]:
    asked = dict.fromkeys(found for found in vars(module).values() if isinstance(found, Requested))
    return [found for found in asked if found.measure.__module__ == module.__name__]


KINDS: Mapping[str, OwnKind] = {
    "tasks": OwnKind(
        "parity.py", "subclass trainables.tasks.Task", partial(_classes, Task),  # type: ignore[type-abstract]
        check_task, lambda: map(task_class, task_names()), tasks.register,
    ),
    "networks": OwnKind(
        "own_network.py", "subclass trainables.networks.Network", partial(_classes, Network),
        check_network, all_networks, networks.register,
    ),
    "trainings": OwnKind(
        "own_optimiser.py", "subclass trainables.training.Minibatch", partial(_classes, Training),
        check_training, all_trainings, training.register,
    ),
    "metrics": OwnKind(
        "own_metric.py", "decorate a function with trainables.metrics.metric", _measures,
        check_metric, lambda: map(requested_metric, requested_names()), metrics.register,
    ),
}  # fmt: skip
"""The kinds, by the key under which a grid lists their files: the word for one such part, and an s."""


class UserParts(NamedTuple):
    """The parts that a file defines. Its fields after the first are the keys of KINDS."""

    file: UserFile
    tasks: tuple[type[Task], ...]
    networks: tuple[type[Network], ...]
    trainings: tuple[type[Training], ...]
    metrics: tuple[Requested, ...]

    def of(self, key: str) -> Sequence[Own]:
        """The parts of the kind with this key."""
        found: Sequence[Own] = getattr(self, key)
        return found

    @property
    def classes(self) -> tuple[type[Part], ...]:
        """All of them that are parts of cells."""
        return (*self.tasks, *self.networks, *self.trainings)


_LOADED: dict[str, UserParts] = {}


def register_user_file(f: UserFile, wanted: str = "") -> UserParts:
    """Run the file once in this process and make its parts known; UserFileError says what is wrong with it.

    `wanted`: a key of KINDS; the file must define at least one part of this kind.
    """
    # Tracebacks then show the lines of this text, even if the file at this path has changed since.
    linecache.cache[f.path] = (len(f.source), None, f.source.splitlines(keepends=True), f.path)
    if f.digest not in _LOADED:
        _LOADED[f.digest] = _load(f)
    found = _LOADED[f.digest]
    if not any(map(found.of, [wanted] if wanted else KINDS)):
        kind = KINDS[wanted or "tasks"]
        raise UserFileError(f"it defines no {(wanted or 'tasks')[:-1]}; {kind.way} ({example(kind.example)} shows how)")
    for key, kind in KINDS.items():
        of_package = {part.name for part in kind.of_package()}
        for part in found.of(key):
            if part.name in of_package:
                text = f"the name {part.name!r} belongs to a {key[:-1]} of this package; choose another"
                raise UserFileError(text, _line(f, part))
            kind.register(part)
    return found._replace(file=f)


def _line(f: UserFile, part: Own) -> int | None:
    return line_at(f, rf"def {part.name}\b") if isinstance(part, Requested) else line_of(f, part)


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
    found: dict[str, tuple[Any, ...]] = {}
    for key, kind in KINDS.items():
        parts = kind.defined(module)
        for part in parts:
            kind.check(f, part)
        names = [part.name for part in parts]
        if len({*names}) < len(names):
            raise UserFileError(f"two of its {key} have the same name")
        found[key] = tuple(part.of_file(f.digest) if isinstance(part, Requested) else part for part in parts)
    if len({metric.name.lower() for metric in found["metrics"]}) < len(found["metrics"]):
        raise UserFileError("two of its metrics have names that differ only in case, which the results cannot tell apart")
    made = UserParts(f, **found)
    for cls in made.classes:
        check_part(f, cls)
        cls.file_digest = f.digest
    return made
