"""The measures of a store: its metrics that a chart can show."""

from collections.abc import Collection, Iterable, Mapping

from analysis.data.selection import grid_keys
from analysis.studies.gathered import Gathered
from analysis.studies.loading import studies
from sweepkit.declarations.columns import Column, Metric
from sweepkit.declarations.metrics import METRICS
from sweepkit.store.views import declared

NOT_SHOWN = ("alignment_f_se", "acceptance")
"""Metrics that describe only how one network was sampled."""

MAIN = ("best_test_acc", "final_test_acc", "alignment_f", "test_mse")
"""The measures by which networks are first judged: accuracy, or the distance to real targets."""

LAST = "seconds"
"""A measure of the machine rather than of the network: it comes after all others."""

MEANINGS = Gathered(lambda: {metric: meaning for study in studies() for metric, meaning in study.meanings.items()})
"""Meanings of the values of metrics on request, as the studies declare them: the order in which these are listed everywhere."""


def measures(results: str) -> dict[str, Metric]:
    """The metrics of a store that have one number per network, by name: the main ones, those of richness, then users' own."""
    return _numbers(declared(results).values())


def main_of(counts: Mapping[str, int]) -> str | None:
    """The first of MAIN that is not rare, by the number of networks that have each measure: at least three quarters as many have
    it as the commonest of MAIN. None if no network has any.

    Pages of one store so open with one measure, also if some networks have another one."""
    most = max((counts.get(name, 0) for name in MAIN), default=0)
    return next((name for name in MAIN if most and 4 * counts.get(name, 0) >= 3 * most), None)


def last_of(name: str, known: Collection[str]) -> str | None:
    """The metric of the last evaluation where `name` is the best of all evaluations: final_test_acc for best_test_acc. None for a
    metric that is no such best, and if its last is not among those known."""
    last = f"final_{name.removeprefix('best_')}"
    return last if name.startswith("best_") and last in known else None


def knows(results: str, measure: str, keys: Iterable[str] = ()) -> bool:
    """True if a store has this measure, and columns for these keys. Stores differ in what their grids asked for."""
    return measure in measures(results) and {*keys} <= {*grid_keys(results)}


def _numbers(columns: Iterable[Column]) -> dict[str, Metric]:
    found = {
        column.name: column
        for column in columns
        if isinstance(column, Metric)
        and column.per == "network"
        and column.kind in ("number", "single", "whole")
        and column.name not in NOT_SHOWN
    }
    richness = {name: place for place, name in enumerate(MEANINGS)}  # files have further columns in the order of the alphabet

    def place(name: str) -> tuple[bool, bool, int]:
        return name == LAST, name not in METRICS, richness.get(name, len(richness))

    return {name: found[name] for name in sorted(found, key=place)}


MEASURES = _numbers(METRICS.values())
"""The measures that every store has, by name: for code that runs before a store is named."""
