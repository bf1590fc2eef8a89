"""The configurations of a sweep, which are its networks but for the seed: the keys that tell them apart, and their means."""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import pandas as pd

from analysis.data.comparing import PARTS, named
from analysis.data.keys import gamma_once, ordering
from analysis.data.measures import last_of, measures
from analysis.data.parts import with_losses, with_parts
from analysis.data.points import Points, points
from analysis.data.selection import Selection, grid_keys, tasks_without
from sweepkit.declarations.columns import Metric
from sweepkit.store.sql import quoted
from sweepkit.store.views import run


class Means(NamedTuple):
    """The configurations that have a metric, one row each: keys, n, mean, low, high, last, diverged and failed."""

    measure: Metric
    frame: pd.DataFrame
    """Its index is that of the points of this metric."""


def telling_keys(results: str, sweep: str) -> list[str]:
    """The keys that tell the configurations of a sweep apart, failed ones among them. Keys that follow from the task, network or
    training are left out."""
    selection, keys = Selection(sweep), gamma_once(known := grid_keys(results), known)
    sql = f"SELECT DISTINCT {', '.join(map(quoted, keys))} FROM {selection.source} WHERE {selection.condition}"
    frame = run(results, lambda connection: connection.execute(sql).df())
    vary = [key for key in keys if frame[key].nunique(dropna=False) > 1]
    parts = [key for key in PARTS if key in vary]
    if not parts:
        return vary
    by_part = frame.groupby(parts, dropna=False)
    return [key for key in vary if key in parts or by_part[key].nunique(dropna=False).max() > 1]


def means_of(results: str, sweep: str, measure: str, keys: Sequence[str]) -> Means:
    """The configurations of a sweep that have this metric; the columns of `keys` in which they differ come first, L last."""
    selection = Selection(sweep)
    there = points(results, selection, measure)
    others = tasks_without(results, selection, there.measure)  # whose networks stand in the table of another metric
    lost = there.lost[~there.lost["task"].isin(others)] if "task" in there.lost else there.lost
    found = named(there._replace(lost=lost).with_lost())
    shown = [key for key in keys if key in found.keys and found.frame[key].nunique(dropna=False) > 1]
    shown = [*(key for key in shown if key != "L"), *(key for key in shown if key == "L")]
    frame = found.frame.assign(last=_last(results, selection, found))
    order = [ordering(key, frame) for key in shown]
    frame = frame.sort_values(order, kind="stable") if order else frame
    frame = frame.assign(failed=_failed(results, selection, frame, shown, others))
    frame = with_losses(frame)
    return Means(found.measure, frame[[*shown, "n", "mean", "low", "high", "last", "diverged", "failed"]])


def _failed(results: str, selection: Selection, frame: pd.DataFrame, keys: Sequence[str], but: Collection[str]) -> list[int]:
    """The number of networks of each configuration that could not be trained, `but` those of some tasks."""
    names = ", ".join(map(quoted, grid_keys(results)))
    sql = f"SELECT {names} FROM {selection.source} WHERE {selection.condition} AND status = 'failed'"
    lost = run(results, lambda connection: connection.execute(sql).df())
    lost = with_parts(lost[~lost["task"].isin(but)]) if len(lost) else lost

    def told(rows: pd.DataFrame) -> list[tuple[Any, ...]]:
        return [tuple(None if pd.isna(row[key]) else row[key] for key in keys) for row in rows.to_dict("records")]

    counts = Counter(told(lost))
    return [counts[row] for row in told(frame)]


def _last(results: str, selection: Selection, found: Points) -> Any:
    """The mean of the last evaluation, for a metric that is the best of several; None for others."""
    name = last_of(found.measure.name, measures(results))
    if found.frame.empty or name is None:
        return None
    of_last = named(points(results, selection, name)).frame
    of_last = of_last.rename(columns={"mean": "last"}) if len(of_last) else of_last.reindex(columns=["last"])
    # Keys that only networks without the metric have, such as those that diverged on another task, tell none of these apart.
    shared = [key for key in found.keys if key in of_last]
    if not shared:  # no network has finished, or all have one configuration
        return of_last["last"].reindex(found.frame.index)
    return found.frame[shared].merge(of_last[[*shared, "last"]], on=shared, how="left")["last"]
