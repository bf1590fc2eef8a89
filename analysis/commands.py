"""Commands that a person may type next, for the results that they look at."""

import shlex
from pathlib import Path


def where(results: str) -> list[str]:
    """`--results DIR`, but for the default directory."""
    return [] if Path(results).absolute() == Path("results").absolute() else ["--results", results]


def sweep_command(grid: str, results: str, *overrides: str) -> str:
    """Trains what is missing of a grid, there where the results are."""
    return shlex.join(["python", "-m", "orchestrator.sweep", grid, *overrides, *where(results)])
