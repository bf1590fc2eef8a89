"""The Python lines beside a chart give the same points as the chart."""

import pandas as pd
import pytest

from analysis.charts.curves import Look
from analysis.charts.explore import Choices, explore
from analysis.data.choosing import axes_of, having, rest_of, settled, suggested
from analysis.data.comparing import named
from analysis.data.points import groups, one_setting
from analysis.data.selection import Selection
from analysis.python_lines import call_lines, plot_lines, rescaled_lines, sql_lines, threshold_lines
from analysis.scaling.rescaling import family, middle_of, rescaled
from analysis.scaling.thresholds import threshold_table, thresholds
from sweepkit.store.store import Store
from tests.measured_store import measured_store
from tests.store_rows import row


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    return str(measured_store(tmp_path_factory.mktemp("lines")))


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """Networks of several kinds; rows leave out what is the default, as those of the first networks do."""
    store = Store(str(tmp_path_factory.mktemp("mixed")))
    kinds = [{}, {"gamma": 0.1, "gamma_label": "0.1"}, {"network": "mlp", "gamma": None, "gamma_label": None}, {"d": 64}]
    cells = [
        row(100 * i + 10 * seed + L, L=L, seed=seed, **kind) for i, kind in enumerate(kinds) for L in (3, 4) for seed in (0, 1)
    ]
    store.commit("one", cells)
    store.write_plan('a "sweep"', [cell["cell_id"] for cell in cells], whole=True)
    return store.results


def value_of(lines):
    """What the last expression of the lines gives."""
    *before, last = lines.split("\n\n")
    names: dict = {}
    exec("\n".join(before), names)
    return eval(last, names)


def numbers_of(chart, x, by):
    """The points in a chart: abscissa, curve, n and mean."""
    rows = [row for data in chart.to_dict()["datasets"].values() for row in data if {"n", "mean", x, "sd"} <= row.keys()]
    return {(row[x], row.get(by), row["n"], round(row["mean"], 9)) for row in rows if "residual" not in row}


@pytest.mark.parametrize(
    ("store", "sweep", "changes"),
    [
        ("measured", None, {}),
        ("measured", "measured", {"x": "d", "colour": "L", "raw": True, "theory": False, "residual": True}),
        ("measured", None, {"x": "L", "colour": "gamma_label", "facet": "d", "log_x": True, "centre": "median", "theory": False}),
        ("mixed", 'a "sweep"', {}),
        ("mixed", None, {"x": "L", "colour": "network", "log_y": True, "intervals": False}),
        ("mixed", None, {"x": "L", "colour": None}),
    ],
)
def test_the_lines_of_a_chart_draw_its_points(request, store, sweep, changes):
    results, selection = request.getfixturevalue(store), Selection(sweep)
    points = named(groups(results, selection))
    x, colour = suggested(points, axes_of(points))
    options = {"x": x, "colour": colour} | changes
    of_choices = {name: options.pop(name) for name in ("raw", "theory", "centre", "intervals") if name in options}
    look = Look(**options, declared=points.declared)
    there, axes = having(points, look.x), [key for key in (look.x, look.colour, look.facet) if key]
    setting = settled(there, rest_of(there, axes), {})
    choices = Choices(look, tuple(setting.items()), **of_choices)
    found = explore(results, selection, points, choices)
    lines = plot_lines(results, selection, points, choices, found.drawn.points)
    drawn = value_of(lines.replace(".plot(", ".plot(wait=False, "))
    assert numbers_of(drawn, look.x, look.colour) == numbers_of(found.chart, look.x, look.colour) != set()
    logarithmic = "'type': 'log'"
    assert str(drawn.to_dict()).count(logarithmic) == str(found.chart.to_dict()).count(logarithmic)


