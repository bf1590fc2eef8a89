"""The measures of a store: its metrics that a chart can show."""

from collections.abc import Iterable

from analysis.data.selection import grid_keys
from declarations.column import Column
from declarations.metric import Metric
from declarations.metrics import METRICS
from store.views import declared

NOT_SHOWN = ("alignment_f_se", "acceptance")
"""Metrics that describe only how one network was sampled."""

LAST = "seconds"
"""A measure of the machine rather than of the network: it comes after all others."""


def measures(results: str) -> dict[str, Metric]:
    """The metrics of a store that have one number per network, by name: the main ones first, users' own last."""
    return _numbers(declared(results).values())


def knows(results: str, measure: str, keys: Iterable[str] = ()) -> bool:
    """Whether a store has this measure, and columns for these keys: both may be those that a grid asked for."""
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
    return {name: found[name] for name in sorted(found, key=lambda name: (name == LAST, name not in METRICS))}


MEASURES = _numbers(METRICS.values())
"""The measures that every store has, by name: for code that runs before a store is named."""
