"""The commands that a sweep names at its end."""

from collections import Counter
from types import SimpleNamespace

import pytest

from orchestrator.grid.load import load_grid
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
    grid = SimpleNamespace(sweep="s", cells=planned, searches=[])
    answer = {"keys": keys, "figures": [], "pages": []}
    lines = dict(_next_commands(grid, planned, Store(str(tmp_path)), [], Counter(ok=ok), 0, answer))
    assert told in lines["figure"] if told else "figure" not in lines
    assert lines["report"].split(" --results")[0].endswith("report --sweep s")
    assert ("avg(d_lr) AS d_lr" in lines["query"]) == (save == ["d_lr"] and ok > 0)


def test_figures_and_pages_about_these_networks_are_named(tmp_path):
    cell = cell_of(SameDifferent(L=3, d=4), width=8, gamma=1.0, seed=0)
    planned = [PlannedCell(cell.cell_id, cell, frozenset())]
    answer = {"keys": ["L"], "figures": ["Lstar"], "pages": ["dimension", "relations"]}
    grid = SimpleNamespace(sweep="s", cells=planned, searches=[])
    lines = _next_commands(grid, planned, Store(str(tmp_path)), [], Counter(ok=1), 0, answer)
    assert [name for name, _ in lines] == ["query", "figure", "figure", "report", "app"]
    assert "Lstar --sweep s" in lines[1][1] and "curve --sweep s" in lines[2][1]  # the figure meant for them comes first
    assert lines[4][1].endswith("  (see also Dimension, Relations)")


def test_the_query_has_the_metric_that_the_grid_asks_for(tmp_path):
    cell = cell_of(SameDifferent(L=3, d=4), width=8, gamma=1.0, seed=0)
    planned = [PlannedCell(cell.cell_id, cell, frozenset({"balance_drift", "curves"}))]
    answer = {"keys": ["L"], "figures": [], "pages": []}
    grid = SimpleNamespace(sweep="s", cells=planned, searches=[])
    lines = dict(_next_commands(grid, planned, Store(str(tmp_path)), [], Counter(ok=1), 0, answer))
    assert "avg(best_test_acc) AS acc, avg(balance_drift) AS balance_drift FROM" in lines["query"]


def test_the_query_of_a_search_has_the_metric_that_it_searched_along(tmp_path):
    path = tmp_path / "g.yaml"
    find = "{axis: L, range: [2, 9], at: 0.8, metric: final_test_acc}"
    path.write_text(f"sweep: s\ngrids: [{{task: same_different, d: 8, width: 8, gamma: 1, seed: 0, find: {find}}}]\n")
    grid = load_grid(path)
    answer = {"keys": ["L"], "figures": [], "pages": []}
    lines = dict(_next_commands(grid, grid.cells, Store(str(tmp_path)), [], Counter(ok=1), 0, answer))
    assert "avg(final_test_acc) AS final_test_acc FROM" in lines["query"] and "best_test_acc" not in lines["query"]
