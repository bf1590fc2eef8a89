"""Tasks of a user's own: one Python file that defines subclasses of `Task`, named in a grid under `tasks:`.

The file travels to the workers as text, so it must stand alone: it may import installed packages, but not its neighbours.
"""

import hashlib
import inspect
import linecache
import sys
import traceback
import types
from dataclasses import dataclass

from orchestrator.keys import BLOCK_KEYS, CELL_KEYS
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
        if cls.name in task_names() and not task_class(cls.name).source:
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
        cls.source = f.digest
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
    if taken := [k for k in cls.model_fields if k in CELL_KEYS or k in BLOCK_KEYS]:
        raise TaskFileError(f"task {cls.__name__} has fields whose names a grid uses already: {', '.join(taken)}", line)


def _line_of(f: TaskFile, cls: type[Task]) -> int | None:
    return next((i for i, text in enumerate(f.source.splitlines(), 1) if text.startswith(f"class {cls.__name__}")), None)
