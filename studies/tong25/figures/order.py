"""The figure of what the sign of the output hides: last accuracies by it beside AUC, from lazy to rich, on symbols and PSVRT."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import altair as alt
import pandas as pd

from analysis.charts.curves import Look, curves_chart, styled
from analysis.data.keys import captioned
from analysis.data.measures import knows
from analysis.data.points import Points, averaged, described, one_setting, points
from analysis.data.selection import Selection, Value
from analysis.data.usual import settings
from analysis.figures.drawn import Drawn, Figure, Missing
from sweepkit.console.words import counted

from .laws import NOISELESS

BY = "gamma_label"
SHOWN = {"final_test_acc": "last accuracy by the sign", "final_test_auc": "AUC"}


class Row(NamedTuple):
    """Networks of one task, a row of panels."""

    title: str
    over: str
    where: Mapping[str, Value | list[Value]]
    gammas: Sequence[str]


ROWS = (
    Row("16 symbols", "d", {**NOISELESS, "L": 16}, ("lazy", "0.05", "0.1", "0.25", "1")),
    Row("PSVRT, 5 patches a side", "L", {"task": "psvrt", "patches": 5}, ("lazy", "0.01", "0.1", "1")),
)


def _draw(results: str, sweep: str | None) -> Drawn | Missing:
    rows, frames, told, sql = [], [], [], []
    for row in ROWS:
        found = _points(results, sweep, row)
        if not found:
            continue
        rows.append(alt.hconcat(*(_panel(one, row) for one in found), spacing=25))
        frames += [one.frame.assign(networks=row.title, measure=one.measure.name) for one in found]
        sql.append(found[0].sql)
        values = {
            key: one.iloc[0] for key, one in found[0].frame.items() if one.nunique(dropna=False) == 1 and key in found[0].keys
        }
        named = described(values, captioned(values, found[0].declared))
        n = counted(int(found[0].frame["n"].sum()), "network")
        told.append(f"{row.title}: {named}; {averaged(found[0].frame)}, {n}")
    if not rows:
        return Missing("no networks from lazy to rich that have an AUC, at two d or L")
    frame = pd.concat(frames, ignore_index=True)
    shown = [name for name in ("networks", "measure", "L", "d", BY, "n", "mean", "low", "high") if name in frame]
    chart = styled(alt.vconcat(*rows, spacing=25).resolve_scale(color="independent"))
    return Drawn(chart, frame[shown], f"{'. '.join(told)}.", ";\n\n".join(sql))


def _points(results: str, sweep: str | None, row: Row) -> list[Points]:
    """The points of both measures in one setting; none if they do not vary along the row."""
    if not all(knows(results, name, (*row.where, row.over, BY)) for name in SHOWN):
        return []
    selection = Selection(sweep, limits="final_test_auc IS NOT NULL").only({**row.where, BY: list(row.gammas)})
    first = points(results, selection, next(iter(SHOWN)))
    if first.frame.empty or not {row.over, BY} <= {*first.keys} or first.frame[row.over].nunique() < 2:
        return []
    setting = one_setting(first.frame, first.keys, (row.over, BY), settings(str(row.where["task"])), first.declared)
    chosen = selection.only(setting.values)
    each = [points(results, chosen, name) for name in SHOWN]
    return [one._replace(measure=replace(one.measure, title=SHOWN[one.measure.name])) for one in each]


def _panel(found: Points, row: Row) -> Any:
    look = Look(row.over, BY, log_x=True, width=300, height=230, declared=found.declared)
    return curves_chart(found.frame, found.measure, look, bare=True).properties(title=row.title)


ORDER_FIGURES = [
    Figure("Order", "The sign of the output beside its order: last test accuracy and AUC, lazy to rich",
           "docs/science/findings.md", ("fig1c_1f L=16", "fig3b"), _draw),
]  # fmt: skip
