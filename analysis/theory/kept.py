"""Theory that takes seconds to minutes is computed once and kept on disk, by joblib, in the user's cache folder.

A result belongs to its function, its arguments and the text of all modules of analysis/theory: any edit there computes anew,
so what is kept is never older than the code. (joblib alone sees only the edits of the function itself.)
"""

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from joblib import Memory

T = TypeVar("T")


# Once, as the process imports them: an edit made while it runs must not name what the old code computes.
CODE = hashlib.sha256(b"".join(file.read_bytes() for file in sorted(Path(__file__).parent.glob("*.py")))).hexdigest()[:16]
"""Names the code whose results are kept."""


def theory_cache() -> Memory:
    """The Memory under $XDG_CACHE_HOME or ~/.cache, or beside other temporary files where that cannot be written.

    Made at each call, so that the environment of the moment holds: a page and a test need not share it.
    """
    return Memory(_folder() / "theory" / CODE, verbose=0)


def kept(function: Callable[..., T], *arguments: Any, **named: Any) -> T:
    """function(*arguments, **named), from disk where it has been called so before. Arguments must be plain values."""
    return theory_cache().cache(function)(*arguments, **named)


def is_kept(function: Callable[..., Any], *arguments: Any, **named: Any) -> bool:
    """Whether `kept` would answer from disk."""
    return bool(theory_cache().cache(function).check_call_in_cache(*arguments, **named))


def _folder() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    last = Path(tempfile.gettempdir(), f"sweep-orchestrator-{os.getuid()}")
    for folder in (Path(home, "sweep-orchestrator"), last):
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if folder.stat().st_uid != os.getuid():
                continue
            folder.chmod(folder.stat().st_mode & ~0o022)
        except OSError:  # a home that is not there or read-only: the next place
            continue
        if os.access(folder, os.W_OK):
            return folder
    return Path(tempfile.mkdtemp(prefix="sweep-orchestrator-"))
