"""Access to results, for code that reads them through `analysis` alone."""

import hashlib

from duckdb import Error as QueryError

from sweepkit.store.connections import ASKED_ONCE
from sweepkit.store.files import NoResults, ResultsError, existing, location, open_files
from sweepkit.store.files.base import FOLDERS
from sweepkit.store.leases import drivers
from sweepkit.store.searches import unread
from sweepkit.store.snapshot import take
from sweepkit.store.views import VIEWS, declared, run

__all__ = [
    "NoResults",
    "QueryError",
    "ResultsError",
    "columns_of_views",
    "damaged",
    "declared",
    "existing",
    "location",
    "open_ahead",
    "state",
]


def state(results: str) -> str:
    """A digest that changes when the readable files change, or the cells that live sweeps train. It is cheap: it lists the
    directory."""
    files = open_files(results)
    digest = hashlib.blake2b(files.root.encode(), digest_size=12)
    for folder in FOLDERS:
        digest.update(repr(files.entries(folder)).encode())
    digest.update(repr(sorted((driver.path, driver.cell_ids) for driver in drivers(files) if driver.alive)).encode())
    return digest.hexdigest()


def open_ahead(results: str) -> None:
    """Do what the first questions would wait for: read footers, open the database, and copy `cells` where that pays."""
    for _ in range(ASKED_ONCE + 1):
        run(results, lambda connection: None)


def damaged(results: str) -> list[tuple[str, str]]:
    """Files that are left out and why, as far as their footers tell: torn, empty or foreign files. Last, plans whose questions of
    searches are left out."""
    files = sorted((entry.path, problem) for entry, problem in take(open_files(results)).bad.items())
    return [*files, *((f"plan of {sweep}", problem) for sweep, problem in run(results, unread))]


def columns_of_views(results: str) -> dict[str, tuple[str, list[tuple[str, str]]]]:
    """By view, what it holds, and its columns with their DuckDB types."""
    described = run(results, lambda c: {view: c.execute(f"DESCRIBE {view}").fetchall() for view in VIEWS})
    return {view: (VIEWS[view], [(name, kind) for name, kind, *_ in columns]) for view, columns in described.items()}
