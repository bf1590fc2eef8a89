"""Pages opened for every sweep whose networks are kept in evidence/: none of them fails."""

import sys
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from sweepkit.store.views import fetch
from tests.app.conftest import RUN_S, script_of_page

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Streamlit's own

EVIDENCE = str(Path(__file__).parents[2] / "evidence")


@pytest.mark.parametrize("name", ["scaling", "curves", "networks"])
def test_no_sweep_fails(name, monkeypatch):
    """One test opens all of them: the second question to a store has it in memory, and the others take a tenth of the time."""
    monkeypatch.setattr(sys, "argv", ["app/main.py", "--results", EVIDENCE])
    failed, sweeps = {}, [sweep for (sweep,) in fetch(EVIDENCE, "SELECT DISTINCT sweep FROM plans ORDER BY sweep")]
    for sweep in sweeps:
        shown = AppTest.from_function(script_of_page, default_timeout=RUN_S, args=(name,))
        shown.query_params["sweep"] = sweep
        shown = shown.run()
        if found := [*shown.exception, *shown.error]:
            failed[sweep] = [one.value for one in found]
        assert shown.selectbox(key="sweep").value == sweep
    assert failed == {} and len(sweeps) > 40


@pytest.mark.parametrize(
    ("sweep", "level", "figure"), [("samples-quick", 0.5, "Samples"), ("attention-quick", 0.15, "Attention")]
)
def test_scaling_opens_at_the_level_of_the_figure_that_a_sweep_is_meant_for(sweep, level, figure, monkeypatch):
    """Page and figure once read thresholds of the same networks at 0.6 and at 0.5."""
    monkeypatch.setattr(sys, "argv", ["app/main.py", "--results", EVIDENCE])
    shown = AppTest.from_function(script_of_page, default_timeout=RUN_S, args=("scaling",))
    shown.query_params["sweep"] = sweep
    shown = shown.run()
    assert not shown.exception and [one.value for one in shown.slider] == [level]
    assert any(f"this level: that of figure {figure}" in one.value for one in shown.caption)


def test_scaling_explains_the_bands_of_its_fits(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["app/main.py", "--results", EVIDENCE])
    shown = AppTest.from_function(script_of_page, default_timeout=RUN_S, args=("scaling",))
    shown.query_params["sweep"] = "nstar-he3-quick"
    shown = shown.run()
    assert any("5 of 5 curves reach it; bands: 95% of the fitted line" in one.value for one in shown.caption)
