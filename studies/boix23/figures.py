"""Figures of template tasks: how many strings networks need to tell relations on unseen symbols, and to copy one [Boix23]."""

from collections.abc import Mapping
from dataclasses import dataclass

from analysis.charts.curves import Look, curves_chart
from analysis.data.measures import knows
from analysis.data.points import averaged, points
from analysis.data.selection import Selection, Value
from analysis.figures.drawn import Drawn, Figure, Missing
from analysis.overlays import overlays
from sweepkit.declarations.metrics import STATISTICS

from .by_network import DECLARED, KINDS, LEVEL, OVER, SERIES, by_network, caption


@dataclass(frozen=True)
class OverStrings:
    """Curves over P of one measure for all networks on one set of templates."""

    where: Mapping[str, Value]
    measure: str

    def draw(self, results: str, sweep: str | None) -> Drawn | Missing:
        """The figure from the store; Missing if no network has two P."""
        missing = Missing("no networks at two P")
        if not knows(results, self.measure, self.where):
            return missing
        selection = Selection(sweep).only(self.where)
        found = points(results, selection, self.measure)
        drawn = by_network(found, selection)
        frame = drawn.frame
        if frame.empty:
            return missing
        look = Look(OVER, SERIES, log_x=True, level=LEVEL, kinds=KINDS, declared=DECLARED)
        theory = overlays.curves(frame, self.measure, OVER, [], wait=False)
        beside = overlays.beside(frame, self.measure, wait=False)
        chart = curves_chart(frame, found.measure, look, theory)
        table = overlays.joined(frame[[SERIES, OVER, *STATISTICS]], beside.values)
        text = caption(drawn, averaged(frame), f"dashed: {LEVEL:g}")
        return Drawn(chart, table, text, ";\n\n".join(drawn.queries), beside.missing)


TEMPLATE_FIGURES = [
    Figure(
        "Relations", "aba or abb on symbols never seen: error against training strings, by network", "[Boix23 Figs. 1c, 21, 24]",
        ("templates_quick", "templates_more"),
        OverStrings({"task": "template", "template": "aba/abb"}, "test_mse").draw,
    ),
    Figure(
        "Equality", "aa or ab on symbols never seen: error against training strings, by network",
        "[Boix23 App. B], the question of [Tong25]", ("templates_quick",),
        OverStrings({"task": "template", "template": "aa/ab"}, "test_mse").draw,
    ),
]  # fmt: skip
