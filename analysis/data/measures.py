"""The measures of a store: its metrics that a chart can show."""

from collections.abc import Collection, Iterable, Mapping

from analysis.data.selection import grid_keys
from sweepkit.declarations.columns import Column, Metric
from sweepkit.declarations.metrics import METRICS
from sweepkit.store.views import declared

NOT_SHOWN = ("alignment_f_se", "acceptance")
"""Metrics that describe only how one network was sampled."""

MAIN = ("best_test_acc", "final_test_acc", "alignment_f", "test_mse")
"""The measures by which networks are first judged: accuracy, or the distance to real targets."""

LAST = "seconds"
"""A measure of the machine rather than of the network: it comes after all others."""

LAZINESS = "d_lr"
"""The measure of richness that is shown first [Nam26]."""
MEANINGS = {
    LAZINESS: "0: features vary along the outputs alone, as in the richest training; near 1: outputs use weak features",
    "d_lr_test": "the same on examples that training did not show",
    "d_lr_proj": "the same for the span of the outputs [Nam26 Eq. 4]",
    "s_init": "1: features have not changed since initialisation",
    "d_eff_rho": "directions along which features vary; in the richest training as many as outputs, two for one output",
    "d_eff_util": "directions that the output uses",
    "pi_hat_C": "height of the output's curve at the dashed line; 1 in the richest training",
    "pi_target_C": "height of the target's curve there; 1: the leading eigenfunctions suffice for the target",
    "const_overlap": "above 0.95 the first eigenfunction is the constant, which effective dimensions leave out",
    "nc1": "0: features of a class are a single point",
}
"""Meanings of the values of the metrics of richness, the main one first: the order in which they are listed everywhere."""


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
