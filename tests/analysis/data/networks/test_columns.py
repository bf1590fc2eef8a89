"""The columns that a table of networks shows first, and how many networks it has."""

from analysis.data.choosing import measures_of
from analysis.data.networks.listing import MOST_ASKED, AskedTable, listed, offered
from analysis.data.selection import Selection, axes
from sweepkit.declarations.columns import Metric
from sweepkit.store.store import Store
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


def several(tmp_path):
    """A store of networks of two L; one more diverged."""
    store = Store(str(tmp_path))
    store.prepare()
    store.commit("p", [*(row(i, L=2 + i % 2) for i in range(5)), row(5, L=3, status="diverged", reason="loss is nan")])
    return store.results


def test_one_pass_tells_what_each_question_tells_alone(tmp_path):
    results = several(tmp_path)
    for selection in (Selection(), Selection.of(L=2)):
        found = offered(results, selection)
        assert found.metrics == measures_of(results, selection) != []
        values = axes(results, selection)
        assert {"L"} <= {*found.varying} | {*found.fixed} <= {*values}
        assert all(values[key] == of for key, of in (found.varying | found.fixed).items())
        whole = AskedTable(selection)
        assert whole.takes_all(selection) and listed(results, whole, ("L",)).n == found.n == (3 if selection.where else 6)


def test_a_table_with_limits_counts_its_own_networks(tmp_path):
    results, every = several(tmp_path), Selection()
    for asked, n in (
        (AskedTable(every.only({"L": 2})), 3),
        (AskedTable(every, state="diverged"), 1),
        (AskedTable(every, text="so"), 0),
    ):
        assert not asked.takes_all(every)
        assert listed(results, asked, ("L",)).n == n
