"""The first chart of every sweep whose networks are kept in evidence/."""

from pathlib import Path

from analysis.asked_chart import asked_points, look_for
from analysis.charts.explore import Choices, explore
from analysis.data.choosing import axes_of, having, measures_of, rest_beside, settled
from analysis.data.keys import with_gamma
from analysis.data.selection import Selection
from sweepkit.store.views import fetch

EVIDENCE = str(Path(__file__).parents[3] / "evidence")


def test_a_first_curve_joins_networks_that_differ_in_the_axis_alone_or_in_what_it_names():
    """Along each curve of a first chart, no key has two values but the abscissa and those that its axis and caption name."""
    mixed, along, n_charts = {}, {}, 0
    for (sweep,) in fetch(EVIDENCE, "SELECT DISTINCT sweep FROM plans ORDER BY sweep"):
        selection = Selection(sweep)
        points = asked_points(EVIDENCE, selection, None) if measures_of(EVIDENCE, selection) else None
        if points is None or not axes_of(points).numbers:
            continue
        look = look_for(EVIDENCE, points, None, None, None)
        axes = [key for key in (look.x, look.colour, look.facet) if key]
        there = having(points, look.x)
        setting = settled(there, rest_beside(there, axes), {})
        found = explore(EVIDENCE, selection, points, Choices(look, tuple(setting.items()), theory=False))
        data, n_charts = found.drawn.points, n_charts + 1
        apart = [key for key in axes if key != look.x]
        curves = data.groupby(apart, dropna=False) if apart else data.groupby(lambda row: 0)
        others = [key for key in points.keys if key in data and key not in with_gamma([*axes, "gamma_label"])]
        vary = [key for key in others if (curves[key].nunique(dropna=False) > 1).any()]
        along[sweep] = {key for key in vary if f"{key} changes along with {look.x}: " in found.caption}
        mixed[sweep] = {*vary} - along[sweep]
        assert all(f"{key}" in found.chart.to_dict().__str__() for key in along[sweep])
        assert not data.duplicated(axes).any(), sweep
    assert n_charts > 40 and not {sweep: keys for sweep, keys in mixed.items() if keys}
    # Grids that set the one by the other.
    assert {sweep: keys for sweep, keys in along.items() if keys} == {"parity-quick": {"P"}, "richness_spectra": {"eval_every"}}
