"""What can be wrong with a grid, said so that its author can mend it: where, what, what is legal, the nearest spelling."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

COMMAND_LINE = "command line"
"""Where a problem lies that came with an override."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong, and where."""

    where: str
    line: int | None
    message: str

    def __str__(self) -> str:
        return f"{self.where}:{self.line}: {self.message}" if self.line else f"{self.where}: {self.message}"


class GridError(Exception):
    """Everything that is wrong with a grid, at once; as text, one line a problem."""

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
        """Note what is wrong with the thing at this place."""
        self._problems[Problem(place.where, place.line, message)] = None

    def extend(self, problems: Iterable[Problem]) -> None:
        """Note these too."""
        self._problems.update(dict.fromkeys(problems))

    @property
    def problems(self) -> list[Problem]:
        """All problems: those of the file by line, and those of the command line last."""
        return sorted(self._problems, key=lambda p: (p.where == COMMAND_LINE, p.where, p.line or 0))

    def __len__(self) -> int:
        return len(self._problems)
