"""Figures that are curves of one measure over one key: 1c, 1f, 2, C3, F1 of [Tong25]."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from analysis import overlays
from analysis.charts import Look, curves_chart, with_residuals
from analysis.figures.drawn import Drawn, Figure, Missing
from analysis.paper import PAPER
from analysis.points import STATISTICS, described, one_setting, points
from analysis.selection import Selection, Value


@dataclass(frozen=True)
class CurveFigure:
    """Which networks a figure is about and how it looks; everything that varies beside its axes is fixed to one setting."""

    look: Look
    measure: str
    where: Mapping[str, Value]
    keep: Callable[[pd.DataFrame], "pd.Series[bool]"]
    prefer: Mapping[str, Value] = field(default_factory=dict)

    def draw(self, results: str, sweep: str | None) -> Drawn | Missing:
        """From the store; Missing where it has no two points of a curve."""
        found = points(results, Selection(sweep).only(self.where), self.measure)
        needed = [key for key in (self.look.x, self.look.colour, self.look.facet) if key]
        if found.frame.empty or not {*needed, "gamma"} <= {*found.keys}:
            return Missing("no finished networks of this kind")
        frame = found.frame[self.keep(found.frame)]
        if frame[self.look.x].nunique() < 2:
            return Missing(f"no two values of {self.look.x}")
        setting = one_setting(frame, found.keys, needed, PAPER | dict(self.prefer))
        if setting.frame[self.look.x].nunique() < 2:
            return Missing(f"no two values of {self.look.x} in any one setting")
        look, (data, short) = self.look, _long_series(setting.frame, self.look)
        if look.facet and data[look.facet].nunique() == 1:
            look = replace(look, facet=None, columns=1, width=560, height=340)
        panels = [key for key in (look.facet,) if key]
        beside = overlays.beside(data, self.measure, wait=False)
        theory = overlays.curves(data, self.measure, look.x, panels, wait=False)
        residuals = with_residuals(data, beside.values)
        chart = curves_chart(data, found.measure, look, theory, residuals)
        table, caption = _table(data, needed, beside.values), _caption(setting.values, data, setting.others, short)
        return Drawn(chart, table, caption, found.sql, beside.missing)


def _table(data: pd.DataFrame, needed: list[str], values: pd.DataFrame) -> pd.DataFrame:
    wide = values.pivot(index="point", columns="theory", values="value") if len(values) else pd.DataFrame(index=data.index)
    keys = list(dict.fromkeys([*needed, *(["gamma"] if "gamma_label" in needed else [])]))
    return data[[*keys, *STATISTICS]].join(wide)


def _long_series(data: pd.DataFrame, look: Look) -> tuple[pd.DataFrame, int]:
    """Without lines that span less than half of the longest one's range, which belong to other figures; how many those are."""
    series = [key for key in (look.colour, look.facet) if key]
    x = np.log(data[look.x]) if look.log_x else data[look.x]
    groups = x.groupby([data[key] for key in series])
    span = groups.transform("max") - groups.transform("min")
    long = (span >= span.max() / 2) & (groups.transform("nunique") > 1)
    return data[long].reset_index(drop=True), int(data[~long].groupby(series).ngroups)


def _caption(values: Mapping[str, Value], data: pd.DataFrame, others: int, short: int) -> str:
    least, most, diverged = int(data["n"].min()), int(data["n"].max()), int(data["diverged"].sum())
    seeds = f"{least} seed{'s' * (least > 1)}" if least == most else f"{least} to {most} seeds"
    parts = [
        described(values, ("L", "d", "sigma2", "width", "steps", "prefactor", "dtype", "base_lr")),
        f"mean over {seeds} a point with its 95% interval, {int(data['n'].sum())} networks",
    ]
    if diverged:
        parts.append(f"{diverged} diverged ones left out")
    if short:
        parts.append(f"{short} short lines left out")
    if others:
        parts.append(f"{others} other settings in the store not shown")
    return "; ".join(parts) + "."


def _noiseless(frame: pd.DataFrame) -> "pd.Series[bool]":
    return frame["sigma2"].fillna(0) == 0


SD: dict[str, Value] = {"task": "same_different"}

CURVES = {
    "1c": CurveFigure(
        Look("L", "gamma_label", log_x=True, residual=True), "best_test_acc", SD | {"prefactor": "sqrt_d"},
        lambda f: _noiseless(f) & (f["gamma"] <= 1), {"d": 256},
    ),
    "1f": CurveFigure(
        Look("d", "gamma_label", log_x=True, residual=True), "best_test_acc", SD | {"prefactor": "sqrt_d"},
        lambda f: _noiseless(f) & (f["gamma"] <= 1), {"L": 16},
    ),
    "2": CurveFigure(
        Look("L", "gamma_label", "sigma2", log_x=True, width=320, height=240, columns=2), "best_test_acc",
        SD | {"prefactor": "sqrt_d"}, lambda f: (f["gamma"] <= 1) & f.groupby([k for k in ("d", "width", "steps") if k in f])[
            "sigma2"].transform(lambda s: (s > 0).any()), {"d": 64},
    ),
    "C3": CurveFigure(
        Look("L", "gamma_label", residual=True), "best_test_acc", SD | {"prefactor": "sqrt_d"},
        lambda f: _noiseless(f) & (f["gamma"] >= 1) & (f["L"] <= 12), {"d": 256},
    ),
    "F1": CurveFigure(
        Look("gamma", "d", "prefactor", log_x=True, log_y=True, width=320, height=260, columns=2), "activation_change", SD,
        lambda f: _noiseless(f) & (f["gamma"] <= 1) & (f["gamma_label"] != "lazy"), {"L": 16},
    ),
}  # fmt: skip

CURVE_FIGURES = [
    Figure("1c", "Test accuracy against the number of training symbols, lazy to rich", "[Tong25 Fig. 1c]",
           ("grids/fig1c_1f.yaml", "grids/quick.yaml"), CURVES["1c"].draw),
    Figure("1f", "Test accuracy against the input dimension, lazy to rich", "[Tong25 Fig. 1f]",
           ("grids/fig1c_1f.yaml", "grids/quick.yaml"), CURVES["1f"].draw),
    Figure("2", "Noisy symbols: test accuracy beside the two Bayes classifiers", "[Tong25 Fig. 2]",
           ("grids/fig2.yaml", "grids/quick.yaml"), CURVES["2"].draw),
    Figure("C3", "Rich and ultra-rich test accuracy beside Eq. 3", "[Tong25 Fig. C3]",
           ("grids/figc3.yaml", "grids/quick.yaml"), CURVES["C3"].draw),
    Figure("F1", "How far activations move, with and without the prefactor 1/sqrt(d)", "[Tong25 Fig. F1]",
           ("grids/figf1.yaml", "grids/quick.yaml"), CURVES["F1"].draw),
]  # fmt: skip
