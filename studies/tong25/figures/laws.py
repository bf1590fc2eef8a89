"""The figure of the law of L*, the symbols that suffice: how it grows with d, from rich to lazy. No paper has drawn it."""

from collections.abc import Hashable
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from analysis.charts.curves import styled
from analysis.data.keys import captioned
from analysis.data.points import described, n_seeds, one_setting, points
from analysis.data.questions import asked_of
from analysis.data.selection import Selection, Value
from analysis.data.source import ResultsError
from analysis.figures.drawn import Drawn, Figure, Missing
from analysis.scaling.charts import exponent_panel, threshold_panel
from analysis.scaling.levels import check_level, searched_level, usual_level
from analysis.scaling.thresholds import exponents, fitted, threshold_table, thresholds
from sweepkit.console.words import counted

from ..of_theory import as_lines, theory_thresholds
from ..paper import ROUNDED, SAME_DIFFERENT
from .curves import SD

BY, OVER, AGAINST = "gamma_label", "L", "d"
NOISELESS: dict[str, Value | list[Value]] = {**SD, "sigma2": [0.0, None], "prefactor": "sqrt_d"}


def _draw(results: str, sweep: str | None, measure: str = "best_test_acc", level: float | None = None) -> Drawn | Missing:
    selection = Selection(sweep).only(NOISELESS)
    found = points(results, selection, measure)
    if level is None and sweep:
        level = searched_level(asked_of(results, selection), OVER, found.measure)
    if level is None:
        level = usual_level(found.measure)
    if np.isnan(level):
        raise ResultsError(f"no level of {found.measure.title} is usual: say one with --at")
    check_level(level, found.measure)
    if found.frame.empty or any(found.frame[key].nunique() < 2 for key in (OVER, AGAINST)):
        return Missing("no networks at two L and two d")
    setting = one_setting(found.frame, found.keys, (OVER, AGAINST, BY), SAME_DIFFERENT, found.declared)
    frame = thresholds(setting.frame, level, OVER, found.measure.falls)
    if frame.empty or frame[AGAINST].nunique() < 2:
        return Missing("no thresholds at two d in any one configuration")
    laws = fitted(frame, OVER, AGAINST, BY)
    table = threshold_table(frame, [BY, "gamma", AGAINST])
    rows = exponents(laws, frame, BY, AGAINST)
    theory, missing = theory_thresholds(frame, found.measure, level, OVER, wait=False)
    of_theory = exponents_of_theory(theory, BY)
    left = threshold_panel(
        table, OVER, AGAINST, BY, laws.fits, laws.predictions, width=330, height=300, task="same_different",
        curves=as_lines(theory, AGAINST, BY),
    ).properties(title=f"mean {found.measure.title} {level:g}")  # fmt: skip
    panels = [left]
    if rows["exponent"].notna().any():
        panels.append(exponent_panel(rows, BY, OVER, AGAINST, width=300, height=300, task="same_different"))
    chart = styled(
        alt.hconcat(*panels, spacing=30).resolve_scale(color="independent", shape="independent", strokeDash="independent")
    )
    reached = sum(t.is_reached for t in frame["threshold"])
    told = described(setting.values, captioned(setting.values, found.declared))
    caption = (
        f"{told}; {counted(int(setting.frame['n'].sum()), 'network')}, "
        f"{n_seeds(setting.frame)} per point. {OVER}*: mean {found.measure.title} {level:g}, reached within the range by "
        f"{reached} of {len(frame)} curves; intervals 95%. Exponents: "
        + "; ".join(exponent_told(gamma_told(row[BY]), row) + of_theory.get(row[BY], "") for row in rows.to_dict("records"))
    )
    if found.measure.is_accuracy and "lazy" in set(frame[BY]):
        caption += f"; {ROUNDED}"
    return Drawn(chart, table, caption + ".", found.sql, missing)


def exponents_of_theory(theory: pd.DataFrame, by: str) -> dict[Any, str]:
    """The exponents of `theory_thresholds` for each value of `by`, in words that follow those of the networks."""
    said: dict[Any, str] = {}
    for name, of in theory.groupby("theory"):
        for value, fit in fitted(of, OVER, AGAINST, by).fits.items():
            exponent, low, high = fit.interval[:3]
            said[value] = said.get(value, "") + f", {name} {exponent:.2f} ({low:.2f} to {high:.2f})"
    return said


def gamma_told(label: object) -> str:
    """A label of gamma in words: `lazy`, `gamma = 0.1`."""
    return "lazy" if label == "lazy" else f"gamma = {label}"


def exponent_told(name: str, row: dict[Hashable, Any]) -> str:
    """A row of `exponents` in words."""
    if np.isnan(row["exponent"]):
        return f"{name}: too few thresholds"
    said = f", predicted {row['prediction']}" if row["prediction"] else ""
    lost = f", {row['not reached']} not reached: it may be too small" if row["not reached"] else ""
    open_ends = f", {row['open']} of them open at an end of the range: too narrow" if row["open"] else ""
    basis = f"{row['low']:.2f} to {row['high']:.2f}, n = {row['thresholds']}{lost}{open_ends}"
    return f"{name}: {row['exponent']:.2f} ({basis}){said}"


LAW_FIGURES = [
    Figure("Lstar", "The symbols that suffice, L*(d), and their exponent in d against gamma", "[Tong25 Eq. 3, Theorem 2]",
           ("lstar", "lstar_quick"), _draw, _draw, has_level=True),
]  # fmt: skip
