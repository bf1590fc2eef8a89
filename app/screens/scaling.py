"""How many training symbols or samples suffice, how that number grows with another key, and whether curves collapse."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from analysis.charts.curves import styled
from analysis.data.keys import spoken, title_of, value_of
from analysis.data.measures import measures
from analysis.data.points import Setting, grouping_keys, in_order, numeric_keys, task_of
from analysis.data.progress.showing import tasks_with_thresholds
from analysis.data.questions import asked_of
from analysis.data.source import declared
from analysis.python_lines import call_lines, figure_entry, law_options, threshold_lines, together
from analysis.scaling.charts import exponent_chart
from analysis.scaling.law_chart import law_chart
from analysis.scaling.opening import Laws
from analysis.scaling.predictions import Prediction, compared
from analysis.scaling.proportion import RATIO, by_proportion, proportions
from analysis.scaling.thresholds import Exponent, exponents, without_infinite, without_lazy
from app.choices import (
    AskedThreshold,
    about,
    crossings,
    grouped,
    interval_text,
    level_choice,
    measure_choice,
    nothing_yet,
    rest,
    started,
    task_choice,
    threshold_measures,
    unmixed,
)
from app.controls import NONE, check_link, choice, switch
from app.downloads import downloads
from app.parts.collapse import collapse
from app.parts.two_arms import two_arms
from app.shared import figure, remembered
from app.styles import controls_above, is_narrow
from sweepkit.console.words import shown


def show(results: str) -> None:
    """The page."""
    place = controls_above()
    with place:
        selection = task_choice(results, classifying=False, first=tasks_with_thresholds)
        names = threshold_measures(results, selection)
        # The page opens on the threshold that a sweep searched for.
        questions, known = remembered(asked_of, results, selection), remembered(measures, results)
        question = next((one for one in questions if one.metric in names and one.falling == known[one.metric].falls), None)
        if question:
            names = sorted(names, key=lambda name: name != question.metric)
        measure = measure_choice(results, names, width=220) if names else "best_test_acc"
    found = grouped(results, selection, measure)
    if "P" in found.keys:  # P = 0 is the prior alone, and has no logarithm
        found = found._replace(frame=found.frame[found.frame["P"].isna() | (found.frame["P"] > 0)])
    numbers = numeric_keys(found)
    if len(numbers) < 2:
        why = "a threshold needs finished networks at two values of one parameter, such as L; an exponent, at three of another"
        nothing_yet(results, "scaling", why)
        return
    sizes = [key for key in numbers if getattr(found.declared.get(key), "part", "") != "training"]
    if len(sizes) < 2 and not question:
        of = f"only {sizes[0]}" if sizes else "none"
        why = f"a law of scaling takes two sizes of tasks or networks that vary, such as L and d, and of these networks {of} does"
        nothing_yet(results, "scaling", why)
        return
    of_ratio, of_width = proportions(found)
    laws = Laws(by_proportion(found) if of_ratio > of_width else found)
    with place:
        searched = question.axis if question and measure == question.metric and question.axis in numbers else None
        over = choice("Threshold in", numbers, searched or laws.first_over(numbers, ("L", "P")), key="over", width=140)
        others = [key for key in numbers if key != over]
        against = choice("against", others, laws.first_against(over, others, "d"), key="against", width=140)
        if over != "width" and against == "d" and of_ratio > 1 and found.frame["width"].nunique() > 1:
            meaning = "Networks whose width grows with d are compared at one width/d; otherwise at one width."
            if switch("Width as d", of_ratio > of_width, "width_as_d", help=meaning):
                found = by_proportion(found)
        laws = Laws(found)
        groups = [key for key in grouping_keys(found, over, against) if key != "gamma_label" or "gamma" not in (over, against)]
        by = choice(
            "Colour",
            [NONE, *groups],
            NONE if groups[:1] == [RATIO] else laws.first_colour(over, against, groups) or NONE,
            key="colour",
            format_func=lambda key: title_of(key, task_of(found.frame), found.declared),
            width=140,
        )
        by = None if by == NONE else by
        setting = rest(found, {over, against, *([by] if by else [])}, among=laws.opening(over, against, by))
        if by and setting.frame[by].isna().all():
            st.caption(f"Without colours: these networks have no {spoken(by)}.")
            by = None
        first = started(results, selection, setting, measure, over)
        level = level_choice(found.measure, first)
    frame = crossings(results, selection, setting, measure, level, over)
    frame = without_lazy(frame) if against == "gamma" else frame
    if frame.empty or against not in frame:
        why = f"a threshold needs two values of {over} on a curve, and no curve of this configuration has them"
        why = why if frame.empty else f"networks of this configuration have no {spoken(against)}"
        nothing_yet(results, "scaling", why)
        return
    asked = AskedThreshold(over, against, by, found.measure, level)
    why = f"this level: {first.why}" if level == first.start else ""
    of_curves = partial(threshold_lines, results, selection, found, setting.values, over, level)
    lost = unmixed(results, selection, setting.frame)
    options = law_options(selection, found, setting.values, over, level, [against, *([by] if by else [])])
    fits = _thresholds(results, asked, frame, setting, why, lost, found.sql, of_curves, options)
    if by and RATIO not in frame:
        common = {key: options[key] for key in ("y", "sweep", "where", "of", "at")}
        two_arms(results, by, in_order(frame, by), [against], common, of_thresholds=True)
    collapse(results, selection, found, setting, asked, fits)
    check_link()


def _thresholds(
    results: str,
    asked: AskedThreshold,
    frame: pd.DataFrame,
    setting: Setting,
    why: str,
    lost: str,
    sql: str,
    python: Callable[..., str],
    options: Mapping[str, Any],
) -> Mapping[Any, Exponent]:
    """Show chart, laws and table of `crossings`; the fitted exponents by the values of the colour.

    why: words for why this level; lost: words for how many networks did not converge; sql: the query behind them; python: gives
    the Python lines, from the keys that tell curves apart and the method of Results; options: those of `Results.plot_threshold`.
    """
    over, against, by, measure, level = asked
    values = sorted(frame[against].unique().tolist())
    names: dict[float, str] = {}
    if against == "gamma" and "gamma_label" in frame:
        names = dict(zip(frame["gamma"].tolist(), frame["gamma_label"], strict=True))
    within, offset = (values[0], values[-1]), False
    if sum(threshold.is_reached for threshold in frame["threshold"]) > 1:
        with st.container(horizontal=True, vertical_alignment="bottom"):
            if len(values) > 2:
                within = st.select_slider(
                    f"Fitted from {against}", values, within, key=f"fit_{against}", width=380, bind="query-params",
                    format_func=lambda value: names.get(value, shown(value)),
                )  # fmt: skip
            offset = switch("With an offset, c + A x^b", False, "offset")
    named: dict[str, Any] = {"task": task_of(setting.frame), "declared": remembered(declared, results)}
    found = law_chart(frame, over, against, by, measure, within, offset, **named)
    fits, said, problems = found.laws
    chart, table = styled(found.panel), found.table
    fitted_values = [value for value in (in_order(frame, by) if by else [None]) if value in fits]
    few = is_narrow() or len(fitted_values) <= FEW_FITS
    left, right = st.columns([3, 2]) if few else (st.container(), st.container())
    with left:
        figure(chart)
    with right:
        if not few:
            _tell(fitted_values, str(by), fits, said, over, against)
        for value in fitted_values if few else ():
            _say(value, by, fits[value], said.get(value), over, against)
        for lacking in dict.fromkeys(problems.values()):
            of = [shown(value) for value, problem in problems.items() if problem == lacking]
            st.markdown(f"No exponent{f' at {spoken(by)} = ' + ', '.join(of) if by else ''}: {lacking}.")
    st.caption(about(results, setting, found.told(over, measure, level), why, *found.meanings, unmixed=lost))
    apart = [against, *([by] if by else [])]
    # Within narrower ends, with an offset, or at one proportion, `Results` fits no exponent: it gives the thresholds to fit.
    whole = within == (values[0], values[-1]) and not offset and RATIO not in frame
    of_fits = python(apart, method="exponent" if whole and fits else "threshold")
    lines_of_chart, name = of_fits, f"thresholds-{over}-{against}"
    if whole:
        lines_of_chart = together(call_lines(results, "plot_threshold", options), *([python(apart)] if fits else []), of_fits)
    downloads(name, table, chart, sql, lines_of_chart, listed=figure_entry(name, "threshold", options) if whole else None)
    with st.expander("Table of thresholds"):
        states = [t.describe(over) for t in frame["threshold"]]
        st.dataframe(without_infinite(table).assign(**{"in words": states}), hide_index=True, placeholder="")
    if by and len(fits) > 1:
        st.subheader(f"The exponent by {spoken(by)}", anchor=False)
        rows = exponents(found.laws, frame, by, against, within)
        curve = exponent_chart(rows, by, over, against, **named)
        figure(curve)
        st.caption(
            f"{over}* ~ {against}^exponent, fitted to those {against} from {within[0]:g} to {within[1]:g} at which the level is "
            "reached; ticks: predictions."
        )
        downloads(f"exponents-{over}-{against}", rows, curve, sql, of_fits)
    return fits


FEW_FITS = 4
"""Most exponents that are told in sentences; more are told in a table."""


def _tell(
    values: Sequence[Any], by: str, fits: Mapping[Any, Exponent], said: Mapping[Any, Prediction], over: str, against: str
) -> None:
    """The exponents as a table."""
    rows = [f"| {spoken(by)} | exponent of {over}\\* in {against} | fitted to | predicted | |", "|---|---|---|---|---|"]
    for value in values:
        fit, theory = fits[value], said.get(value)
        span = f"n = {fit.n_used}, {against} = {fit.law.x_low:g} to {fit.law.x_high:g}"
        beside = "" if fit.n_left_out == 0 else f"; {fit.censored}"
        told = f"{theory} | {compared(fit.interval, theory)}{beside}" if theory else f" | {beside.removeprefix('; ')}"
        rows.append(f"| {shown(value)} | **{interval_text(fit.interval)}** | {span} | {told} |")
    st.markdown("\n".join(rows))


def _say(value: Any, by: str | None, fit: Exponent, said: Prediction | None, over: str, against: str) -> None:
    name = "" if by is None else f"{spoken(by)} = {value_of(by, value)}: "
    text = f"**{name}{over}\\* ~ {against}^{interval_text(fit.interval)}**, n = {fit.n_used}"
    text += f" ({against} = {fit.law.x_low:g} to {fit.law.x_high:g})"
    if fit.law.offset:
        text += f", offset {interval_text(fit.law.offset, 1)}"
    st.markdown(f"{text}; {fit.censored}" + (f". Predicted: {said}; {compared(fit.interval, said)}." if said else "."))
