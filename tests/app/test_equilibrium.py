"""Pages over a store that holds networks at equilibrium alone."""

import sys

import pytest
from streamlit.testing.v1 import AppTest

from orchestrator.grid import load_grid
from tests.orchestrator.test_driver import run

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Streamlit's own

GRID = """\
sweep: he3
grids:
  - {task: he3, network: erf2, d: 4, width: 4, P: [4, 12], kappa: 1, seed: {range: 2}, steps: 40, eval_every: 5, chains: 2,
     test_size: 64}
"""


@pytest.fixture(scope="module")
def at_equilibrium(tmp_path_factory):
    folder = tmp_path_factory.mktemp("equilibrium")
    (folder / "he3.yaml").write_text(GRID)
    grid = load_grid(folder / "he3.yaml")
    store = run(grid, str(folder / "results")).store
    store.write_plan("he3", [p.cell_id for p in grid.cells], whole=True)
    return store.results


def opened(monkeypatch, name, results):
    monkeypatch.setattr(sys, "argv", ["app/main.py", "--results", results])
    script = f"from app.screens import {name}\nfrom app.shared import results_directory\n{name}.show(results_directory())"
    return AppTest.from_string(script, default_timeout=60).run()


@pytest.mark.parametrize("name", ["curves", "dimension", "noise", "structure", "scaling", "claims"])
def test_no_page_fails(monkeypatch, at_equilibrium, name):
    page = opened(monkeypatch, name, at_equilibrium)
    assert not page.exception


def test_one_network_is_shown_with_its_chains_and_whether_they_mixed(monkeypatch, at_equilibrium):
    page = opened(monkeypatch, "structure", at_equilibrium)
    assert [element.value for element in page.subheader] == ["Chains", "Measured"]
    assert any("did not mix" in element.value and "of which half start specialised" in element.value for element in page.caption)
    told = str(page.table[0].value)
    assert "alignment A_f" in told and "split R-hat" in told and "readout ratio" not in told


def test_scaling_says_where_their_thresholds_are(monkeypatch, at_equilibrium):
    page = opened(monkeypatch, "scaling", at_equilibrium)
    assert "analysis.figures Nstar" in page.info[0].value
