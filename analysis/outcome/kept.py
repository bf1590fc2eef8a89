"""The last answer about each sweep on disk: a finished sweep that is run again is answered without a computation.

An answer belongs to the files of the store, the question, and the text of all code and studies that could answer otherwise.
Nothing depends on what is kept: what cannot be read or written is computed.
"""

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from sweepkit import FOLDER
from sweepkit.console.cache import cache_folder, digest
from sweepkit.console.writing import write_whole
from sweepkit.store.files import open_files
from sweepkit.store.files.base import COMPACTED, FAILED, PACKS
from sweepkit.store.snapshot import plans_of
from sweepkit.studies import folders


class Asked(NamedTuple):
    """A question about a sweep: where its answer is kept, and the name of the answer that is right now."""

    file: Path
    name: str

    def recall(self) -> dict[str, Any] | None:
        """The answer; None if none is kept, or only one of another state."""
        with suppress(OSError, ValueError, KeyError, TypeError):  # a torn file is none
            kept = json.loads(self.file.read_text())
            return dict(kept["answer"]) if kept["name"] == self.name != "" else None
        return None

    def keep(self, answer: str) -> None:
        """Keep an answer, which is JSON. A disk that is full keeps none; nothing else depends on it."""
        with suppress(OSError):
            write_whole(self.file, f'{{"name": {json.dumps(self.name)}, "answer": {answer}}}')


def asked(results: str, sweep: str, measures: Sequence[str]) -> Asked:
    """The question about a sweep of a store, in its state of now. ResultsError if it cannot be read."""
    rooms = (FOLDER / "analysis", FOLDER / "sweepkit", *folders().values())
    code = [file for room in rooms for kind in ("*.py", "*.yaml") for file in room.rglob(kind)]
    libraries = [version(name) for name in ("duckdb", "pandas", "scipy")]
    store = open_files(results)
    held = [repr(store.entries(folder)) for folder in (PACKS, FAILED, COMPACTED)]
    plans = [path for _, path in plans_of(store, sweep)]  # a sweep that is run again renews its plan, which stays the same
    name = [*held, *plans, sweep, *measures, *libraries]
    file = cache_folder() / "outcomes" / digest([], os.path.abspath(results), sweep)
    try:
        return Asked(file, digest([one for one in code if not one.name.startswith(".")], *name))
    except OSError:  # a study's file that an editor replaces just now
        return Asked(file, "")
