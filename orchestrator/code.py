"""The code that runs: where it lies, its commit, and a digest that machines of one sweep must share."""

import hashlib
import platform
from functools import cache
from importlib.metadata import version

from sweepkit import FOLDER
from sweepkit.console.cache import unified
from sweepkit.store.provenance import code_of

TRAINS = ("orchestrator", "sweepkit", "trainables")
"""The packages that take part in a sweep. `analysis` and `app` only read the stored results."""


@cache
def code_facts() -> dict[str, str]:
    """Digest of this project's code, and versions of Python and of the libraries: all machines of a sweep must agree on these."""
    digest = hashlib.sha256()
    for package in TRAINS:
        for file in sorted((FOLDER / package).rglob("*.py")):
            digest.update(str(file.relative_to(FOLDER)).encode() + b"\0" + unified(file.read_bytes()) + b"\0")
    facts = {"this project": digest.hexdigest()[:12], "python": ".".join(platform.python_version_tuple()[:2])}
    return facts | {name: version(name) for name in ("ray", "torch", "numpy")}


def commit() -> str:
    """The commit of this project's code, or its release; see `code_of`."""
    return code_of(FOLDER)
