"""A user's own tasks, networks and metrics: Python files that a grid lists under `tasks:`, `networks:` or `metrics:`.

A file travels to the workers as text, so it must stand alone: it may import installed packages, but not files beside it.
"""

import inspect
import linecache
import sys
import traceback
import types
from typing import NamedTuple, TypeVar

from orchestrator.grid.own.checks import check_fields, check_metric, check_network, check_task, check_words
from orchestrator.grid.own.source import UserFile, UserFileError, line_of
from sweepkit.console.exit_codes import Interrupted
from sweepkit.console.words import in_a_line
from sweepkit.shipped import example
from trainables import metrics, networks, tasks
from trainables.metrics import Requested
from trainables.networks import Network
from trainables.parts import Part
from trainables.tasks import Task, task_class, task_names


class UserParts(NamedTuple):
    """The tasks, networks and metrics that a file defines."""

    file: UserFile
    tasks: dict[str, type[Task]]
    networks: list[type[Network]]
    metrics: dict[str, Requested]


_LOADED: dict[str, UserParts] = {}
_WANTED = {
    "tasks": f"it defines no task; subclass trainables.tasks.Task ({example('parity.py')} shows how)",
    "networks": f"it defines no network; subclass trainables.networks.Network ({example('own_network.py')} shows how)",
    "metrics": f"it defines no metric; decorate a function with trainables.metrics.metric ({example('own_metric.py')} shows how)",
}


def register_user_file(f: UserFile, wanted: str = "") -> UserParts:
    """Run the file once in this process and make its parts known; UserFileError says what is wrong with it.

    `wanted`: `tasks`, `networks` or `metrics`; the file must define at least one of this kind.
    """
    # Tracebacks then show the lines of this text, even if the file at this path has changed since.
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
        check_task(f, task)
    for network in own_networks:
        check_network(f, network)
    for cls in (*own_tasks, *own_networks):
        check_words(f, cls)
        check_fields(f, cls)
        cls.file_digest = f.digest
    asked = [found for found in vars(module).values() if isinstance(found, Requested)]
    own_metrics = [found.of_file(f.digest) for found in dict.fromkeys(asked) if found.measure.__module__ == module.__name__]
    for metric in own_metrics:
        check_metric(f, metric)
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
