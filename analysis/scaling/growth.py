"""How the thresholds that a sweep searched for grow with another parameter."""

from typing import Any, NamedTuple

import pandas as pd

from analysis.asked_chart import setting_for
from analysis.data.choosing import is_number, measures_of
from analysis.data.comparing import named
from analysis.data.keys import captioned, spoken, value_of
from analysis.data.points import Points, Setting, described, grouping_keys, numeric_keys, points, task_of
from analysis.data.selection import Selection
from analysis.scaling.charts import OPEN, drawn_prediction, has_open, threshold_chart
from analysis.scaling.proportion import RATIO, by_proportion, proportions, width_as
from analysis.scaling.thresholds import Exponent, fitted, threshold_table, thresholds, without_lazy
from sweepkit.declarations.columns import Key
from sweepkit.stats import FEWEST_OF_LAW
from sweepkit.store.searches import Question


class ThresholdGrowth(NamedTuple):
    """Thresholds over the parameter `against`: their chart and its data, a caption, and a law in words for each curve with words
    about the thresholds that it rests on."""

    against: str
    chart: Any
    table: pd.DataFrame
    caption: str
    laws: dict[str, str]


def answering(results: str, selection: Selection, question: Question) -> Points | None:
    """The points among which a question looks for its thresholds; None if no network has its metric and its parameter."""
    if question.metric not in measures_of(results, selection):
        return None
    found, over = named(points(results, selection, question.metric)), question.axis
    if over not in found.frame or not is_number(found.frame[over]):
        return None
    frame = found.frame[found.frame[over] > 0]  # thresholds are found on a log axis
    return found._replace(frame=without_lazy(frame) if over == "gamma" else frame)


def growth(found: Points, question: Question, width: int, height: int) -> ThresholdGrowth | None:
    """The thresholds that a question asks for, against the parameter of the task, or else of the rest, of which most
    have values; None unless three have one."""
    over, level = question.axis, question.at
    of_ratio, of_width = proportions(found)
    if over != "width" and of_ratio > of_width:  # as page Scaling has it
        found = by_proportion(found)
    numbers, frame = numeric_keys(found), found.frame
    enough = [key for key in numbers if key != over and frame[key].nunique() >= FEWEST_OF_LAW]
    against = max(
        enough, key=lambda key: (getattr(found.declared.get(key), "part", "") == "task", frame[key].nunique()), default=None
    )
    if against is None:
        return None
    groups = [key for key in grouping_keys(found, over, against) if "gamma" not in (over, against)]
    by = groups[0] if groups and groups[0] not in numbers else None
    setting = setting_for(found, [key for key in (over, against, by) if key])
    rows = thresholds(setting.frame, level, over, question.falling, found.declared)
    if rows.empty or against not in rows or rows[against].nunique() < FEWEST_OF_LAW:
        return None
    laws = fitted(rows, over, against, by)
    told = [key for key in dict.fromkeys([by, *(["gamma"] if by == "gamma_label" else []), against]) if key and key in rows]
    table = threshold_table(rows, told)
    chart = threshold_chart(
        table, over, against, by, laws.fits, laws.predictions, task=task_of(frame), declared=found.declared, width=width,
        height=height,
    )  # fmt: skip
    said = dict(_said(value, by, fit, over, against) for value, fit in laws.fits.items())
    predicted = any(drawn_prediction(table, value, by) for value in laws.predictions)
    drawn = ["lines are fitted laws" if laws.fits else "", "dashed lines are predictions" if predicted else ""]
    parts = [
        _chosen(found, setting),
        width_as(ratio) if isinstance(ratio := setting.values.get(RATIO), float) else "",
        f"{over}*: mean {found.measure.title} {'falls to' if question.falling else 'reaches'} {level:g}, with 95% intervals",
        *drawn,
        OPEN if has_open(table) else "",
    ]
    return ThresholdGrowth(against, chart, table, f"{'; '.join(filter(None, parts))}.", said)


def _chosen(found: Points, setting: Setting) -> str:
    """The setting in words, as far as it tells these points from others: words of the task, and values of keys that vary."""
    values = {key: value for key, value in setting.values.items() if key != RATIO}

    def is_told(key: str) -> bool:
        column = found.declared.get(key)
        of_task = isinstance(column, Key) and column.part == "task" and column.kind == "text"
        return of_task or found.frame[key].nunique() > 1

    return described(values, [key for key in captioned(values, found.declared) if is_told(key)])


def _said(value: object, by: str | None, fit: Exponent, over: str, against: str) -> tuple[str, str]:
    name = "" if by is None else f"{spoken(by)} = {value_of(by, value)}: "
    interval = f"{fit.interval.value:.2f} ({fit.interval.low:.2f} to {fit.interval.high:.2f})"
    return f"{name}{over}* ~ {against}^{interval}", f"n = {fit.n_used}; {fit.censored}"
