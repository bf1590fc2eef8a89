"""Collapse, a part of page Scaling: curves over L at several d, for instance, are drawn over L / d^e, and curves over P in units
of the bound."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from analysis.data.keys import spoken
from analysis.data.points import Points, Setting, in_order, with_intervals
from analysis.data.selection import Selection
from analysis.data.source import declared
from analysis.python_lines import rescaled_lines
from analysis.scaling.charts import collapse_chart
from analysis.scaling.predictions import Prediction, at_sizes, predicted
from analysis.scaling.rescaling import Family, best, doubted, family, in_units, middle_of, rescaled
from analysis.scaling.thresholds import Exponent
from app.choices import AskedThreshold, interval_text, number
from app.controls import choice
from app.downloads import downloads
from app.shared import figure, remembered

GIVEN, BEST = "an exponent", "the best exponent"
LEAST, MOST = -4.0, 6.0
"""The range of exponents to choose from."""


def collapse(
    results: str, selection: Selection, found: Points, setting: Setting, asked: AskedThreshold, fits: Mapping[Any, Exponent]
) -> None:
    """Show the choice of curves and units, the curves before and after rescaling, and how well they collapse. `found`: the points
    that `setting` is part of; `fits`: the exponents fitted to thresholds, by the values of the colour, which open the choice."""
    st.subheader(
        "Collapse", anchor=False, help="S near 1: the curves fall together within their errors [Houdayer & Hartmann 2004]"
    )
    over, against, by, measure, level = asked
    data = with_intervals(setting.frame, measure)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        key, value = "exponent", None
        if by:
            values = in_order(data, by)
            first = next((value for value in values if _some_overlap(data[data[by] == value], asked, 0.0)), None)
            value = choice("Curves of " + spoken(by), values, first, key="collapse_of", width=170)
            data, key = data[data[by] == value], f"exponent_{value}"  # each group has its own prediction
            setting = setting._replace(values={**setting.values, by: value})
        theory = at_sizes(data, measure.name, over) if against == "d" and 0 < level < 1 else None
        ways = [GIVEN, BEST, *([theory.unit] if theory else [])]
        said = predicted(over, against, {str(name): data[name].iloc[0] for name in data})
        fit = fits.get(value)  # beside an offset an exponent is that of another law
        fitted = round(min(max(fit.interval.value, LEAST), MOST), 2) if fit and fit.law.offset is None else None
        default = fitted if fitted is not None else said.exponent if said else 1.0
        first = theory.unit if theory else GIVEN if _some_overlap(data, asked, default) or not _has_best(data, asked) else BEST
        way = choice("Rescaled by", ways, first, key="rescaled_by", width=190)
        e = number("Exponent", LEAST, MOST, default, 0.05, key, disabled=way != GIVEN)
    law, which = None, ""
    try:
        curves = family(data, over, against, measure)
        if theory and way == theory.unit:
            scaled = in_units(curves, theory.thresholds(curves.frame, level), theory.unit)
            which = f", nothing fitted (fitted above: {against}^{fitted:g})" if fitted is not None else ", nothing fitted"
        else:
            which = f", {_which(e, fitted, said)}" if way == GIVEN else ", the exponent of the best collapse"
            e = _best(curves, against) if way == BEST else e
            scaled = rescaled(curves, e)
            law = f'(points["{against}"] / {middle_of(curves):.6g}) ** {e:.4g}'
    except ValueError as error:
        st.info(f"No collapse: {error}.")
        return
    if not scaled.quality.n_points:
        other = "choose the best exponent or another" if way == GIVEN else "choose an exponent"
        st.info(f"Rescaled by {scaled.by}, no two curves overlap, so there is nothing to compare: {other}.")
        return
    chart = collapse_chart(scaled, over, against, measure, remembered(declared, results))
    figure(chart)
    q, of_theory = scaled.quality, f"; predicted: {said}" if said else ""
    of_bound = f"; {theory.meaning}" if theory and way == theory.unit else ""
    before = f"S = {q.unscaled_quality:.3g} over {q.n_unscaled_points}" if q.n_unscaled_points else "no two curves overlap"
    st.caption(
        f"S = {q.quality:.3g} over the {q.n_points} of {q.n_total} points where rescaled curves overlap; as measured, {before}. "
        f"Rescaled by {scaled.by}{which}{of_theory}{of_bound}. Means with 95% intervals."
    )
    frame = scaled.frame[[over, against, "rescaled", "n", "mean", "low", "high", "error"]]
    python = rescaled_lines(results, selection, found, setting.values, over, against, law)
    downloads(f"collapse-{over}-{against}", frame, chart, found.sql, python)


def _which(e: float, fitted: float | None, said: Prediction | None) -> str:
    """Words for where an exponent comes from."""
    if e == fitted:
        return "the exponent fitted to the thresholds above"
    if said and e == said.exponent:
        return "the exponent of the bound" if said.is_bound else "the predicted exponent"
    return f"an exponent of your choice, where {fitted:g} is fitted above" if fitted is not None else "an exponent that is no fit"


def _some_overlap(data: pd.DataFrame, asked: AskedThreshold, exponent: float) -> bool:
    """True if there are curves to rescale, of which two overlap at this exponent; at 0 they are as measured."""
    try:
        curves = family(data, asked.over, asked.against, asked.measure)
    except ValueError:
        return False
    return rescaled(curves, exponent).quality.n_points > 0


def _has_best(data: pd.DataFrame, asked: AskedThreshold) -> bool:
    """True if there are curves to rescale that have a best exponent."""
    try:
        best(family(data, asked.over, asked.against, asked.measure), n_resamples=1)
    except ValueError:
        return False
    return True


def _best(curves: Family, against: str) -> float:
    found = best(curves)
    st.markdown(f"Best: **{against}^{interval_text(found.exponent)}** with S = {found.quality:.3g} over {found.n_points} points.")
    if doubt := doubted(curves, found.quality):
        st.caption(f"{doubt}.")
    return found.exponent.value
