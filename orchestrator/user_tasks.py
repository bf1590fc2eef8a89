"""Tasks of a user's own: one Python file that defines subclasses of `Task`, named in a grid under `tasks:`.

The file travels to the workers as text, so it must stand alone: it may import installed packages, but not its neighbours.
"""

import hashlib
import inspect
import linecache
import re
import sys
import traceback
import types
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

import pyarrow as pa

from orchestrator.keys import BLOCK_KEYS, CELL_KEYS
from store.schema import KEYS, RESERVED
from trainables.tasks import Task, register, task_class, task_names


@dataclass(frozen=True)
class TaskFile:
    """A task file as the driver read it."""

    path: str
    source: str

    @property
    def digest(self) -> str:
        """Of the source; it enters the ids of the cells, so that an edited task gives new cells."""
        return hashlib.sha256(self.source.encode(errors="surrogatepass")).hexdigest()[:12]


class TaskFileError(ValueError):
    """A task file that cannot be used; `line` is where in the file, if known."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


_LOADED: dict[str, list[type[Task]]] = {}


def register_task_file(f: TaskFile) -> list[type[Task]]:
    """Run the file once in this process and make its tasks known; TaskFileError says what is wrong with it."""
    if f.digest not in _LOADED:
        _LOADED[f.digest] = _load(f)
    for cls in _LOADED[f.digest]:
        if cls.name in task_names() and not task_class(cls.name).file_digest:
            raise TaskFileError(f"the name {cls.name!r} belongs to a task of this package; choose another", _line_of(f, cls))
        register(cls)
    return list(_LOADED[f.digest])


def _load(f: TaskFile) -> list[type[Task]]:
    # A module of its own in sys.modules: pydantic looks annotations up there, and pickle looks the classes up there.
    module = types.ModuleType(f"user_task_{f.digest}")
    module.__file__ = f.path
    linecache.cache[f.path] = (len(f.source), None, f.source.splitlines(keepends=True), f.path)  # so tracebacks show lines
    sys.modules[module.__name__] = module
    try:
        exec(compile(f.source, f.path, "exec", dont_inherit=True), module.__dict__)
        return _tasks_of(f, module)
    except BaseException as error:
        del sys.modules[module.__name__]
        if isinstance(error, TaskFileError | KeyboardInterrupt):
            raise
        raise _explained(f, error) from error


def _explained(f: TaskFile, error: BaseException) -> TaskFileError:
    """What a file that does not run raised, with the line of the file where it happened."""
    if isinstance(error, SyntaxError) and error.filename == f.path:
        return TaskFileError(f"not Python: {error.msg}", error.lineno)
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == f.path]
    reason = f"{type(error).__name__}: {error}".splitlines()[0]
    return TaskFileError(f"running it raised {reason}", lines[-1] if lines else None)


def _tasks_of(f: TaskFile, module: types.ModuleType) -> list[type[Task]]:
    mine = [c for c in vars(module).values() if inspect.isclass(c) and issubclass(c, Task) and c.__module__ == module.__name__]
    tasks = [c for c in dict.fromkeys(mine) if c.__dict__.get("name") is not None or not inspect.isabstract(c)]
    if not tasks:
        raise TaskFileError("it defines no task; subclass trainables.tasks.Task (examples/parity.py shows how)")
    for cls in tasks:
        _check(f, cls)
        cls.file_digest = f.digest
    if len({cls.name for cls in tasks}) < len(tasks):
        raise TaskFileError("two of its tasks have the same name")
    return tasks


def _check(f: TaskFile, cls: type[Task]) -> None:
    line = _line_of(f, cls)
    if inspect.isabstract(cls):
        missing = ", ".join(sorted(cls.__abstractmethods__))
        raise TaskFileError(f"task {cls.__name__} lacks {missing}", line)
    name, base_lr = getattr(cls, "name", None), getattr(cls, "default_base_lr", None)
    if not (isinstance(name, str) and name.isidentifier()):
        raise TaskFileError(f'task {cls.__name__} needs a name: name: ClassVar[str] = "parity"', line)
    if isinstance(base_lr, bool) or not isinstance(base_lr, int | float) or not 0 < base_lr < float("inf"):
        raise TaskFileError(f"task {cls.__name__} needs a learning rate: default_base_lr: ClassVar[float] = 0.1", line)
    _check_fields(f, cls)


SHARED = {name: kind for name, kind in KEYS.items() if name not in (*CELL_KEYS, *BLOCK_KEYS, "gamma_label")}
"""Columns for the keys of tasks; those of equal name and type share one."""

_TYPES: dict[Any, tuple[Any, ...]] = {pa.int64(): (int,), pa.float64(): (float, int), pa.string(): (str,)}


def _check_fields(f: TaskFile, cls: type[Task]) -> None:
    """Each field becomes a key of grids and a column of the results: it must be free to be both."""
    seen: dict[str, str] = {}
    for name, field in cls.model_fields.items():

        def refuse(why: str, name: str = name) -> TaskFileError:
            return TaskFileError(f"task {cls.__name__}, field {name}: {why}", _line_of(f, cls, name))

        kind = str if get_origin(field.annotation) is Literal else field.annotation
        if name in CELL_KEYS or name in BLOCK_KEYS:
            raise refuse("a grid uses this name already")
        if kind not in (int, float, str, bool) or not all(isinstance(word, str) for word in get_args(field.annotation)):
            given = getattr(field.annotation, "__name__", "") if kind is field.annotation and not get_args(kind) else ""
            given = given or str(field.annotation).replace("typing.", "")
            raise refuse(f"must be int, float, bool, str or a Literal of texts, to be a column; it is {given}")
        if name in SHARED:
            if kind not in _TYPES[SHARED[name]]:
                legal = " or ".join(t.__name__ for t in _TYPES[SHARED[name]])
                raise refuse(f"the results have a column of this name; make it {legal}, or choose another name")
        elif name.lower() in RESERVED:
            raise refuse("the results have a column of this name (case makes no difference); choose another")
        if other := seen.get(name.lower()):
            raise refuse(f"differs from {other} only in case, which the results cannot tell apart")
        seen[name.lower()] = name


def _line_of(f: TaskFile, cls: type[Task], field: str = "") -> int | None:
    """Where the class starts, or the field in it; None where it is not found."""
    lines = f.source.splitlines()
    start = next((i for i, text in enumerate(lines, 1) if re.match(rf"class {cls.__name__}\b", text)), None)
    if start is None or not field:
        return start
    for i, text in enumerate(lines[start:], start + 1):
        if re.match(rf"\s+{field}\s*:", text):
            return i
        if re.match(r"class\b", text):
            break
    return start
