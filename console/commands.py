"""Commands that a person may type next, for the results that they look at."""

import shlex
from collections.abc import Sequence
from pathlib import Path


def where(results: str) -> list[str]:
    """`--results DIR`, or nothing for the default directory."""
    return [] if Path(results).absolute() == Path("results").absolute() else ["--results", results]


def sweep_command(grid: str, results: str, *overrides: str) -> str:
    """The command that trains the missing cells of a grid, into the results that are shown."""
    return joined(["python", "-m", "orchestrator.sweep", grid, *overrides, *where(results)])


def joined(words: Sequence[str]) -> str:
    """The words as one line for a shell. SQL keeps its quotation marks legible where that is possible."""
    return " ".join(f'"{word}"' if "'" in word and not set(word) & set('"$`\\!') else shlex.quote(word) for word in words)
