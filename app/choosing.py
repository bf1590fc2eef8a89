"""What the pages beside theory share: reads kept until the store changes, what to look at, and the words about it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from analysis.measures import MEASURES
from analysis.paper import settings
from analysis.points import Points, Setting, counted, described, groups, in_order, n_seeds, with_intervals
from analysis.scaling import thresholds
from analysis.selection import VERSION, Selection, Value
from analysis.statistics import Interval
from app.setting import name, one
from app.shared import choice, remembered, sweep_choice

ACCURACIES = ("best_test_acc", "final_test_acc")
NAMED = ("task", "network", "gamma_label", "L", "P", "d", "sigma2", "patches", "patch_size", "blur", "layer", "width1",
         "width", "scaling", "kappa", "steps", "prefactor", "dtype", "base_lr", VERSION)  # fmt: skip
"""Keys that a caption tells of, where they are fixed to a value."""


def grouped(results: str, selection: Selection, measure: str) -> Points:
    """`groups`, kept until the store changes."""
    return remembered(groups, results, selection, measure)


def measured(results: str, selection: Selection, measure: str) -> Points:
    """`points`, kept likewise."""
    return remembered(_measured, results, selection, measure)


def _measured(results: str, selection: Selection, measure: str) -> Points:
    found = grouped(results, selection, measure)
    return found._replace(frame=with_intervals(found.frame, found.measure))


def crossings(results: str, selection: Selection, setting: Setting, measure: str, level: float, over: str) -> pd.DataFrame:
    """`thresholds` of the curves of one setting of a selection, kept likewise."""
    return remembered(_crossings, results, selection, tuple(setting.values.items()), measure, level, over)


def _crossings(
    results: str, selection: Selection, values: tuple[tuple[str, Value], ...], measure: str, level: float, over: str
) -> pd.DataFrame:
    frame = grouped(results, selection, measure).frame
    for key, value in values:
        frame = frame[frame[key].isna() if value is None else frame[key] == value]
    return thresholds(frame, level, over)


def measure_choice(names: Sequence[str], **more: Any) -> str:
    """One of some measures; the same key and words on all pages, so that it lasts from one to the next."""
    return str(choice("Measure", names, key="measure", format_func=lambda key: MEASURES[key].title, **more))


def accuracy_choice() -> str:
    """Which test accuracy."""
    return measure_choice(ACCURACIES, width=190)


def task_choice(results: str) -> Selection:
    """The sweep and, of several, the task."""
    selection = sweep_choice(results)
    frame = grouped(results, selection, "best_test_acc").frame
    tasks = in_order(frame, "task") if "task" in frame else []
    if len(tasks) > 1:
        selection = selection.only({"task": choice("Task", tasks, "same_different", key=name("task"), width=170)})
    return selection


def lacking(found: Points, least: Mapping[str, int], grids: str) -> bool:
    """Whether the points have too few values of some keys; says so, and what would yield them."""
    counts = {key: found.frame[key].nunique() if key in found.keys else 0 for key in least}
    short = [f"{least[key]} values of {key}" + (f" (there is {n})" if n else "") for key, n in counts.items() if n < least[key]]
    if short:
        tasks = ", ".join(in_order(found.frame, "task")) if "task" in found.keys else "the selected networks"
        st.info(f"This page needs finished networks at {' and '.join(short)}; {tasks} have none such yet. {grids} yields some.")
    return bool(short)


def rest(found: Points, axes: Iterable[str], prefer: Mapping[str, Value] | None = None) -> Setting:
    """The points of one setting of every key but `axes`: a select box for each that varies."""
    tasks = in_order(found.frame, "task") if "task" in found.frame else []
    paper = settings(tasks[0] if len(tasks) == 1 else None)
    return one(found, axes, paper | {"sigma2": 0.0} | dict(prefer or {}), width=170)


def number(label: str, low: float, high: float, default: float, step: float, key: str, **more: Any) -> float:
    """A number that lives in the URL."""
    more = {"width": 150} | more
    return float(st.number_input(label, low, high, default, step, key=key, bind="query-params", persist_state="session", **more))


def interval_text(interval: Interval, digits: int = 2, sign: str = "") -> str:
    """`1.09 (0.85 to 1.34)`."""
    value, low, high = (f"{number:{sign}.{digits}f}" for number in interval[:3])
    return value if pd.isna(interval.low) else f"{value} ({low} to {high})"


def about(setting: Setting, *more: str) -> str:
    """A caption: what is fixed, how many networks, and more."""
    frame, fixed = setting.frame, NAMED
    text = "; ".join(
        filter(
            None,
            [described(setting.values, fixed), f"{counted(int(frame['n'].sum()), 'network')}, {n_seeds(frame)} a point", *more],
        )
    )
    return text.replace("gamma_label", "gamma") + "."
