"""Gives a sweep another name: its plans and notes are written anew under it, and its networks stay as they are."""

import shlex

import pyarrow as pa
import pyarrow.parquet as pq

from sweepkit.console.words import show
from sweepkit.store.files import Files, ResultsError
from sweepkit.store.files.base import WRITTEN
from sweepkit.store.schema import OF_GRID, PLAN_SCHEMA, PLANNED_FIND, parquet_bytes
from sweepkit.store.snapshot import LiveFile, take
from sweepkit.store.store import plan_path
from sweepkit.store.upkeep.delete import refuse_running
from sweepkit.store.upkeep.notes import write_notes

COMMAND = OF_GRID[1]


def rename(files: Files, old: str, new: str) -> int:
    """Rename a sweep. Returns the number of its plans.

    The new plans are all written before the first old one goes; after a kill the same call goes on. ResultsError if a run of one
    of the two is under way, or if there is another sweep of the new name.
    """
    for name in (old, new):
        refuse_running(files, name)
    plans = take(files).plans
    ours, theirs = ([file for file in plans if file.sweep == name] for name in (old, new))
    if {file.told_at for file in theirs if file.request} - {file.told_at for file in ours}:  # else of an interrupted call
        raise ResultsError(f"there is a sweep {show(new)} already: choose another name")
    files.prepare(folders=WRITTEN)
    written = [_written(files, file, new) for file in ours]
    for file in ours:
        if file.entry.path not in written:  # names that differ in characters that no path holds
            files.delete(file.entry.path)
    return sum(file.notes is None for file in ours)


def _written(files: Files, file: LiveFile, new: str) -> str:
    """Write one file of a plan, or the notes, under the new name. Returns its path."""
    if file.notes:
        return write_notes(files, file.notes._replace(sweep=new))
    with files.open(file.entry) as source:
        table = pq.ParquetFile(source).read()
    at = table.schema.get_field_index("sweep")
    table = table.set_column(at, PLAN_SCHEMA.field("sweep"), pa.array([new] * table.num_rows, pa.string()))
    finds = table[PLANNED_FIND.name].to_pylist() if PLANNED_FIND.name in table.column_names else []
    said = table.schema.metadata or {}
    if words := shlex.split(said.get(COMMAND, b"").decode()):
        words = words[: words.index("--name")] + words[words.index("--name") + 2 :] if "--name" in words else words
        table = table.replace_schema_metadata({**said, COMMAND: shlex.join([*words, "--name", new])})
    path = plan_path(new, table["whole"][0].as_py(), table["cell_id"].to_pylist(), finds)
    files.write(path, parquet_bytes(table))
    return path
