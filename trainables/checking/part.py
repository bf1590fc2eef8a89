"""A part under check: calls of its functions, and findings with the line of its file."""

import inspect
import traceback
from collections.abc import Callable, Generator, Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sweepkit.console.words import in_a_line
from trainables.checking.values import fresh_generator, reseeded, same


class Finding(NamedTuple):
    """A problem of a part, or an oddity if not `is_wrong`, and its line in the part's file, if known."""

    line: int | None
    message: str
    is_wrong: bool = True
    trace: str = ""
    """The traceback of the exception that the part raised, if it raised one."""


class Wrong(Exception):
    """A finding after which the part cannot be checked further."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


def collected(findings: Iterator[Finding]) -> list[Finding]:
    """All findings, up to the first after which the part cannot be checked further."""
    found: list[Finding] = []
    try:
        found.extend(findings)
    except Wrong as wrong:
        found.append(wrong.finding)
    return found


class Checked:
    """A user's class or function under check: calls it, and finds the line of its file where something happened."""

    def __init__(self, title: str, of: Any) -> None:
        self.title, self.of = title, of

    @cached_property
    def file(self) -> str:
        return inspect.getfile(self.of)

    def call(self, name: str, work: Callable[[], Any], failing: str = "", why: str = "") -> Any:
        """Return the value of `work`, a call of the function `name`. An exception raises Wrong; its message holds `failing`
        and `why`.

        SystemExit counts too: `sys.exit` in a user's function would end the sweep with exit status 0.
        """
        try:
            return work()
        except (Exception, SystemExit) as error:
            lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == self.file]
            text = "; ".join(filter(None, [f"{failing}: {in_a_line(error)}" if failing else f"raised {in_a_line(error)}", why]))
            found = self.finding(name, text, lines[-1] if lines else None)
            raise Wrong(found._replace(trace="".join(traceback.format_exception(error)))) from error

    def finding(self, name: str, text: str, line: int | None = None, is_wrong: bool = True) -> Finding:
        """A finding on the function of this name: its message begins with the part and the function."""
        words = f"{self.title}: {name} {text}" if name else f"{self.title}: {text}"
        return Finding(line or self.line(name), words, is_wrong)

    def line(self, name: str) -> int | None:
        """Line of the function or property `name` in the part's own file, else the part's first line; None if unknown."""
        function = inspect.getattr_static(self.of, name, None) if inspect.isclass(self.of) else self.of
        function = getattr(function, "fget", None) or getattr(function, "__func__", None) or function
        code = getattr(inspect.unwrap(function) if callable(function) else None, "__code__", None)
        if code is not None and code.co_filename == self.file:
            return int(code.co_firstlineno)
        try:
            return inspect.findsource(self.of)[1] + 1
        except OSError:
            return None


def drawn_twice(part: Checked, name: str, draw: Callable[[np.random.Generator], Any]) -> Generator[Finding, None, Any]:
    """Draw twice from generators of one state. Yields a finding if the draws differ, and returns the first."""
    with reseeded(1):
        first = part.call(name, lambda: draw(fresh_generator()))
    with reseeded(2):
        second = part.call(name, lambda: draw(fresh_generator()))
    if not same(first, second):
        wanted = "wanted the same from the same state: draw from the generator that is given, and from nothing else"
        yield part.finding(name, f"gave two different draws for one state of its generator; {wanted}")
    return first
