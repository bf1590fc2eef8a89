"""Commands that a person may type next, for the results that they look at."""

import shlex
from collections.abc import Sequence
from pathlib import Path


def where(results: str) -> list[str]:
    """`--results DIR`, but for the default directory."""
    return [] if Path(results).absolute() == Path("results").absolute() else ["--results", results]


def sweep_command(grid: str, results: str, *overrides: str) -> str:
    """Trains what is missing of a grid, there where the results are."""
    return joined(["python", "-m", "orchestrator.sweep", grid, *overrides, *where(results)])


def joined(words: Sequence[str]) -> str:
    """The words as a line for a shell, SQL with its quotation marks as legible as they can be."""
    return " ".join(f'"{word}"' if "'" in word and not set(word) & set('"$`\\!') else shlex.quote(word) for word in words)
