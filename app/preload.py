"""Background work before pages ask for it: the first look at the store, and imports."""

import threading
from contextlib import suppress
from functools import cache
from importlib import import_module

from analysis.data.source import QueryError, ResultsError, open_ahead

CHARTS = ("pandas", "altair")
"""The modules that all pages with a chart need, and that take longest to import."""
REST = (*CHARTS, "app.screens.curves", "app.screens.scaling", "app.screens.claims", "scipy.optimize")
"""Modules that bring in all others that take long."""

importing = threading.Lock()
"""Held while modules are imported: where modules import each other, a second thread could find one of them half imported."""


def open_store(results: str) -> None:
    """Open the store in the background, and return at once."""

    def work() -> None:
        with suppress(ResultsError, QueryError):  # the page shows the error
            open_ahead(results)

    threading.Thread(target=work, name="store", daemon=True).start()


@cache
def import_ahead(*modules: str) -> None:
    """Import these modules in the background, once and in this order, and return at once."""

    def work() -> None:
        for name in modules:
            with importing:
                import_module(name)

    threading.Thread(target=work, name="imports", daemon=True).start()
