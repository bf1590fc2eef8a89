"""Noisy symbols: accuracy over L for each sigma2, lazy to rich, compared with the two Bayes classifiers."""

import pandas as pd
import streamlit as st

from analysis.charts.curves import Look, curves_chart, with_residuals
from analysis.charts.explore import Choices
from analysis.data.points import varying
from analysis.overlays import overlays
from analysis.python_lines import plot_lines
from app.choices import about, accuracy_choice, interval_text, lacking, nothing_yet, points_of, rest, task_choice
from app.controls import check_link, switch
from app.downloads import downloads
from app.shared import figure
from app.styles import controls_above
from app.theory import compute_later
from sweepkit.stats import Interval

from ..noise import BAYES, beside_bayes, noisy_settings
from ..theory.of_same_different import GENERALISING

AXES = ("L", "gamma_label", "sigma2")


def show(results: str) -> None:
    """The page."""
    place = controls_above()
    with place:
        selection = task_choice(results)
        measure = accuracy_choice(results)
    found = points_of(results, selection, measure)
    if lacking(results, "noise", found, {"L": 2, "sigma2": 1}):
        return
    found = found._replace(frame=noisy_settings(found.frame, found.keys).reset_index(drop=True))
    if found.frame.empty:
        nothing_yet(results, "noise", "it needs networks on noisy symbols, sigma2 above 0")
        return
    with place:
        axes = [key for key in AXES if key in found.keys]
        setting = rest(found, axes)
        residual = switch("Residuals", True, "residuals")
    data = setting.frame
    if not (data.groupby("sigma2")["L"].nunique() > 1).any():
        nothing_yet(results, "noise", "it needs two values of L at one sigma2, and this configuration has none")
        return
    beside = overlays.beside(data, measure, wait=False)
    theory = overlays.curves(data, measure, "L", ["sigma2"], wait=False)
    to_generalising = with_residuals(data, beside.values[beside.values["theory"] == GENERALISING])
    colour = "gamma_label" if "gamma_label" in axes else None
    look = Look("L", colour, "sigma2", log_x=True, residual=residual, width=330, height=230, columns=2)
    chart = curves_chart(data, found.measure, look, theory, to_generalising)
    figure(chart)
    below = "below: minus the generalising Bayes classifier" if residual else ""
    alone = "a point of one seed has no interval" if data["n"].min() == 1 < data["n"].max() else ""
    st.caption(about(results, setting, "mean and its 95% interval", alone, below))
    numbers = overlays.joined(data[[*axes, "n", "mean", "low", "high", "diverged"]], beside.values)
    vary = varying(found.frame, found.keys)
    choices = Choices(look, tuple((key, value) for key, value in setting.values.items() if key in vary))
    python = plot_lines(results, selection, found, choices, data)
    downloads("noise", numbers, chart, found.sql, python)
    table = beside_bayes(data, beside.values)
    st.subheader(
        "At the largest L", anchor=False, help="Measured mean minus the Bayes accuracy, with the 95% interval of the mean"
    )
    st.dataframe(_readable(table), hide_index=True, width="content", placeholder="")
    downloads("noise-largest-L", table, None, found.sql, python)
    compute_later(beside.missing)
    check_link()


def _readable(table: pd.DataFrame) -> pd.DataFrame:
    """The table with its intervals as text."""
    keys = [key for key in ("sigma2", "gamma", "L", "n") if key in table]
    shown = table[keys].assign(measured=_intervals(table, "mean", "low", "high"))
    for theory, name in BAYES.items():
        shown[theory] = table[name].map("{:.3f}".format, na_action="ignore")
        shown[f"minus {name}"] = _intervals(table, f"minus {name}", f"{name}: low", f"{name}: high", sign="+")
    return shown


def _intervals(table: pd.DataFrame, *columns: str, sign: str = "") -> list[str]:
    triples = table[list(columns)].astype(float).itertuples(index=False)
    return ["" if pd.isna(v) else interval_text(Interval(v, low, high, 0), 3, sign) for v, low, high in triples]
