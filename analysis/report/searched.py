"""The thresholds that a sweep searched for, and how they grow."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from analysis.asking import setting_for
from analysis.data.comparing import named
from analysis.data.keys import spoken, value_of
from analysis.data.points import Points, grouping_keys, numeric_keys, task_of
from analysis.report.pictures import Picture, picture
from analysis.scaling.charts import threshold_chart
from analysis.scaling.levels import levels
from analysis.scaling.thresholds import FEWEST_OF_LAW, Exponent, curves_of, fitted, threshold_table, thresholds
from console.words import shown


class Searched(NamedTuple):
    """Thresholds over one parameter: their table as text, their chart over the parameter with which they grow, and exponents."""

    title: str
    heads: list[str]
    rows: list[list[str]]
    chart: Picture | None
    exponents: list[str]


MOST_ROWS = 30
FEWEST_TRIED = 4
"""Least number of values that a search leaves on a curve."""


def searched(results: str, found: Points) -> list[Searched]:
    """One entry for each parameter about whose thresholds the networks lie as a search leaves them."""
    found = named(found)
    numbers = numeric_keys(found)
    return [one for over in numbers if (one := _over(found, over, numbers)) is not None]


def _over(found: Points, over: str, numbers: list[str]) -> Searched | None:
    frame = found.frame[found.frame[over] > 0]
    if over == "gamma" and "gamma_label" in frame:  # the lazy gamma lies far from all others without a search
        frame = frame[frame["gamma_label"] != "lazy"]
    if not _looks_searched(frame, over):
        return None
    level = levels(frame, found.measure, over)
    if not level.searched:
        return None
    rows = thresholds(frame, level.start, over, found.measure.falls, found.declared)
    if rows.empty:
        return None
    keys = [key for key in found.keys if key in rows and rows[key].nunique(dropna=False) > 1]
    keys = [key for key in keys if not (key == "gamma" and "gamma_label" in keys)]
    table = threshold_table(rows, keys)
    verb = "falls to" if found.measure.falls else "reaches"
    title = f"The least {over} at which the mean {found.measure.title} {verb} {level.start:g}"
    heads = [*(spoken(key) for key in keys), f"{over}*", "95% interval", "seeds"]
    texts = [
        [*(_text(row[key]) for key in keys), _value(row), _interval(row), str(row["n"])]
        for row in table.head(MOST_ROWS).to_dict("records")
    ]
    chart, laws = _law(found, frame, over, level.start, numbers)
    return Searched(title, heads, texts, chart, laws)


def _looks_searched(frame: pd.DataFrame, over: str) -> bool:
    """True if the curves have values of their own, as a search leaves them. A grid has the same ones for all curves, and an even
    one only looks as if its networks lay closer together at one end."""
    each = [frozenset(curve[over]) for _, curve in curves_of(frame, over)]
    if not each or np.median([len(values) for values in each]) < FEWEST_TRIED:
        return False
    if len(each) > 1:
        return len(set(each)) > 1
    steps = np.diff(np.sort([*each[0]]))
    return not np.allclose(steps, steps[0])


def _law(found: Points, frame: pd.DataFrame, over: str, level: float, numbers: list[str]) -> tuple[Picture | None, list[str]]:
    """The chart of thresholds against the parameter of which most have values, with the exponents, if there are three."""
    against = max((key for key in numbers if key != over), key=lambda key: frame[key].nunique(), default=None)
    if against is None or frame[against].nunique() < FEWEST_OF_LAW:
        return None, []
    groups = [key for key in grouping_keys(found._replace(frame=frame), over, against) if "gamma" not in (over, against)]
    by = groups[0] if groups and groups[0] not in numbers else None
    setting = setting_for(found._replace(frame=frame), [key for key in (over, against, by) if key])
    rows = thresholds(setting.frame, level, over, found.measure.falls, found.declared)
    if rows.empty or rows[against].nunique() < FEWEST_OF_LAW:
        return None, []
    laws = fitted(rows, over, against, by)
    told = [key for key in dict.fromkeys([by, *(["gamma"] if by == "gamma_label" else []), against]) if key and key in rows]
    table = threshold_table(rows, told)
    chart = threshold_chart(
        table, over, against, by, laws.fits, laws.predictions, task=task_of(frame), declared=found.declared, width=420, height=300
    )
    said = [_said(value, by, fit, over, against) for value, fit in laws.fits.items()]
    caption = f"{over}* at level {level:g}, with 95% intervals; lines are fitted laws, dashed ones predictions."
    return picture(f"{over}* against {against}", chart, table, caption, f"thresholds-{over}-{against}"), said


def _said(value: object, by: str | None, fit: Exponent, over: str, against: str) -> str:
    name = "" if by is None else f"{spoken(by)} = {value_of(by, value)}: "
    interval = f"{fit.interval.value:.2f} ({fit.interval.low:.2f} to {fit.interval.high:.2f})"
    return f"{name}{over}* ~ {against}^{interval}, n = {fit.n_used}; {fit.censored}"


def _text(value: object) -> str:
    return "not set" if value is None or pd.isna(value) else shown(value)  # type: ignore[call-overload]


def _value(row: Mapping[Any, Any]) -> str:
    return f"{row['threshold']:.4g}" if np.isfinite(row["threshold"]) else str(row["state"])


def _interval(row: Mapping[Any, Any]) -> str:
    if not np.isfinite(row["threshold"]):
        return ""
    ends = [f"{row[name]:.4g}" if np.isfinite(row[name]) else "open" for name in ("low", "high")]
    return "" if ends == ["open", "open"] else " to ".join(ends)
