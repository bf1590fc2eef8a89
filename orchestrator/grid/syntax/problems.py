"""Problems of a grid, for its author to fix: each says where it is, what is wrong, what is legal, and the nearest spelling."""

import traceback
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from sweepkit.console.errors import PlainError

COMMAND_LINE = "command line"
"""The place of problems in overrides."""


@dataclass(frozen=True)
class Problem:
    """A problem, and its place."""

    where: str
    line: int | None
    message: str
    trace: str = field(default="", compare=False, repr=False)
    """The traceback, if a part of the user's own raised the exception that the message names."""

    def __str__(self) -> str:
        return f"{self.where}:{self.line}: {self.message}" if self.line else f"{self.where}: {self.message}"


class GridError(PlainError):
    """All problems of a grid together; as text, one line per problem."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = list(problems)
        super().__init__(self.problems)

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))

    @property
    def traces(self) -> list[str]:
        """Tracebacks of the user's own parts, each once."""
        return list(dict.fromkeys(problem.trace for problem in self.problems if problem.trace))


class Located(Protocol):
    """Something that knows its file and line."""

    @property
    def where(self) -> str: ...
    @property
    def line(self) -> int | None: ...


class Report:
    """Collects problems, each once, in the order of the lines."""

    def __init__(self, problems: Iterable[Problem] = ()) -> None:
        self._problems = dict.fromkeys(problems)

    def at(self, place: Located, message: str, raised: BaseException | None = None) -> None:
        """Add the problem of the thing at this place; `raised`: the exception of a user's own part that the message names."""
        trace = "" if raised is None else "".join(traceback.format_exception(raised))
        self._problems[Problem(place.where, place.line, message, trace)] = None

    def extend(self, problems: Iterable[Problem]) -> None:
        """Add these problems."""
        self._problems.update(dict.fromkeys(problems))

    @property
    def problems(self) -> list[Problem]:
        """All problems: those of files first, by line, and those of the command line last."""
        return sorted(self._problems, key=lambda p: (p.where == COMMAND_LINE, p.where, p.line or 0))

    def __len__(self) -> int:
        return len(self._problems)
