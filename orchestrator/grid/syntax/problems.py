"""Problems of a grid, for its author to fix: each says where it is, what is wrong, what is legal, and the nearest spelling."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from console.plain import PlainError

COMMAND_LINE = "command line"
"""The place of problems in overrides."""


@dataclass(frozen=True)
class Problem:
    """A problem, and its place."""

    where: str
    line: int | None
    message: str

    def __str__(self) -> str:
        return f"{self.where}:{self.line}: {self.message}" if self.line else f"{self.where}: {self.message}"


class GridError(PlainError):
    """All problems of a grid together; as text, one line per problem."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = list(problems)
        super().__init__(self.problems)

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))


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

    def at(self, place: Located, message: str) -> None:
        """Add the problem of the thing at this place."""
        self._problems[Problem(place.where, place.line, message)] = None

    def extend(self, problems: Iterable[Problem]) -> None:
        """Add these problems."""
        self._problems.update(dict.fromkeys(problems))

    @property
    def problems(self) -> list[Problem]:
        """All problems: those of files first, by line, and those of the command line last."""
        return sorted(self._problems, key=lambda p: (p.where == COMMAND_LINE, p.where, p.line or 0))

    def __len__(self) -> int:
        return len(self._problems)
