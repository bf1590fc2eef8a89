"""Theory that takes seconds to minutes is computed once and kept on disk, by joblib, in the user's cache folder.

A result belongs to its function, its arguments and the text of all modules below analysis/theory and of the steps of evaluation:
after any edit there it is computed anew, so what is kept is never older than the code. (joblib alone sees only the edits of the
function itself.)
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from joblib import Memory

from sweepkit.console.cache import cache_folder, digest
from sweepkit.declarations import evaluations

T = TypeVar("T")

# Read once, at import: an edit made while the process runs must not name the results of the old code.
CODE = digest([*Path(__file__).parent.rglob("*.py"), Path(evaluations.__file__)])
"""Names the code whose results are kept."""


def theory_cache() -> Memory:
    """The Memory under $XDG_CACHE_HOME or ~/.cache, or beside other temporary files where that cannot be written.

    It is made at each call, so that a change of the environment counts: a page and a test need not share it.
    """
    return Memory(cache_folder() / "theory" / CODE, verbose=0)


def kept(function: Callable[..., T], *arguments: Any, **named: Any) -> T:
    """function(*arguments, **named), from disk if it was called with these arguments before. Arguments must be plain values."""
    return theory_cache().cache(function)(*arguments, **named)


def is_kept(function: Callable[..., Any], *arguments: Any, **named: Any) -> bool:
    """Whether `kept` would answer from disk."""
    return bool(theory_cache().cache(function).check_call_in_cache(*arguments, **named))
