"""Extras of a network: what `save:` keeps beside its summary, and the words in a row that lacks one of them."""

import re
from collections.abc import Collection

from sweepkit.declarations.metrics import LISTS
from trainables.metrics import requested_metric, requested_names


def held_as(extra: str) -> str:
    """The store's name for something that a grid saves. The name of a user's own metric includes the digest of its file."""
    return requested_metric(extra).metric.request if extra in requested_names() else extra


def why_without(extra: str, error: str) -> str:
    """The clause of a row's reason that says that the trained network lacks this extra, because of this error."""
    return f"{_words(extra)}: {error}"


def of_extras(reason: str | None, extras: Collection[str]) -> list[str]:
    """The clauses of a row's reason that say that it lacks one of these extras."""
    starts = tuple(f"{_words(extra)}: " for extra in extras)
    return [clause for clause in _APART.split(reason or "") if clause.startswith(starts)]


def _words(extra: str) -> str:
    return f"no {extra} saved" if extra in LISTS else f"metric {extra} failed"


_APART = re.compile(r"; (?=no \w+ saved: |metric \w+ failed: )")
"""The end of a clause: errors may hold semicolons of their own."""