def test_the_lines_of_a_chart_name_the_rate_at_which_networks_finished(tmp_path):
    """Networks that all diverged at another rate are no networks of the chart, also for those who run its query."""
    store = Store(str(tmp_path))
    fine = [row(10 * L + seed, L=L, base_lr=0.1, seed=seed) for L in (3, 4, 5) for seed in (0, 1)]
    lost = [row(900 + seed, "diverged", L=4, base_lr=1e30, seed=seed) for seed in (0, 1)]
    lost += [row(910, "diverged", L=5, network="mlp", base_lr=0.1, seed=0)]
    store.commit("one", [*fine, *lost])
    store.write_plan("lr", [one["cell_id"] for one in (*fine, *lost)], whole=True)
    selection = Selection("lr")
    points = named(groups(store.results, selection))
    choices = Choices(Look("L", declared=points.declared))
    found = explore(store.results, selection, points, choices)
    lines = plot_lines(store.results, selection, points, choices, found.drawn.points)
    assert 'where={"network": "relu2", "base_lr": 0.1}' in lines
    answer = value_of(sql_lines(store.results, found.sql))
    assert list(answer["n"]) == [2, 2, 2] and not answer["diverged"].any()
    drawn = value_of(lines.replace(".plot(", ".plot(wait=False, "))
    assert numbers_of(drawn, "L", None) == numbers_of(found.chart, "L", None) != set()


@pytest.mark.parametrize(("label", "by"), [("lazy", ["d"]), (None, ["d", "gamma_label"])])
def test_the_lines_of_thresholds_give_the_same(measured, label, by):
    selection = Selection("measured").only({"task": "same_different"})
    points = groups(measured, selection)
    found = one_setting(points.frame, points.keys, ["L", *by], {"gamma_label": label or "lazy", "sigma2": 0.0})
    expected = threshold_table(thresholds(found.frame, 0.85, "L"), by).sort_values(by, ignore_index=True)
    got = value_of(threshold_lines(measured, selection, points, found.values, "L", 0.85, by)).sort_values(by, ignore_index=True)
    pd.testing.assert_frame_equal(got[expected.columns], expected)
    of_law = value_of(threshold_lines(measured, selection, points, found.values, "L", 0.85, by, method="exponent"))
    assert len(of_law) == expected[by[1:]].drop_duplicates().shape[0] if by[1:] else len(of_law) == 1


def test_the_lines_of_a_collapse_give_its_points(measured):
    selection = Selection("measured").only({"task": "same_different"})
    points = groups(measured, selection)
    found = one_setting(points.frame, points.keys, ["L", "d"], {"gamma_label": "lazy", "sigma2": 0.0})
    curves = family(found.frame, "L", "d", points.measure)
    expected = rescaled(curves, 2.0).frame.sort_values(["d", "L"], ignore_index=True)
    lines = rescaled_lines(measured, selection, points, found.values, "L", "d", f'(points["d"] / {middle_of(curves)!r}) ** 2')
    names: dict = {}
    exec(lines, names)
    got = names["points"].sort_values(["d", "L"], ignore_index=True)
    assert list(got["rescaled"]) == pytest.approx(list(expected["rescaled"])) and list(got["n"]) == list(expected["n"])


def test_the_lines_of_a_query_give_its_answer(measured):
    sql = "SELECT L, count(*) AS n\nFROM cells WHERE gamma_label = 'lazy'\nGROUP BY L ORDER BY L"
    answers = [value_of(sql_lines(measured, query)) for query in (sql, sql.replace("\n", " "))]
    assert answers[0].equals(answers[1]) and len(answers[0])


def test_lines_name_only_what_is_no_default_and_are_not_long(measured):
    lines = call_lines("results", "plot", {"x": "L", "y": "m" * 60, "by": "gamma_label", "theory": True, "where": {}})
    assert (
        lines == f'from analysis import Results\n\nResults("results").plot(\n    x="L",\n    y="{"m" * 60}",\n    by="gamma",\n)'
    )
    assert call_lines("r", "claims", {}).endswith('Results("r").claims()')


@pytest.mark.parametrize("text", ['a "name"', "a\\b", "plain", "it's"])
def test_texts_stay_what_they_are(text):
    assert text == eval(call_lines(text, "claims", {}).split("Results(")[-1].removesuffix(").claims()"))
