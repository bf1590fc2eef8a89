"""The commands that a sweep names at its end."""

from collections import Counter
from types import SimpleNamespace

import pytest

from orchestrator.grid.planned import PlannedCell
from orchestrator.running.summary import _next_commands
from sweepkit.store.store import Store
from trainables.cell import cell_of
from trainables.tasks import SameDifferent


@pytest.mark.parametrize(
    ("save", "keys", "ok", "told"),
    [(["d_lr"], ["L", "gamma_label"], 1, "curve --sweep s --x gamma --y d_lr"), (["d_lr"], ["task", "L"], 1, "--x L --y d_lr"),
     (["d_lr"], ["task"], 1, None), (["d_lr"], ["L"], 0, None), (["s_init"], ["L"], 1, "curve --sweep s")],
)  # fmt: skip
def test_a_sweep_is_told_how_to_see_it(tmp_path, save, keys, ok, told):
    cell = cell_of(SameDifferent(L=3, d=4), width=8, gamma=1.0, seed=0)
    planned = [PlannedCell(cell.cell_id, cell, frozenset(save))]
    grid = SimpleNamespace(sweep="s", cells=planned)
    answer = {"keys": keys, "figures": [], "pages": []}
    lines = dict(_next_commands(grid, planned, Store(str(tmp_path)), [], Counter(ok=ok), 0, answer))
    assert told in lines["figure"] if told else "figure" not in lines
    assert lines["report"].split(" --results")[0].endswith("report --sweep s")
    assert ("avg(d_lr) AS d_lr" in lines["query"]) == (save == ["d_lr"] and ok > 0)


def test_figures_and_pages_about_these_networks_are_named(tmp_path):
    cell = cell_of(SameDifferent(L=3, d=4), width=8, gamma=1.0, seed=0)
    planned = [PlannedCell(cell.cell_id, cell, frozenset())]
    answer = {"keys": ["L"], "figures": ["Lstar"], "pages": ["dimension", "relations"]}
    grid = SimpleNamespace(sweep="s", cells=planned)
    lines = _next_commands(grid, planned, Store(str(tmp_path)), [], Counter(ok=1), 0, answer)
    assert [name for name, _ in lines] == ["query", "figure", "figure", "report", "app"]
    assert "Lstar --sweep s" in lines[1][1] and "curve --sweep s" in lines[2][1]  # the figure meant for them comes first
    assert lines[4][1].endswith("  (see also Dimension, Relations)")


def test_the_query_has_the_metric_that_the_grid_asks_for(tmp_path):
    cell = cell_of(SameDifferent(L=3, d=4), width=8, gamma=1.0, seed=0)
    planned = [PlannedCell(cell.cell_id, cell, frozenset({"balance_drift", "curves"}))]
    answer = {"keys": ["L"], "figures": [], "pages": []}
    grid = SimpleNamespace(sweep="s", cells=planned)
    lines = dict(_next_commands(grid, planned, Store(str(tmp_path)), [], Counter(ok=1), 0, answer))
    assert "avg(best_test_acc) AS acc, avg(balance_drift) AS balance_drift FROM" in lines["query"]
