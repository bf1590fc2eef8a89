"""Metrics along training: means over seeds at each evaluation, as points whose abscissa is the training step."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from analysis.charts.curves import Look, curves_chart
from analysis.charts.explore import Explored, Layers, legible
from analysis.data.keys import spoken
from analysis.data.networks.evaluations import STEP
from analysis.data.parts import with_parts
from analysis.data.points import averaged, described, in_order, with_intervals
from analysis.data.selection import Selection, Value, finite, statistics_sql
from console.words import counted
from declarations.key import Key
from declarations.metric import Metric
from declarations.statistics import STATISTICS
from stats import LEAST_MEDIAN
from store.sql import quoted
from store.views import declared, run

_FIRST = ("test_acc", "eval_test_mse", "chain_alignment_f", "train_loss", "chain_train_mse")
"""Metrics along training in the order in which they are shown; the others follow as declared."""
MOST_CURVES = 8
"""Most curves in a panel: of more values of a key, some are shown, evenly chosen."""
MOST_PANELS = 6
_TITLED = {STEP: Key(STEP, "training step", "whole")}


class Evaluated(NamedTuple):
    """The metrics that the saved curves of some networks hold, by name, the main one first."""

    metrics: dict[str, Metric]

    def loss(self, main: str) -> str | None:
        """The error during training that goes with the main metric; None if none was saved."""
        return next((name for name in ("train_loss", "chain_train_mse") if name in self.metrics and name != main), None)


def evaluated(results: str, selection: Selection) -> Evaluated:
    """The metrics along training of these networks. Empty if no curve was saved."""
    along = {name: c for name, c in declared(results).items() if isinstance(c, Metric) and c.per == "evaluation" and name != STEP}

    def work(connection: Any) -> list[str]:
        there = {name for name, *_ in connection.execute("DESCRIBE curves").fetchall()}
        names = [name for name in along if name in there]
        counts = ", ".join(f"count({quoted(name)})" for name in names)
        sql = f"SELECT {counts} FROM curves WHERE cell_id IN ({cells_of(selection)})"
        counted_ones = connection.execute(sql).fetchone()
        return [name for name, n in zip(names, counted_ones, strict=True) if n]

    held = run(results, work)
    order = [*(name for name in _FIRST if name in held), *(name for name in held if name not in _FIRST)]
    return Evaluated({name: along[name] for name in order})


def cells_of(selection: Selection) -> str:
    """SQL with the ids of the networks of a selection that finished."""
    return f"SELECT cell_id FROM {selection.source} WHERE {selection.condition} AND status = 'ok'"


def _sql(selection: Selection, metric: Metric, keys: Iterable[str]) -> str:
    """SQL with one row per evaluation and group of networks that differ in their seed only."""
    names = ", ".join(f"chosen.{quoted(key)}" for key in keys)
    value = f"curves.{quoted(metric.name)}"
    n, median, seeds = (finite(what, value, ok=False) for what in ("count", "median", "list"))  # all chosen ones finished
    return f"""SELECT {names}, curves.step, {statistics_sql(value, ok=False)},
    {median} AS median, CASE WHEN {n} >= {LEAST_MEDIAN} THEN {seeds} END AS seeds
FROM (SELECT cells.* FROM {selection.source} WHERE {selection.condition} AND status = 'ok') AS chosen
JOIN curves USING (cell_id)
GROUP BY {names}, curves.step
HAVING {n} > 0
ORDER BY {names}, curves.step"""


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
    setting: Mapping[str, Value],
    centre: str = "mean",
    intervals: bool = True,
) -> Explored | None:
    """The chart of a metric along training for the networks of a selection, in which only the keys of `look` and the seed
    vary; None if no curve was saved.

    keys: those of the networks, all of which have one value in each curve; setting: the values to name in the caption. Of many
    curves and panels, some are shown.
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
    parts = [described(setting), averaged(data, centre, intervals), counted(n, "network"), *fewer, *fewer_curves]
    table = data[[*keys, STEP, *STATISTICS]].drop(columns="diverged")
    chart = curves_chart(drawn, metric, look, centre=centre)
    caption = "; ".join(part for part in parts if part) + "."
    return Explored(chart, table, caption, [], sql, Layers(drawn, None, None, None), selection)


def _some(frame: pd.DataFrame, key: str | None, most: int) -> tuple[pd.DataFrame, list[str]]:
    """The rows of at most this many values of a key, evenly chosen among them; and words about what was left out."""
    values = in_order(frame, key) if key else []
    if len(values) <= most:
        return frame, []
    kept = [values[i] for i in np.unique(np.linspace(0, len(values) - 1, most).round().astype(int))]
    return frame[frame[key].isin(kept)], [f"{len(kept)} of {len(values)} values of {spoken(str(key))} shown"]
