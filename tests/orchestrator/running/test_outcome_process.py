"""What a sweep asks analysis at its end."""

import pytest

from orchestrator.grid.planned import PlannedCell
from orchestrator.running.outcome_process import BesideTheory, asked_for, headlines
from sweepkit.store.files import ResultsError
from trainables.cell import cell_of
from trainables.tasks import Hermite3, SameDifferent


def planned(*cells):
    return [PlannedCell(cell.cell_id, cell, frozenset()) for cell in cells]


def test_each_kind_of_network_is_averaged_by_its_own_metric():
    trained = cell_of(SameDifferent(L=3, d=4), width=8, gamma=1.0, seed=0)
    sampled = cell_of(Hermite3(d=4, P=8), network="relu2", width=8, kappa=1.0, seed=0)
    assert headlines(planned(trained)) == ["best_test_acc"]
    assert headlines(planned(sampled, trained)) == ["alignment_f", "best_test_acc"]


def test_a_few_metrics_that_the_grid_asks_for_are_averaged_too():
    cell = cell_of(SameDifferent(L=3, d=4), width=8, gamma=1.0, seed=0)

    def asked(*save):
        return asked_for([PlannedCell(cell.cell_id, cell, frozenset(save)), PlannedCell(cell.cell_id, cell, frozenset())])

    assert asked("balance_drift", "curves", "curve_d_lr", "output") == ["balance_drift"]
    assert asked("d_lr", "d_lr_test", "s_init") == ["d_lr", "d_lr_test", "s_init"]
    assert asked("d_lr", "d_lr_test", "s_init", "balance_drift") == []


def test_analysis_that_fails_says_why():
    asked = BesideTheory.ask("sweep", "ftp://elsewhere/results", planned())
    with pytest.raises(ResultsError, match="could not be averaged"):
        asked.answer()
