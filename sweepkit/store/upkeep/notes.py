"""Notes and tags of sweeps: each sweep's in one small file without rows among the plans, so that they travel with them."""

import hashlib
import re
import time
from collections.abc import Collection

from sweepkit.console.words import show
from sweepkit.store.files import Files, ResultsError
from sweepkit.store.files.base import PLANS, WRITTEN
from sweepkit.store.schema import NOTES, PLAN_SCHEMA, parquet_bytes
from sweepkit.store.snapshot import Notes, take
from sweepkit.store.store import in_path

MOST_WORDS = 2000
"""Longest note, in characters: it stands in tables and on the app's pages."""
_TAG = re.compile(r"\w[\w.:/+-]{0,79}")


def notes_of(files: Files, sweep: str) -> Notes:
    """Note and tags of a sweep; empty ones if nobody gave any."""
    found = [file.notes for file in take(files).plans if file.notes and file.notes.sweep == sweep]
    return max(found, key=lambda notes: notes.told_at, default=Notes(sweep))


def in_a_line(note: str, tags: Collection[str]) -> str:
    """Tags and note as a person reads them: `#tag #other the note`."""
    return " ".join([*(f"#{tag}" for tag in tags), note]).strip()


def tell(files: Files, sweep: str, note: str | None = None, add: Collection[str] = (), remove: Collection[str] = ()) -> Notes:
    """Give a sweep another note, unless None, and add and remove tags. Returns what is said of it now.

    ResultsError for a note that is too long, a tag that is no word, or one to remove that is not there.
    """
    known = notes_of(files, sweep)
    for tag in add:
        if not _TAG.fullmatch(tag):
            raise ResultsError(f"tag {show(tag)}: at most 80 letters, digits and . _ : / + -, beginning with a letter or digit")
    for tag in remove:
        if tag not in known.tags:
            raise ResultsError(f"{sweep} has no tag {show(tag)}; its tags: {', '.join(known.tags) or 'none'}")
    words = known.note if note is None else " ".join(note.split())
    if len(words) > MOST_WORDS or not words.isprintable():
        raise ResultsError(f"a note has at most {MOST_WORDS:,} characters, and no control characters")
    tags = tuple(tag for tag in dict.fromkeys([*known.tags, *add]) if tag not in remove)
    said = Notes(sweep, words, tags, max(time.time_ns() // 1000, known.told_at + 1))
    files.prepare(folders=WRITTEN)
    write_notes(files, said)
    return said


def write_notes(files: Files, said: Notes) -> str:
    """Write the notes of a sweep in place of its earlier ones. Returns the file's path."""
    digest = hashlib.sha256(f"notes\n{said.sweep}".encode()).hexdigest()[:12]
    path = f"{PLANS}/{in_path(said.sweep)}.{digest}.parquet"
    files.write(path, parquet_bytes(PLAN_SCHEMA.empty_table().replace_schema_metadata({NOTES: said.written()})))
    return path
