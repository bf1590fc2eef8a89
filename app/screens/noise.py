"""Noisy symbols: accuracy over L for each sigma2, lazy to rich, beside the generalising and the memorising Bayes classifier."""

import pandas as pd
import streamlit as st

from analysis.charts.curves import Look, curves_chart, with_residuals
from analysis.charts.noise import GENERALISING, beside_bayes, noisy_settings
from analysis.overlays import overlays
from app.choosing import about, accuracy_choice, interval_text, lacking, measured, rest, task_choice
from app.shared import compute_later, downloads, figure, switch
from stats import Interval

AXES = ("L", "gamma_label", "sigma2")
GRIDS = "`grids/fig2.yaml` or, smaller, `grids/quick.yaml`"


def show(results: str) -> None:
    """The page."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        selection = task_choice(results)
        measure = accuracy_choice(results)
        found = measured(results, selection, measure)
        if lacking(found, {"L": 2, "sigma2": 1}, GRIDS):
            return
        found = found._replace(frame=noisy_settings(found.frame, found.keys).reset_index(drop=True))
        if found.frame.empty:
            st.info(f"No networks with sigma2 above 0 yet. {GRIDS} yields some.")
            return
        setting = rest(found, AXES)
        residual = switch("Residuals", True, "residuals")
    data = setting.frame
    if not (data.groupby("sigma2")["L"].nunique() > 1).any():
        st.info(f"No two values of L at any one sigma2 in this setting. {GRIDS} yields some.")
        return
    beside = overlays.beside(data, measure, wait=False)
    theory = overlays.curves(data, measure, "L", ["sigma2"], wait=False)
    to_generalising = with_residuals(data, beside.values[beside.values["theory"] == GENERALISING])
    look = Look("L", "gamma_label", "sigma2", log_x=True, residual=residual, width=330, height=230, columns=2)
    chart = curves_chart(data, found.measure, look, theory, to_generalising)
    figure(chart)
    below = "below: minus the generalising Bayes classifier" if residual else ""
    st.caption(about(results, setting, "mean and its 95% interval", below))
    numbers = overlays.joined(data[[*AXES, "n", "mean", "low", "high", "diverged"]], beside.values)
    downloads("noise", numbers, chart, found.sql)
    table = beside_bayes(data, beside.values)
    st.subheader(
        "At the largest L", anchor=False, help="Measured mean minus the Bayes accuracy, with the 95% interval of the mean"
    )
    st.dataframe(_readable(table), hide_index=True, width="content")
    downloads("noise-largest-L", table)
    compute_later(beside.missing)


def _readable(table: pd.DataFrame) -> pd.DataFrame:
    """The table with its intervals as text."""
    shown = table[["sigma2", "gamma", "L", "n"]].assign(measured=_intervals(table, "mean", "low", "high"))
    for name in ("generalising", "memorising"):
        shown[f"Bayes, {name}"] = table[name].map("{:.3f}".format, na_action="ignore")
        shown[f"minus {name}"] = _intervals(table, f"minus {name}", f"{name}: low", f"{name}: high", sign="+")
    return shown


def _intervals(table: pd.DataFrame, *columns: str, sign: str = "") -> list[str]:
    triples = table[list(columns)].astype(float).itertuples(index=False)
    return ["" if pd.isna(v) else interval_text(Interval(v, low, high, 0), 3, sign) for v, low, high in triples]
