"""Verdicts on disk, so that a server that starts anew shows those of the last one at once: one file for each store.

Verdicts belong to the state of the store, the claims and the code that judged them. After any edit of that code they are
forgotten; those of an older state of the store are shown until they are checked again.
"""

import os
import pickle
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from analysis.claims.entries import claims_files
from analysis.claims.verdict import JUDGES, Checked
from sweepkit import FOLDER
from sweepkit.console.cache import cache_folder, digest
from sweepkit.console.writing import write_whole

# Read once, at import: an edit made while the process runs must not name the verdicts of the old code.
CODE = digest([*claims_files(), *(file for room in JUDGES for file in (FOLDER / room).rglob("*.py"))])
"""Names the code and the claims whose verdicts are kept."""


class Remembered(NamedTuple):
    """Verdicts by id of their claims, the state of the store that they are checked on, and the ids of the claims that were still
    to be checked on it, whose verdicts are of an earlier state."""

    token: Any
    known: dict[str, Checked]
    to_come: frozenset[str]


def recall(results: str) -> Remembered:
    """The verdicts that were kept last; none if there are none of this code, or if they cannot be read."""
    # A torn file, or one of another version of a library, raises any of many errors; the verdicts are then checked anew.
    with suppress(Exception):
        code, kept = pickle.loads(_file(results).read_bytes())
        if code == CODE:
            return Remembered(*kept)
    return Remembered(None, {}, frozenset())


def remember(results: str, token: Any, known: Mapping[str, Checked], to_come: Iterable[str] = ()) -> None:
    """Keep verdicts on one state of the store. A disk that is full keeps none; nothing else depends on it."""
    with suppress(OSError):
        write_whole(_file(results), pickle.dumps((CODE, (token, dict(known), frozenset(to_come)))))


def _file(results: str) -> Path:
    return cache_folder() / "verdicts" / digest([], os.path.abspath(results))
