"""Whether a sweep asks analysis what theory says of its networks: a process is started only where something can come of it."""

import pytest

from analysis.overlays.registry import THEORIES
from analysis.report.outcome import THEORIES as TOLD
from orchestrator.grid.load import PlannedCell
from orchestrator.running import beside
from orchestrator.running.beside import BesideTheory
from trainables.cell import cell_of
from trainables.tasks import Hermite3, SameDifferent

SYMBOLS = SameDifferent(L=3, d=4)
CELLS = {
    "rich": (True, cell_of(SYMBOLS, width=8, gamma=1.0, seed=0)),
    "rich on noise": (True, cell_of(SameDifferent(L=3, d=4, sigma2=1.0), width=8, gamma=2.0, seed=0)),
    "by momentum": (True, cell_of(SYMBOLS, width=8, gamma=1.0, momentum=0.9, seed=0)),
    "less rich": (False, cell_of(SYMBOLS, width=8, gamma=0.5, seed=0)),
    "mlp": (False, cell_of(SYMBOLS, network="mlp", width=8, seed=0)),
    "residual": (False, cell_of(SYMBOLS, network="residual", width=8, seed=0)),
    "by adam": (False, cell_of(SYMBOLS, training="adam", width=8, gamma=1.0, seed=0)),
    "sampled": (False, cell_of(Hermite3(d=4, P=8), network="relu2", width=8, kappa=1.0, seed=0)),
}


@pytest.mark.parametrize("name", CELLS)
def test_analysis_is_asked_of_networks_that_theory_may_speak_of(name, monkeypatch):
    asked, cell = CELLS[name]
    monkeypatch.setattr(beside, "started", lambda words: "a process")
    planned = [PlannedCell(c.cell_id, c, frozenset()) for c in (CELLS["less rich"][1], cell)]
    assert BesideTheory.ask("sweep", "results", planned).process == ("a process" if asked else None)
    told = [theory for theory in THEORIES if theory.name in TOLD]
    spoken_of = any(theory.about.is_one(cell.columns() | {"gamma_label": cell.gamma_label}) for theory in told)
    assert asked or not spoken_of or cell.network.gamma < 1
