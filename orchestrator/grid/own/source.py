"""The text of a user's own file, and what is wrong with it, by its line."""

import hashlib
import re
from dataclasses import dataclass
from typing import Any

from sweepkit.console.cache import unified


@dataclass(frozen=True)
class UserFile:
    """A user's own file as the driver read it."""

    path: str
    source: str

    @property
    def digest(self) -> str:
        """Digest of the source without regard to its line ends. It enters the ids of cells, so that an edited task or network
        gives new cells."""
        return hashlib.sha256(unified(self.source.encode(errors="surrogatepass"))).hexdigest()[:12]


class UserFileError(ValueError):
    """A file that cannot be used. `line`: the line of the problem in the file, if known."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


def line_of(f: UserFile, cls: type[Any], field: str = "") -> int | None:
    """The line in which the class starts, or the field in it; None if it is not found."""
    lines = f.source.splitlines()
    start = line_at(f, rf"class {cls.__name__}\b")
    if start is None or not field:
        return start
    for i, text in enumerate(lines[start:], start + 1):
        if re.match(rf"\s+{field}\s*:", text):
            return i
        if re.match(r"class\b", text):
            break
    return start


def line_at(f: UserFile, pattern: str) -> int | None:
    """The first line that starts with the pattern; None where there is none."""
    return next((i for i, text in enumerate(f.source.splitlines(), 1) if re.match(pattern, text)), None)
