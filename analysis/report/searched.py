"""The thresholds that a sweep searched for, and how they grow."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from analysis.data.keys import spoken
from analysis.data.questions import asked_of
from analysis.data.selection import Selection
from analysis.report.pictures import Picture, picture
from analysis.scaling.growth import answering, growth
from analysis.scaling.thresholds import threshold_table, thresholds
from sweepkit.console.words import shown
from sweepkit.store.searches import Question

MOST_ROWS = 30


class Searched(NamedTuple):
    """Thresholds in one parameter: their table as text, their chart over the parameter with which they grow, and exponents."""

    title: str
    heads: list[str]
    rows: list[list[str]]
    chart: Picture | None
    exponents: list[str]


def searched(results: str, selection: Selection) -> list[Searched]:
    """One entry for each question that a sweep asked and some networks answer."""
    return [found for question in asked_of(results, selection) if (found := _answer(results, selection, question)) is not None]


def _answer(results: str, selection: Selection, question: Question) -> Searched | None:
    over, level = question.axis, question.at
    found = answering(results, selection, question)
    if found is None:
        return None
    rows = thresholds(found.frame, level, over, question.falling, found.declared)
    if rows.empty:
        return None
    keys = [key for key in found.keys if key in rows and rows[key].nunique(dropna=False) > 1]
    keys = [key for key in keys if not (key == "gamma" and "gamma_label" in keys)]
    table = threshold_table(rows, keys)
    verb = "falls to" if question.falling else "reaches"
    title = f"The least {over} at which the mean {found.measure.title} {verb} {level:g}"
    heads = [*(spoken(key) for key in keys), f"{over}*", "95% interval", "seeds"]
    texts = [
        [*(_text(row[key]) for key in keys), _value(row), _interval(row), str(row["seeds"])]
        for row in table.head(MOST_ROWS).to_dict("records")
    ]
    law = growth(found, question, width=420, height=300)
    if law is None:
        return Searched(title, heads, texts, None, [])
    name = f"thresholds-{over}-{law.against}"
    chart = picture(f"{over}* against {law.against}", law.chart, law.table, law.caption, name)
    return Searched(title, heads, texts, chart, [f"{one}, {basis}" for one, basis in law.laws.items()])


def _text(value: object) -> str:
    return "not set" if value is None or pd.isna(value) else shown(value)  # type: ignore[call-overload]


def _value(row: Mapping[Any, Any]) -> str:
    return f"{row['threshold']:.4g}" if np.isfinite(row["threshold"]) else str(row["state"])


def _interval(row: Mapping[Any, Any]) -> str:
    if not np.isfinite(row["threshold"]):
        return ""
    ends = [f"{row[name]:.4g}" if np.isfinite(row[name]) else "open" for name in ("low", "high")]
    return "" if ends == ["open", "open"] else " to ".join(ends)
