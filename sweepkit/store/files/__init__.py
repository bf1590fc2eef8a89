"""The file systems under a results directory: the interface that the store needs, local directories, and S3 buckets."""

from sweepkit.store.files.base import (
    LARGE_BYTES,
    RESERVE_BYTES,
    UNFINISHED,
    UNUSABLE,
    Entry,
    Files,
    NoResults,
    ResultsError,
    Unreadable,
    age_s,
    side_by_side,
    temporary,
)
from sweepkit.store.files.local import LocalFiles
from sweepkit.store.files.opening import existing, location, open_files

__all__ = [
    "LARGE_BYTES", "RESERVE_BYTES", "UNFINISHED", "UNUSABLE", "Entry", "Files", "LocalFiles", "NoResults", "ResultsError",
    "Unreadable", "age_s", "existing", "location", "open_files", "side_by_side", "temporary",
]  # fmt: skip
