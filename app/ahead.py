"""What pages need, done in the background before they ask: the first look at the store, and imports."""

import threading
from contextlib import suppress
from functools import cache
from importlib import import_module

from analysis.data.source import QueryError, ResultsError, open_ahead

CHARTS = ("pandas", "altair")
"""What all pages with a chart need, and what takes longest to import."""
REST = (*CHARTS, "app.screens.curves", "app.screens.dimension", "scipy.optimize")
"""With these come all others that take long."""

importing = threading.Lock()
"""Held while modules are imported: two threads that import what imports each other may see half of a module."""


def open_store(results: str) -> None:
    """Begin, and return at once."""

    def work() -> None:
        with suppress(ResultsError, QueryError):  # the page says so
            open_ahead(results)

    threading.Thread(target=work, name="store", daemon=True).start()


@cache
def import_ahead(*modules: str) -> None:
    """Begin once, in this order, and return at once."""

    def work() -> None:
        for name in modules:
            with importing:
                import_module(name)

    threading.Thread(target=work, name="imports", daemon=True).start()
