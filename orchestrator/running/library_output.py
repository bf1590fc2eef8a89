"""Keeps the output of libraries away from the user's terminal. Knows no Ray."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from sweepkit.console.streams import writer


@contextmanager
def words_apart(console: Console) -> Iterator[None]:
    """Inside, only this console writes to standard error. All other output, from Python and from C++, is dropped.

    For instance, Ray describes dead workers in paragraphs for its developers. Its log files hold these, too.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(descriptor) for descriptor in (1, 2)]
    python = sys.stdout, sys.stderr
    with open(os.devnull, "w") as nowhere, writer(os.dup(2), 2, sys.stderr) as words:
        console.file = words
        sys.stdout = sys.stderr = nowhere
        for descriptor in (1, 2):
            os.dup2(nowhere.fileno(), descriptor)
        try:
            yield
        finally:
            for descriptor, own in zip((1, 2), kept, strict=True):
                os.dup2(own, descriptor)
                os.close(own)
            sys.stdout, sys.stderr = python
            console.file = None  # type: ignore[assignment]  # standard error again, whichever it is from now on
