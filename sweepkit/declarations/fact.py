"""A fact: where a row comes from, or how its training ended."""

from dataclasses import dataclass
from typing import ClassVar

from sweepkit.declarations.column import Column


@dataclass(frozen=True)
class Fact(Column):
    """A fact's name, title and kind."""

    role_of_column: ClassVar[str] = "fact"


FACTS = {
    fact.name: fact
    for fact in (
        Fact("status", "how training ended: ok, diverged or failed", "text"),
        Fact("reason", "why a network diverged or failed", "text"),
        Fact("engine", "engine that trained it", "text"),
        Fact("device", "device that trained it", "text"),
        Fact("pack_id", "pack that it was trained in", "text"),
        Fact("finished_at", "when its pack was committed", "time"),
        Fact("git_sha", "commit of the code", "text"),
        Fact("science_version", "version of what computed its numbers", "text"),
        Fact("host", "machine that trained it", "text"),
        Fact("log_path", "file with the traceback", "text"),
        Fact("weights_file", "file with its hidden weights", "text"),
    )
}
"""The facts by name."""
