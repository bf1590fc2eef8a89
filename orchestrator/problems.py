"""What can be wrong with a grid, said so that its author can mend it: where, what, what is legal, the nearest spelling."""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from pydantic import ValidationError

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


def show(value: Any) -> str:
    """A value as a message quotes it: short, on one line, printable on every terminal."""
    match value:
        case None:
            return "nothing"
        case bool():
            return str(value).lower()
        case list():
            return "a list" if value else "an empty list"
        case dict():
            return "a mapping"
        case float():
            return f"{value:.6g}"
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:50]}... ({len(text)} characters)"


def nearest(word: Any, options: Iterable[str]) -> str:
    """`; did you mean 'width'?` where an option is spelled much like the word, else nothing."""
    if not isinstance(word, str):
        return ""
    by_lower = {option.lower(): option for option in options}
    found = difflib.get_close_matches(word.lower()[:100], by_lower, n=1, cutoff=0.6)
    return f"; did you mean {by_lower[found[0]]!r}?" if found else ""


def listed(options: Iterable[str]) -> str:
    """`a, b, c`, or `none`."""
    return ", ".join(options) or "none"


def pydantic_reason(error: ValidationError) -> str:
    """pydantic's verdict in one line, without its addresses."""
    return "; ".join(
        ": ".join([*(str(part) for part in e["loc"]), e["msg"].removeprefix("Value error, ")])
        for e in error.errors(include_url=False, include_context=False, include_input=False)
    )


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
