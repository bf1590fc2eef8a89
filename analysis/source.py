"""Where results come from, for those that read them through analysis alone."""

from store.files import Files, ResultsError, open_files

__all__ = ["ResultsError", "existing"]


def existing(results: str) -> Files:
    """The results directory; ResultsError where there is none."""
    files = open_files(results)
    if not files.exists():
        raise ResultsError(f"no results directory at {files.root}: name it with --results, or run a sweep first")
    return files
