"""The app's page over an empty and a small store."""

import sys
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import app

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Streamlit's own


@pytest.fixture
def page(monkeypatch):
    def open_page(results):
        monkeypatch.setattr(sys, "argv", ["app/main.py", "--results", str(results)])
        return AppTest.from_file(str(Path(app.__file__).parent / "main.py"), default_timeout=60).run()

    return open_page


def test_empty_store_says_what_to_type(page, tmp_path):
    shown = page(tmp_path / "none")
    assert not shown.exception
    assert "python -m orchestrator.sweep grid.yaml" in shown.info[0].value


def test_shows_counts_and_the_curve(page, tmp_path):
    from orchestrator.grid import load_grid
    from tests.orchestrator.test_driver import run

    path = tmp_path / "small.yaml"
    path.write_text("sweep: tiny\ngrids: [{task: same_different, L: [3, 4], d: 8, width: 16, gamma: [1, lazy], seed: {range: 2},"
                    " steps: 20, eval_every: 10, batch: 8, test_size: 16}]\n")  # fmt: skip
    grid = load_grid(path)
    run(grid, str(tmp_path / "results")).store.write_plan(grid.sweep, [p.cell_id for p in grid.cells], whole=True)
    shown = page(tmp_path / "results")
    assert not shown.exception
    assert shown.selectbox[0].value == "tiny"
    assert {m.label: m.value for m in shown.metric} == {"planned": "8", "ok": "8", "diverged": "0", "failed": "0", "missing": "0"}
    assert list(shown.dataframe[0].value.L) == [3, 4, 3, 4]
    assert "95% t interval" in shown.caption[0].value
