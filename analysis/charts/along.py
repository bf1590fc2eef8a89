"""Metrics along training: means over seeds at each evaluation, as points whose abscissa is the training step."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from analysis.charts.captions import joined
from analysis.charts.curves import Look, curves_chart
from analysis.charts.explore import Explored, Layers, legible
from analysis.data.keys import spoken
from analysis.data.networks.evaluations import STEP, in_order_along
from analysis.data.parts import with_parts
from analysis.data.points import Points, averaged, groups, in_order, with_intervals
from analysis.data.selection import Selection, finite, statistics_sql
from analysis.overlays import overlays
from sweepkit.console.words import counted, listed
from sweepkit.declarations.columns import Key, Metric
from sweepkit.declarations.metrics import STATISTICS
from sweepkit.stats import LEAST_MEDIAN
from sweepkit.store.sql import quoted
from sweepkit.store.views import declared, run

MOST_CURVES = 8
"""Most curves in a panel: of more values of a key, some are shown, evenly chosen."""
MOST_PANELS = 6
_TITLED = {STEP: Key(STEP, "training step", "whole")}


def evaluated(results: str, selection: Selection) -> dict[str, Metric]:
    """The metrics along training that the saved curves of these networks hold, by name, the main one first; empty if no curve was
    saved."""

    known = declared(results)

    def work(connection: Any) -> list[str]:
        names = list(in_order_along(known, [name for name, *_ in connection.execute("DESCRIBE curves").fetchall()]))
        counts = ", ".join(f"count({quoted(name)})" for name in names)
        sql = f"SELECT {counts} FROM curves WHERE cell_id IN ({cells_of(selection)})"
        return [name for name, n in zip(names, connection.execute(sql).fetchone(), strict=True) if n]

    return in_order_along(known, run(results, work))


def points_along(results: str, selection: Selection, metric: Metric) -> Points:
    """The points of the networks whose saved curves hold this metric along training. Points of a measure would leave out networks
    that have the metric and not the measure, and these would then be averaged in."""
    held = f"cell_id IN (SELECT cell_id FROM curves WHERE isfinite({quoted(metric.name)}))"
    one = replace(metric, per="network", column="", expression="1.0")
    return groups(results, replace(selection, limits=" AND ".join(filter(None, [selection.limits, held]))), one)


def tasks_without_along(results: str, selection: Selection, metric: Metric) -> dict[str, int]:
    """By task, the number of selected networks that finished, of tasks none of whose networks has this metric along training."""
    sql = f"""SELECT task, count(DISTINCT cell_id) AS n FROM {selection.source} LEFT JOIN curves USING (cell_id)
WHERE {selection.condition} AND status = 'ok' AND task IS NOT NULL
GROUP BY task HAVING count({quoted(metric.name)}) = 0 ORDER BY task"""
    return dict(run(results, lambda connection: connection.execute(sql).fetchall()))


def cells_of(selection: Selection) -> str:
    """SQL with the ids of the networks of a selection that finished."""
    return f"SELECT cell_id FROM {selection.source} WHERE {selection.condition} AND status = 'ok'"


def _sql(selection: Selection, metric: Metric, keys: Iterable[str]) -> str:
    """SQL with one row per evaluation and group of networks that differ in their seed only."""
    groups = ", ".join([*(f"chosen.{quoted(key)}" for key in keys), "curves.step"])
    value = f"curves.{quoted(metric.name)}"
    n, median, seeds = (finite(what, value, ok=False) for what in ("count", "median", "list"))  # all chosen ones finished
    return f"""SELECT {groups}, {statistics_sql(value, ok=False)},
    {median} AS median, CASE WHEN {n} >= {LEAST_MEDIAN} THEN {seeds} END AS seeds
FROM (SELECT cells.* FROM {selection.source} WHERE {selection.condition} AND status = 'ok') AS chosen
JOIN curves USING (cell_id)
GROUP BY {groups}
HAVING {n} > 0
ORDER BY {groups}"""


def groups_along(results: str, selection: Selection, metric: Metric, keys: Iterable[str]) -> tuple[pd.DataFrame, str]:
    """A metric along training: one row per evaluation and group of networks that differ in their seed only, for `with_intervals`;
    and its SQL."""
    sql = _sql(selection, metric, keys)
    return run(results, lambda connection: connection.execute(sql).df()), sql


def along(
    results: str,
    selection: Selection,
    metric: Metric,
    look: Look,
    keys: Sequence[str],
    told: Sequence[str],
    missing: Sequence[str],
    centre: str = "mean",
    intervals: bool = True,
    with_theory: Mapping[str, Any] | None = None,
) -> Explored | None:
    """The chart of a metric along training for the networks of a selection, in which only the keys of `look` and the seed
    vary; None if no curve was saved.

    keys: those of the networks, all of which have one value in each curve; told, missing: parts of the caption, about these
    networks and about others. Of many curves and panels, some are shown. with_theory: the values of all other keys, for theories
    whose arguments include `step`; None draws no theory.
    """
    axes = [key for key in (look.colour, look.facet) if key]
    frame, sql = groups_along(results, selection, metric, keys)
    if frame.empty:
        return None
    frame = legible(frame.assign(**{key: with_parts(frame)[key] for key in axes if key in ("network", "training")}), axes)
    frame, fewer = _some(frame, look.facet, MOST_PANELS)
    frame, fewer_curves = _some(frame, look.colour, MOST_CURVES)
    data = with_intervals(frame, metric, centre)
    drawn = data if intervals else data.assign(low=np.nan, high=np.nan)
    look = replace(look, x=STEP, residual=False, declared={**look.declared, **_TITLED})
    if look.log_x:
        drawn = drawn[drawn[STEP] > 0]
    n = int(data.groupby([*keys], dropna=False)["n"].max().sum())
    parts = [*told, averaged(data, centre, intervals), counted(n, "network"), *fewer, *fewer_curves]
    table = data[[*keys, STEP, *STATISTICS]].drop(columns="diverged")
    theory = None
    if with_theory is not None:
        whole = drawn.assign(**{key: value for key, value in with_theory.items() if key not in drawn})
        theory = overlays.curves(whole, metric.name, STEP, [look.facet] if look.facet else [])
        parts += [f"dashed: {listed(theory['theory'].unique())} at each step"] if len(theory) else []
    chart = curves_chart(drawn, metric, look, theory, centre=centre)
    return Explored(chart, table, joined([*parts, *missing]), [], sql, Layers(drawn, theory, None, None), selection)


def _some(frame: pd.DataFrame, key: str | None, most: int) -> tuple[pd.DataFrame, list[str]]:
    """The rows of at most this many values of a key, evenly chosen among them; and words about what was left out."""
    values = in_order(frame, key) if key else []
    if len(values) <= most:
        return frame, []
    kept = [values[i] for i in np.unique(np.linspace(0, len(values) - 1, most).round().astype(int))]
    return frame[frame[key].isin(kept)], [f"{len(kept)} of {len(values)} values of {spoken(str(key))} shown"]
