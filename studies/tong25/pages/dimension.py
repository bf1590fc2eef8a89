"""Accuracy, or AUC, over L and d; the threshold L* for an accuracy; its exponent in d beside Theorem 2 and Eq. 3."""

import pandas as pd
import streamlit as st

from analysis.charts.maps import heat_map, product, theory_contours
from analysis.data.points import Setting
from analysis.overlays import overlays
from analysis.overlays.theory import BEYOND_SIGN
from analysis.python_lines import threshold_lines
from analysis.scaling.predictions import Prediction, compared, predicted
from analysis.scaling.thresholds import Exponent, exponent, needed, threshold_table, without_infinite
from app.choices import (
    about,
    accuracy_choice,
    crossings,
    interval_text,
    lacking,
    level_choice,
    points_of,
    rest,
    started,
    task_choice,
)
from app.controls import check_link, switch
from app.downloads import downloads
from app.shared import figure
from app.styles import controls_above
from app.theory import compute_later


def show(results: str) -> None:
    """The page."""
    place = controls_above()
    with place:
        selection = task_choice(results)
        measure = accuracy_choice(results, *BEYOND_SIGN)
    found = points_of(results, selection, measure)
    if lacking(results, "dimension", found, {"L": 2, "d": 2}):
        return
    with place:
        setting = rest(found, ("L", "d"), {"gamma_label": "lazy", "prefactor": "sqrt_d"})
        level = level_choice(found.measure, started(results, selection, setting, measure, "L"))
    contour = crossings(results, selection, setting, measure, level, "L")
    fit = exponent(contour)
    table = threshold_table(contour, ["d"])
    gamma = {"gamma": setting.frame["gamma"].min()} if "gamma" in setting.frame else {}  # lazy networks have one for each d
    said = predicted("L", "d", setting.values | gamma)
    beside = overlays.beside(setting.frame, measure, wait=False)
    everywhere = product(setting.frame, "d", "L")
    cheap = theory_contours(everywhere, overlays.beside(everywhere, measure, cheap_only=True).values, level, "d", "L")
    costly = theory_contours(setting.frame, beside.values, level, "d", "L")
    theory = pd.concat([cheap, costly[~costly["theory"].isin(cheap["theory"])]])
    chart = heat_map(
        setting.frame, found.measure, "d", "L", table.rename(columns={"threshold": "value"}), fit and fit.law,
        (said.exponent, said.source) if said and said.is_bound else None, theory, width=680, height=440,
    )  # fmt: skip
    figure(chart)
    dots = f"dots: L*, where the mean {found.measure.short} reaches {level:g}, with 95% intervals"
    st.caption(about(results, setting, "without colour: not measured", dots))
    _state_exponent(table, fit, said, level)
    python = threshold_lines(results, selection, found, setting.values, "L", level, ["d"])
    downloads(f"dimension-{setting.values.get('gamma_label', '')}", _numbers(setting, beside.values), chart, found.sql, python)
    with st.expander("L* at each d"):
        st.dataframe(_readable(table), hide_index=True, width="content", placeholder="")
        downloads("thresholds-over-d", table, None, found.sql, python)
    if beside.missing and switch("Compute the missing points of the infinite-width theory", False, "infinite"):
        compute_later(beside.missing)
    check_link()


def _state_exponent(table: pd.DataFrame, fit: Exponent | None, said: Prediction | None, level: float) -> None:
    states = table["state"].value_counts().to_dict()
    counts = (
        f"{states.get('reached', 0)} of {len(table)} d with a curve reach {level:g} within the measured L, "
        f"{states.get('not reached', 0)} do not, {states.get('already at the smallest x', 0)} reach it at the smallest L"
    )
    if fit is None:
        st.info(f"No exponent: {needed('L', 'd')}. Here, {counts}.")
        return
    st.markdown(
        f"**L\\* ~ d^{interval_text(fit.interval)}**, fitted to n = {fit.n_used} values of d from {fit.law.x_low:g} to "
        f"{fit.law.x_high:g}, over which L\\* changes {_factor(fit):.3g}-fold (95% interval by {fit.interval.method}); {counts}."
    )
    if said:
        meaning = "" if said.exponent else ": L\\* does not depend on d"
        st.markdown(f"Predicted: {said}{meaning}; {compared(fit.interval, said)}.")


def _factor(fit: Exponent) -> float:
    low, high = fit.law.curve([fit.law.x_low, fit.law.x_high])
    return float(high / low)


def _numbers(setting: Setting, values: pd.DataFrame) -> pd.DataFrame:
    return overlays.joined(setting.frame[["L", "d", "n", "mean", "low", "high", "diverged"]], values)


def _readable(table: pd.DataFrame) -> pd.DataFrame:
    return without_infinite(table).rename(columns={"threshold": "L*", "smallest x": "L from", "largest x": "to"})
