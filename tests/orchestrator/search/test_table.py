"""The table of thresholds: which keys it shows, and that it cuts nothing on narrow terminals."""

import io
from types import SimpleNamespace

import pytest
from rich.console import Console

from orchestrator.grid.load import load_grid
from orchestrator.search.table import print_thresholds, varying

GRID = """\
defaults: {{steps: 60, eval_every: 20, width: 8, base_lr: 0.1, seed: {{range: 3}}}}
grids:
  - {{task: same_different, {keys}, find: {{axis: L, at: 0.6, range: [2, 16], tolerance: 0.5}}}}
"""
NETWORKS = "network: [relu2, mlp, residual], gamma: 1, d: [4, 8]"


@pytest.fixture
def searches(tmp_path):
    def searches(keys: str):
        (tmp_path / "g.yaml").write_text(GRID.format(keys=keys))
        return load_grid(tmp_path / "g.yaml").searches

    return searches


def text(searches, width: int, terminal: bool) -> list[str]:
    found = SimpleNamespace(number="> 12345", bounds="below 2 to beyond 16", is_reached=True)
    state = SimpleNamespace(state="all seeds used", threshold=found, n_networks=21, equal_grid=21, goes_the_other_way=False)
    every = [SimpleNamespace(search=search, state=state, taken={i}) for i, search in enumerate(searches)]
    out = io.StringIO()
    print_thresholds(SimpleNamespace(all=every), Console(file=out, width=width, force_terminal=terminal, no_color=True))
    return out.getvalue().splitlines()


@pytest.mark.parametrize(
    ("keys", "shown"),
    [
        (NETWORKS, ["network", "d"]),
        (NETWORKS + ", depth: [1, 2]", ["network", "d", "depth"]),
        (NETWORKS + ", training: [sgd, adam]", ["network", "d", "training"]),
        ("network: mlp, d: 4, depth: [1, 2]", ["depth"]),
        ("gamma: [1, lazy], d: 4", ["gamma"]),
        ("gamma: 1, d: 4", ["d", "gamma", "task", "width"]),  # a single search says what it is about
    ],
)
def test_keys_that_the_name_of_a_network_or_training_says_are_left_out(searches, keys, shown):
    assert sorted(varying(searches(keys))) == sorted(shown)


WITHOUT_DEFAULT = """
sweep: s
defaults: {steps: 100, eval_every: 5, chains: 2, kappa: 0.1, width: 8, seed: 0}
grids:
  - {task: linear, d: [4, 8], network: linear2, find: {axis: P, metric: alignment_f, at: 0.5, range: [4, 16]}}
"""


def test_a_task_need_not_have_a_default_network(tmp_path):
    (tmp_path / "g.yaml").write_text(WITHOUT_DEFAULT)
    found = load_grid(tmp_path / "g.yaml").searches
    assert varying(found) == ["d"] and any("> 12345" in line for line in text(found, 80, terminal=False))


@pytest.mark.parametrize(("width", "terminal"), [(200, True), (80, True), (60, True), (30, True), (80, False), (30, False)])
def test_thresholds_and_axes_are_never_cut(searches, width, terminal):
    lines = text(searches(NETWORKS), width, terminal)
    rows = [line.split() for line in lines if "12345" in line]
    assert [row[:4] for row in rows] == [[name, d, ">", "12345"] for name in ("relu2", "mlp", "residual") for d in ("4", "8")]
    assert not any("…" in line for line in lines)
    assert any("a grid" in line for line in lines[:5]) == (not terminal or width == 200)
    if terminal and width >= 60:
        assert all(len(line) <= width for line in lines if "12345" in line)


def test_a_curve_that_falls_where_the_search_took_it_to_rise_is_said(searches):
    every = searches("gamma: [1, lazy], d: 4")
    out = io.StringIO()
    rows = [
        SimpleNamespace(search=search, taken={i}, state=SimpleNamespace(
            state="already reached", threshold=None, n_networks=4, equal_grid=4, goes_the_other_way=i == 0))
        for i, search in enumerate(every)
    ]  # fmt: skip
    print_thresholds(SimpleNamespace(all=rows), Console(file=out, width=300))
    said = "warning: best_test_acc falls along L in 1 of 2 searches, and `find` took it to rise"
    assert said in out.getvalue() and "write `falling: true` in `find`" in out.getvalue()


def test_a_search_under_way_is_set_beside_no_grid(searches):
    """The networks that a grid would need follow from where the search ends."""
    out = io.StringIO()
    found = SimpleNamespace(number="7", bounds="5 to 9", is_reached=True)
    state = SimpleNamespace(state="searching", threshold=found, n_networks=21, equal_grid=987, goes_the_other_way=False)
    rows = [SimpleNamespace(search=search, state=state, taken={0}) for search in searches("gamma: 1, d: 4")]
    print_thresholds(SimpleNamespace(all=rows), Console(file=out, width=300))
    assert " 21 " in out.getvalue() and "987" not in out.getvalue()
