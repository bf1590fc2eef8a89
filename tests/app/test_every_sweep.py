"""Pages opened for every sweep whose networks are kept in evidence/: none of them fails."""

import sys
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from store.views import fetch
from tests.app.conftest import script_of_page

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Streamlit's own

EVIDENCE = str(Path(__file__).parents[2] / "evidence")


@pytest.mark.parametrize("name", ["scaling", "curves", "networks"])
def test_no_sweep_fails(name, monkeypatch):
    """One test opens all of them: the second question to a store has it in memory, and the others take a tenth of the time."""
    monkeypatch.setattr(sys, "argv", ["app/main.py", "--results", EVIDENCE])
    failed, sweeps = {}, [sweep for (sweep,) in fetch(EVIDENCE, "SELECT DISTINCT sweep FROM plans ORDER BY sweep")]
    for sweep in sweeps:
        shown = AppTest.from_function(script_of_page, default_timeout=120, args=(name,))
        shown.query_params["sweep"] = sweep
        shown = shown.run()
        if found := [*shown.exception, *shown.error]:
            failed[sweep] = [one.value for one in found]
        assert shown.selectbox(key="sweep").value == sweep
    assert failed == {} and len(sweeps) > 40
