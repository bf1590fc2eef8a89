"""Checks every file of a results directory, down to the checksum of each page."""

from collections.abc import Callable
from dataclasses import dataclass, field

from sweepkit.store.files import UNFINISHED, Entry, Files, Unreadable, age_s, side_by_side
from sweepkit.store.files.base import FOLDERS, LEASES, WEIGHTS
from sweepkit.store.leases import drivers
from sweepkit.store.searches import unread
from sweepkit.store.snapshot import inspect, verify
from sweepkit.store.views import run
from sweepkit.store.weights import check_pictures

STALE_S = 3600.0
"""Age in seconds from which a temporary file belongs to nobody: a commit takes milliseconds."""

_GONE = "gone"


@dataclass
class Report:
    """The outcome of a check. `bad`: path to problem; readers leave these files out. `unread`: path to the reason why a file
    cannot be read now; nothing is known of it. `stale`, `removed`: harmless leftovers."""

    n_files: int = 0
    n_bytes: int = 0
    bad: dict[str, str] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)
    stale: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)


def check(files: Files, clean: bool = False, seen: Callable[[int, int], None] = lambda done, total: None) -> Report:
    """Verify all files; with `clean`, remove leftovers of dead processes. `seen` is told how many of all files are done.

    If a file of rows or plans cannot be read, the check ends there and removes nothing: what is left over depends on all rows.
    """
    report = Report()
    entries = [entry for folder in FOLDERS for entry in files.entries(folder)]
    n_all = len(entries) + len(files.entries(WEIGHTS))

    def problem_of(entry: Entry) -> str | None:
        try:
            return inspect(files, entry).problem or verify(files, entry)
        except FileNotFoundError:
            return _GONE  # a compaction deleted it meanwhile
        except Unreadable as error:
            report.unread[entry.path] = error.reason
            return None

    for i, (entry, problem) in enumerate(zip(entries, side_by_side(files, problem_of, entries), strict=True)):
        seen(i, n_all)
        if problem == _GONE:
            continue
        report.n_files += 1
        report.n_bytes += entry.size
        if problem:
            report.bad[entry.path] = problem

    if report.unread:
        return report
    report.bad |= {f"plan of {sweep}": problem for sweep, problem in run(files, unread)}
    orphans = _check_weights(files, report, lambda i: seen(min(len(entries) + i, n_all), n_all))
    known = drivers(files)
    leases = {driver.path for driver in known}
    for entry in files.entries(LEASES):
        if entry.path not in leases and (problem := _no_lease(files, entry, report.unread)):
            report.bad[entry.path] = problem
    report.stale += [driver.path for driver in known if not driver.alive]
    for folder in ("", *FOLDERS, WEIGHTS, LEASES):
        for entry in files.entries(folder, hidden=True):
            if entry.path.endswith(UNFINISHED) and age_s(files, entry) > STALE_S:
                report.stale.append(entry.path)
    if clean:
        for path in report.stale:
            if path in orphans and not _still_orphan(files, path):
                continue
            files.delete(path)
            report.removed.append(path)
        report.stale = [path for path in report.stale if path in report.removed or path not in orphans]
    return report


def _no_lease(files: Files, entry: Entry, unread: dict[str, str]) -> str | None:
    """The problem with a file that `drivers` left out; None if it is gone or cannot be read, which `unread` then gets."""
    try:
        files.read(entry.path)
    except FileNotFoundError:
        return None
    except Unreadable as error:
        unread[entry.path] = error.reason
        return None
    return "not a lease"


def _still_orphan(files: Files, path: str) -> bool:
    """Whether the file is still a leftover. A sweep that trains its cell again writes the very same file, and then its row.

    The rows are read before the file's age: a row that comes later belongs to a file that was written shortly before.
    """
    if path in run(files, lambda c: {path for (path,) in c.execute(_NAMED).fetchall()}):
        return False
    entry = files.entry(path)
    return entry is not None and age_s(files, entry) > STALE_S


_NAMED = "SELECT weights_file FROM internal.rows WHERE weights_file IS NOT NULL"


def _check_weights(files: Files, report: Report, seen: Callable[[int], None]) -> set[str]:
    """Check the weights files: each must be whole, and none that a row names may be missing. A file that no row names is a
    leftover if it is old; the pack of a young one may still follow.

    Returns these leftovers.
    """
    # Listed before the rows are read: the row of a later file may not be among them.
    before = {entry.path for entry in files.entries(WEIGHTS)}
    queries = ("SELECT weights_file FROM internal.weights", _NAMED)
    shown, named = run(files, lambda c: [{path for (path,) in c.execute(sql).fetchall()} for sql in queries])
    entries = files.entries(WEIGHTS)
    bad = check_pictures(files, entries, shown, report.unread, seen)
    orphans = [entry for entry in entries if entry.path in before - named - bad.keys() - report.unread.keys()]
    report.bad |= bad
    report.n_files += len(entries)
    report.n_bytes += sum(entry.size for entry in entries)
    stale = [entry.path for entry in orphans if age_s(files, entry) > STALE_S]
    report.stale += stale
    return set(stale)
