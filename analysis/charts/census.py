"""Numbers of networks for each pair of values of two keys."""

from collections.abc import Mapping
from typing import Any

import altair as alt
import pandas as pd

from analysis.charts.curves import styled
from analysis.data.keys import gamma_once, title_of
from analysis.data.selection import Selection, axes
from sweepkit.console.words import shown
from sweepkit.declarations.columns import Column, Key
from sweepkit.declarations.keys import KEYS
from sweepkit.store.sql import quoted
from sweepkit.store.views import declared, run

MOST_VALUES = 60
"""Most values of a key that a map can show legibly."""


def keys_of(results: str, selection: Selection) -> list[str]:
    """Keys with 2 to MOST_VALUES values among the selected networks: first sizes and other numbers of tasks and networks, then
    those of trainings, then words, and last lengths and how networks are evaluated. Those with most values lead each kind; keys
    that networks have or lack, with one value, come after all others."""
    found = {key: values for key, values in axes(results, selection).items() if 1 < len(values) <= MOST_VALUES}
    known, n = declared(results), {key: sum(value is not None for value in values) for key, values in found.items()}
    return sorted(gamma_once(found, found), key=lambda key: (n[key] < 2, _rank(known.get(key)), -n[key]))


def _rank(column: Column | None) -> int:
    if not isinstance(column, Key) or not column.searched:
        return 3
    if column.kind in ("text", "truth") and not column.derived:
        return 2
    return int(column.part == "training")


def census(results: str, selection: Selection, x: str, y: str) -> pd.DataFrame:
    """One row per pair of values: x, y, and the numbers of networks ok, diverged and failed."""
    counts = ", ".join(f"count(*) FILTER (status = '{name}') AS {name}" for name in ("ok", "diverged", "failed"))
    gamma = ", min(gamma) AS by_gamma" if "gamma_label" in (x, y) else ""
    sql = (
        f"SELECT {quoted(x)}, {quoted(y)}, {counts}{gamma} FROM {selection.source} WHERE {selection.condition} "
        f"GROUP BY {quoted(x)}, {quoted(y)} ORDER BY ALL"
    )
    return run(results, lambda connection: connection.execute(sql).df())


def task_in(results: str, selection: Selection) -> str | None:
    """The task of the selected networks; None if they have several."""
    sql = f"SELECT min(task), max(task) FROM {selection.source} WHERE {selection.condition}"
    first, last = run(results, lambda connection: connection.execute(sql).fetchone()) or (None, None)
    return first if first == last else None


def census_chart(frame: pd.DataFrame, x: str, y: str, task: str | None = None, declared: Mapping[str, Column] = KEYS) -> Any:
    """Counts as text on coloured cells; a cell has a red frame if networks in it diverged or failed.

    task: the task of all networks, None if they have several; declared: the columns of the store, for their titles.
    """
    texts = frame.assign(
        **{key: frame[key].map(lambda v: "none" if pd.isna(v) else shown(v)) for key in (x, y)}, bad=frame.diverged + frame.failed
    )
    across = alt.X(f"{x}:N", sort=_order(frame, x), title=title_of(x, task, declared), axis=alt.Axis(labelAngle=0))
    down = alt.Y(f"{y}:N", sort=_order(frame, y)[::-1], title=title_of(y, task, declared))
    most = max(1, int(frame["ok"].max()))
    base = alt.Chart(texts).encode(x=across, y=down, tooltip=[x, y, "ok:Q", "diverged:Q", "failed:Q"])
    rects = base.mark_rect(strokeWidth=2).encode(
        color=alt.Color("ok:Q", title="networks", scale=alt.Scale(scheme="teals", domain=[0, most]), legend=None),
        stroke=alt.condition("datum.bad > 0", alt.value("#c2532d"), alt.value("white")),
    )
    words = base.mark_text(fontSize=10).encode(
        text="ok:Q", color=alt.condition(f"datum.ok > {0.6 * most}", alt.value("white"), alt.value("#333"))
    )
    return styled(alt.layer(rects, words).properties(width=alt.Step(34), height=alt.Step(24)))


def _order(frame: pd.DataFrame, key: str) -> list[str]:
    sorted_ = frame.sort_values("by_gamma" if key == "gamma_label" else key)
    return list(dict.fromkeys("none" if pd.isna(v) else shown(v) for v in sorted_[key]))
