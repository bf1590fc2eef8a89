"""What a sweep asks analysis at its end."""

import pytest

from orchestrator.grid.planned import PlannedCell
from orchestrator.running.beside import BesideTheory, headlines
from store.files import ResultsError
from trainables.cell import cell_of
from trainables.tasks import Hermite3, SameDifferent


def planned(*cells):
    return [PlannedCell(cell.cell_id, cell, frozenset()) for cell in cells]


def test_each_kind_of_network_is_averaged_by_its_own_metric():
    trained = cell_of(SameDifferent(L=3, d=4), width=8, gamma=1.0, seed=0)
    sampled = cell_of(Hermite3(d=4, P=8), network="relu2", width=8, kappa=1.0, seed=0)
    assert headlines(planned(trained)) == ["best_test_acc"]
    assert headlines(planned(sampled, trained)) == ["alignment_f", "best_test_acc"]


def test_analysis_that_fails_says_why():
    asked = BesideTheory.ask("sweep", "ftp://elsewhere/results", planned())
    with pytest.raises(ResultsError, match="could not be averaged"):
        asked.answer()
