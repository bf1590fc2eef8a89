"""The columns that a table of networks shows first."""

from analysis.data.networks.listing import MOST_ASKED, offered
from analysis.data.selection import Selection
from declarations.metric import Metric
from store.store import Store
from tests.store_rows import row


def stored(tmp_path, *asked):
    """A store whose networks have these metrics by request."""
    named = [Metric(name, name, on_request=True) for name in asked]
    Store(str(tmp_path)).commit("p", [row(i, L=2 + i, **dict.fromkeys(asked, 0.5)) for i in range(3)], named)
    return offered(str(tmp_path), Selection()).first(some_bad=False)


def test_metrics_that_a_grid_asked_for_stand_among_the_results(tmp_path):
    columns = stored(tmp_path, "edge", "sharpness")
    assert {"best_test_acc", "edge", "sharpness"} <= {*columns} and columns.index("sharpness") < columns.index("L")


def test_many_metrics_asked_for_are_left_to_choose(tmp_path):
    many = [f"metric{i}" for i in range(MOST_ASKED + 1)]
    assert not {*many} & {*stored(tmp_path, *many)}
