"""A small store, trained here, that all tests of the app read."""

import sys
from functools import cache

import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

from analysis.background import Background
from app.pages_with_data import Looking

# Streamlit reads the metadata of every installed package at each `run` of an AppTest, a third of these tests' time.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)

RUN_S = 1800
"""The limit for one run of a page, which only ends what hangs."""


@pytest.fixture(autouse=True)
def pages_wait_for_what_they_look_up(monkeypatch):
    """Else, on a busy machine, they show the little that they know after a moment, until they run again."""
    monkeypatch.setattr(Looking.look, "__defaults__", (None,))


@pytest.fixture(scope="session")
def small_results(tmp_path_factory):
    """16 networks of two L, two gamma and four seeds, with curves and neurons; one more failed; a plan of 20."""
    from orchestrator.grid.load import load_grid
    from tests.orchestrator.running.test_driver import run
    from tests.store_rows import row

    folder = tmp_path_factory.mktemp("app")
    path = folder / "small.yaml"
    path.write_text("sweep: tiny\ngrids: [{task: same_different, L: [3, 4], d: 8, width: 16, gamma: [1, lazy], seed: {range: 4},"
                    " steps: 20, eval_every: 10, batch: 8, test_size: 16, save: [curves, neurons]}]\n")  # fmt: skip
    grid = load_grid(path)
    results = str(folder / "results")
    store = run(grid, results).store
    log = store.write_log("f" * 20, "Traceback ...")
    store.commit("broken", [row("f" * 20, status="failed", log_path=log)], failed=True)
    store.write_plan("tiny", [*(p.cell_id for p in grid.cells), "f" * 20, *(f"{i:020x}" for i in range(3))], whole=True)
    return results


@pytest.fixture
def claims_checked_here(monkeypatch):
    """Claims are checked in this process: one apart gives way to other tests, for a minute or more beside many."""
    monkeypatch.setattr(Background, "compute", lambda self, work: work())


def script_of_page(name):
    """The script of one page, which Streamlit runs as a text."""
    from importlib import import_module

    from app.pages import PAGES, module_of
    from app.script import page_of
    from app.shared import guarded, links

    links.update({other: page_of(other, other, False) for other in PAGES})  # as the app does: pages link to each other
    guarded(name, "", import_module(module_of(name)).show)


@pytest.fixture
def page(monkeypatch):
    """Opens a page over a store, with these selections in its URL."""

    def open_page(name, results, **query):
        monkeypatch.setattr(sys, "argv", ["app/main.py", "--results", str(results)])
        shown = AppTest.from_function(script_of_page, default_timeout=RUN_S, args=(name,))
        for key, value in query.items():
            shown.query_params[key] = value
        shown = shown.run()
        assert not shown.exception, shown.exception
        return shown

    return open_page
