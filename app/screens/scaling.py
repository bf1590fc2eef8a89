"""How many training symbols (or samples) suffice, how that number grows with another key, and whether curves collapse."""

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from analysis.charts import title_of
from analysis.paper import LEVEL
from analysis.points import Points, Setting, grouping_keys, in_order, numeric_keys, shown, task_of
from analysis.predictions import Prediction, compared
from analysis.scaling import Exponent, exponents, fitted, threshold_table
from analysis.scaling_charts import exponent_chart, threshold_chart
from app.choosing import about, accuracy_choice, crossings, grouped, interval_text, number, rest, task_choice
from app.collapse import collapse
from app.shared import NONE, choice, downloads, figure, switch

GRIDS = "`grids/fig1e_lazy.yaml`, `grids/fig1b_rich.yaml` or, a little of both, `grids/quick.yaml`"


def show(results: str) -> None:
    """The page."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        selection, measure = task_choice(results), accuracy_choice()
        found = grouped(results, selection, measure)
        numbers = numeric_keys(found)
        if len(numbers) < 2:
            st.info(
                f"Thresholds of accuracies need networks at several values of two keys, such as L and d. {GRIDS} yields some. "
                "Those of networks at equilibrium are not shown here: `python -m analysis.figures Nstar` draws P*(d)."
            )
            return
        over = choice("Threshold over", numbers, "L" if "L" in numbers else "P", key="over", width=140)
        against = choice("against", [key for key in numbers if key != over], "d", key="against", width=140)
        groups = [key for key in grouping_keys(found, over, against) if key != "gamma_label" or "gamma" not in (over, against)]
        by = choice(
            "Colour",
            [NONE, *groups],
            groups[0] if groups else NONE,
            key="colour",
            format_func=lambda key: title_of(key, task_of(found.frame)),
            width=140,
        )
        by = None if by == NONE else by
        setting = rest(found, {over, against, *([by] if by else [])})
        level = number("Accuracy that suffices", 0.5, 1.0, LEVEL, 0.01, "level")
    frame = crossings(results, selection, setting, measure, level, over)
    if frame.empty:
        st.info(f"No curve has two values of {over} in this setting, which a threshold needs. {GRIDS} yields some.")
        return
    _thresholds(frame, setting, found, over, against, by, level)
    collapse(setting, over, against, by, found.measure.title)


def _thresholds(
    frame: pd.DataFrame, setting: Setting, found: Points, over: str, against: str, by: str | None, level: float
) -> None:
    values = sorted(frame[against].unique().tolist())
    with st.container(horizontal=True, vertical_alignment="bottom"):
        within = (values[0], values[-1])
        if len(values) > 2:
            within = st.select_slider(
                f"Fitted from {against}", values, within, key=f"fit_{against}", format_func=shown, width=380, bind="query-params"
            )
        offset = switch("With an offset, c + A x^b", False, "offset")
    laws = fitted(frame, over, against, by, within, offset)
    fits, said, problems = laws
    table = threshold_table(frame, [*([by] if by else []), *(["gamma"] if by == "gamma_label" else []), against])
    chart = threshold_chart(table, over, against, by, fits, said, task=task_of(setting.frame))
    left, right = st.columns([2, 1])
    with left:
        figure(chart)
    with right:
        values = in_order(frame, by) if by else [None]
        for value in values:
            if value in fits:
                _say(value, by, fits[value], said.get(value), over, against)
        for why in dict.fromkeys(problems.values()):
            of = [shown(value) for value, problem in problems.items() if problem == why]
            st.markdown(f"No exponent{f' at {_title(by)} = ' + ', '.join(of) if by else ''}: {why}.")
    reached = int((table["state"] == "reached").sum())
    st.caption(about(setting, f"{over}*: mean accuracy {level:g}, 95% intervals, {reached} of {len(table)} curves reach it"))
    downloads(f"thresholds-{over}-{against}", table, chart, found.sql)
    with st.expander("Table of thresholds"):
        states = [t.describe(over) for t in frame["threshold"]]
        st.dataframe(table.replace({np.inf: np.nan, -np.inf: np.nan}).assign(**{"in words": states}), hide_index=True)
    if by and len(fits) > 1:
        st.subheader(f"The exponent by {_title(by)}", anchor=False)
        rows = exponents(laws, frame, by, against, within)
        curve = exponent_chart(rows, by, over, against, task=task_of(setting.frame))
        figure(curve)
        st.caption(f"{over}* ~ {against}^exponent for {against} from {within[0]:g} to {within[1]:g}; ticks: predictions.")
        downloads(f"exponents-{over}-{against}", rows, curve)


def _title(by: str) -> str:
    return by.replace("_label", "")


def _say(value: Any, by: str | None, fit: Exponent, said: Prediction | None, over: str, against: str) -> None:
    name = "" if by is None else f"{_title(by)} = {shown(value)}: "
    text = f"**{name}{over}\\* ~ {against}^{interval_text(fit.interval)}**, n = {fit.n_used}"
    text += f" ({against} = {fit.law.x_low:g} to {fit.law.x_high:g})"
    if fit.law.offset:
        text += f", offset {interval_text(fit.law.offset, 1)}"
    st.markdown(f"{text}; {fit.censored}" + (f". Predicted: {said}; {compared(fit.interval, said)}." if said else "."))
