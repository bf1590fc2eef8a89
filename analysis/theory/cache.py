"""Theory that takes seconds to minutes is computed once and kept on disk, by joblib, in the user's cache folder.

A result belongs to its function, its arguments and the text of the theory: that of the core, and of a study's function that of
this study and of those that it needs. After an edit there it is computed anew, so what is kept is never older than the code, and
an edit of one study leaves the values of others. (joblib alone sees only the edits of the function itself.)
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from joblib import Memory

from analysis.studies.loading import study_of, theory_digest
from sweepkit.console.cache import cache_folder, digest
from sweepkit.declarations import evaluations

T = TypeVar("T")

# Read once, at import: an edit made while the process runs must not name the results of the old code.
CODE = digest([*Path(__file__).parent.rglob("*.py"), Path(evaluations.__file__)])
"""Names the core's code whose results are kept."""


def code_of(study: Path | None) -> str:
    """Names the code whose results are kept: the core's, with that of the study in this folder."""
    return CODE if study is None else f"{CODE}-{theory_digest(study)}"


def theory_cache(study: Path | None = None) -> Memory:
    """The Memory under $XDG_CACHE_HOME or ~/.cache, or beside other temporary files where that cannot be written.

    It is made at each call, so that a change of the environment counts: a page and a test need not share it.
    """
    return Memory(cache_folder() / "theory" / code_of(study), verbose=0)


def _cached(function: Callable[..., T]) -> Any:
    return theory_cache(study_of(function.__module__)).cache(function)


def kept(function: Callable[..., T], *arguments: Any, **named: Any) -> T:
    """function(*arguments, **named), from disk if it was called with these arguments before. Arguments must be plain values."""
    return _cached(function)(*arguments, **named)


def is_kept(function: Callable[..., Any], *arguments: Any, **named: Any) -> bool:
    """Whether `kept` would answer from disk."""
    return bool(_cached(function).check_call_in_cache(*arguments, **named))
