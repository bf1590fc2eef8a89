"""Advice to a person on networks that failed or diverged, and their logs."""

from sweepkit.console.commands import sweep_command
from sweepkit.store.files import ResultsError, open_files
from sweepkit.store.files.base import LOGS

_MEMORY = ("outofmemory", "out of memory", "not enough memory", "memoryerror", "can't allocate")


def remedy(status: str, reason: str, results: str) -> str:
    """Advice in Markdown on networks of this status and reason."""
    if status == "diverged":
        return (
            "Divergence is a result: such a network is not trained again, and no mean counts it. A smaller `base_lr` or gamma in "
            "the grid gives networks that may stay finite."
        )
    again = f"`{sweep_command('GRID', results, '--retry-failed')}` trains the failed ones again"
    if any(words in reason.lower() for words in _MEMORY):
        return (
            "There was too little memory: use smaller networks, fewer packs at once (`--max-concurrent`), or a larger machine. "
            f"Then {again}."
        )
    if "worker died" in reason or "worker was lost" in reason:
        return f"Its process was ended from outside, often for lack of memory, or its machine was lost: {again}."
    return (
        f"The log holds the whole traceback. Once the cause is mended, {again}; `--debug` trains in one process, for a debugger."
    )


LAST_CHARS = 20_000
"""Most characters of a log that are shown, from its end: a traceback ends with the error."""


def log_of(results: str, log_path: str) -> str | None:
    """The end of a failed network's log, or why it cannot be read. None if it is not among these results."""
    folder, _, name = log_path.rpartition("/")
    if folder.rpartition("/")[2] != LOGS or name in ("", ".", ".."):  # a stranger's row must not name any other file
        return None
    try:
        return open_files(results).read(f"{LOGS}/{name}")[-4 * LAST_CHARS :].decode(errors="replace")[-LAST_CHARS:]
    except FileNotFoundError:
        return None
    except ResultsError as error:
        return str(error)
