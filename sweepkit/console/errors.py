"""Mistakes in Python as a person reads them in a notebook: the message at the line that made it, and arguments by their names."""

import inspect
import sysconfig
import traceback
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TypeVar

from sweepkit import FOLDER
from sweepkit.console.words import listed, nearest, show

F = TypeVar("F", bound=Callable[..., object])


class PlainError(Exception):
    """A mistake whose message says all: a notebook shows it with the lines of the user's code, without the frames of ours."""

    def _render_traceback_(self) -> list[str]:
        """The lines that IPython shows."""
        frames = [frame for frame in traceback.extract_tb(self.__traceback__) if not is_ours(frame.filename)]
        lines = [f"{_place(frame)}: {frame.line}" for frame in frames if frame.line]
        chained = [] if self.__cause__ is None else "".join(traceback.format_exception(self.__cause__)).splitlines()
        return [*chained, *lines, f"{type(self).__name__}: {self}"]


def is_ours(name: str) -> bool:
    """Whether a file is part of this project, or of what runs a cell."""
    path = Path(name)
    if "site-packages" in path.parts or name.startswith("<frozen"):
        return True
    parts = path.relative_to(FOLDER).parts if path.is_relative_to(FOLDER) else ()
    return len(parts) > 1 and (FOLDER / parts[0] / "__init__.py").exists()  # our packages; a user's files may lie beside them


def own_line(error: BaseException) -> str:
    """`file.py:18`, the last line of the user's own code that an exception came through; empty if there is none."""
    library = sysconfig.get_paths()["stdlib"]
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not is_ours(frame.filename) and not frame.filename.startswith((library, "<"))
    ]
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""


def _place(frame: traceback.FrameSummary) -> str:
    """The line of a frame; a cell of a notebook has a file whose name tells a person nothing."""
    cell = "ipykernel_" in frame.filename or frame.filename.startswith("<ipython-input")
    return f"{'line' if cell else f'{frame.filename}, line'} {frame.lineno}"


def spelled(function: F) -> F:
    """The function; called with an argument that it does not have, it raises TypeError with the nearest name and all that there
    are."""
    own = function.__qualname__.removesuffix(".__init__")
    names = [name for name in inspect.signature(function).parameters if name != "self"]

    @wraps(function)
    def checked(*positional: object, **by_name: object) -> object:
        for name in by_name:
            if name not in names:
                of_object = positional and hasattr(type(positional[0]), function.__name__) and function.__name__ != "__init__"
                called = f"{type(positional[0]).__name__}.{function.__name__}" if of_object else own
                told = nearest(name, names) or ";"
                raise TypeError(f"{called}() has no argument {show(name)}{told} there are {listed(names)}")
        return function(*positional, **by_name)

    return checked  # type: ignore[return-value]
