"""Figures that are curves of one measure over one key: 1c, 1f, 2, 3b to 3h, C3, F1, G1 of [Tong25]."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from analysis.charts.curves import Look, curves_chart, with_residuals
from analysis.data.keys import captioned, with_gamma
from analysis.data.measures import knows, measures
from analysis.data.points import Points, Setting, averaged, described, one_setting, points, task_of
from analysis.data.selection import Selection, Value, points_sql
from analysis.data.usual import settings
from analysis.figures.drawn import Drawn, Figure, Missing
from analysis.overlays import overlays
from analysis.scaling.levels import usual_level
from sweepkit.console.words import counted
from sweepkit.declarations.metrics import STATISTICS
from sweepkit.stats import FEW

from ..noise import noisy_settings
from ..paper import ROUNDED


@dataclass(frozen=True)
class CurveFigure:
    """The networks of a figure and its look; every key that varies beside its axes is fixed to one value."""

    look: Look
    measure: str
    where: Mapping[str, Value]
    limits: str
    """A further condition on the networks, as SQL."""
    prefer: Mapping[str, Value] = field(default_factory=dict)
    along: tuple[str, ...] = ()
    """Keys that may vary with those of the axes."""

    def draw_by(self, results: str, sweep: str | None, measure: str) -> Drawn | Missing:
        """The figure by another measure, with a line at the level that its thresholds have."""
        level = usual_level(measures(results)[measure])
        look = replace(self.look, level=None if np.isnan(level) else level)
        return replace(self, measure=measure, look=look).draw(results, sweep)

    def draw(self, results: str, sweep: str | None) -> Drawn | Missing:
        """The figure from the store; Missing if no curve has two points."""
        if not knows(results, self.measure, self.where):
            return Missing("no finished networks of this kind")
        selection = Selection(sweep, limits=self.limits).only(self.where)
        found = points(results, selection, self.measure)
        needed = [key for key in (self.look.x, self.look.colour, self.look.facet) if key]
        if found.frame.empty or not {*needed, "gamma"} <= {*found.keys}:
            return Missing("no finished networks of this kind")
        frame = noisy_settings(found.frame, found.keys) if "sigma2" in needed else found.frame
        if frame[self.look.x].nunique() < 2:
            return Missing(f"no two values of {self.look.x}")
        task = self.where.get("task")
        setting = one_setting(frame, found.keys, (*needed, *self.along), settings(str(task)) | dict(self.prefer), found.declared)
        if setting.frame[self.look.x].nunique() < 2:
            return Missing(f"no two values of {self.look.x} in any one configuration")
        look, (data, short) = self.look, _long_series(setting.frame, self.look)
        if look.facet and data[look.facet].nunique() == 1:
            look = replace(look, facet=None, columns=1, width=560, height=340)
        panels = [key for key in (look.facet,) if key]
        beside = overlays.beside(data, self.measure, wait=False)
        theory = overlays.curves(data, self.measure, look.x, panels, wait=False)
        residuals = with_residuals(data, beside.values)
        chart = curves_chart(data, found.measure, look, theory, residuals)
        table, caption = _table(data, needed, beside.values), _caption(found, setting, data, short, look.level)
        shown = list(dict.fromkeys([*needed, "gamma"]))
        return Drawn(chart, table, caption, points_sql(selection.only(setting.values), found.measure, shown, FEW), beside.missing)


def _table(data: pd.DataFrame, needed: list[str], values: pd.DataFrame) -> pd.DataFrame:
    return overlays.joined(data[[*with_gamma(needed), *STATISTICS]], values)


def _long_series(data: pd.DataFrame, look: Look) -> tuple[pd.DataFrame, int]:
    """The points, without lines that span less than half of the longest line in their panel, as these belong to other figures;
    and the number of lines left out."""
    series = [key for key in (look.colour, look.facet) if key]
    x = np.log(data[look.x]) if look.log_x else data[look.x]
    groups = x.groupby([data[key] for key in series])
    span = groups.transform("max") - groups.transform("min")
    longest = span.groupby(data[look.facet]).transform("max") if look.facet else span.max()
    long = (span >= longest / 2) & (groups.transform("nunique") > 1)
    return data[long].reset_index(drop=True), int(data[~long].groupby(series).ngroups)


def _caption(found: Points, setting: Setting, data: pd.DataFrame, short: int, level: float | None) -> str:
    diverged = int(data["diverged"].sum())
    parts = [
        described(setting.values, captioned(setting.values, found.declared)),
        f"{averaged(data)}, {counted(int(data['n'].sum()), 'network')}",
    ]
    if level is not None:
        parts.append(f"dashed: {found.measure.short} {level:g}")
    if diverged:
        parts.append(f"{counted(diverged, 'diverged one')} left out")
    if short:
        parts.append(f"{counted(short, 'line that spans', 'lines that span')} less than half of the longest left out")
    if found.measure.is_accuracy and "lazy" in set(data["gamma_label"]) and task_of(data) == "same_different":
        parts.append(ROUNDED)
    if setting.others:
        parts.append(f"{counted(setting.others, 'other configuration')} in the store not shown")
    return "; ".join(parts) + "."


SD: dict[str, Value] = {"task": "same_different"}

NOISELESS = "coalesce(sigma2, 0) = 0"

RICH_OR_LAZIER = "gamma <= 1"

CURVES = {
    "1c": CurveFigure(
        Look("L", "gamma_label", log_x=True, residual=True), "best_test_acc", SD | {"prefactor": "sqrt_d"},
        f"{NOISELESS} AND gamma <= 1", {"d": 256},
    ),
    "1f": CurveFigure(
        Look("d", "gamma_label", log_x=True, residual=True), "best_test_acc", SD | {"prefactor": "sqrt_d"},
        f"{NOISELESS} AND gamma <= 1", {"L": 16},
    ),
    "2": CurveFigure(
        Look("L", "gamma_label", "sigma2", log_x=True, width=320, height=240, columns=2), "best_test_acc",
        SD | {"prefactor": "sqrt_d"}, "gamma <= 1", {"d": 64},
    ),
    "C3": CurveFigure(
        Look("L", "gamma_label", residual=True), "best_test_acc", SD | {"prefactor": "sqrt_d"},
        f"{NOISELESS} AND gamma >= 1 AND L <= 12", {"d": 256},
    ),
    "F1": CurveFigure(
        Look("gamma", "d", "prefactor", log_x=True, log_y=True, width=320, height=260, columns=2), "activation_change", SD,
        f"{NOISELESS} AND gamma <= 1 AND gamma_label <> 'lazy'", {"L": 16},
    ),
    "3b": CurveFigure(Look("L", "gamma_label", log_x=True), "best_test_acc", {"task": "psvrt"}, RICH_OR_LAZIER),
    "3c": CurveFigure(Look("patches", "gamma_label"), "best_test_acc", {"task": "psvrt"}, RICH_OR_LAZIER, {"L": 1024}),
    "3e": CurveFigure(Look("L", "gamma_label"), "best_test_acc", {"task": "pentomino"}, RICH_OR_LAZIER),
    "3f": CurveFigure(
        Look("patches", "gamma_label", "L", width=320, height=240, columns=2), "best_test_acc", {"task": "pentomino"},
        RICH_OR_LAZIER,
    ),
    "3h": CurveFigure(Look("L", "gamma_label", log_x=True), "best_test_acc", {"task": "cifar100"}, RICH_OR_LAZIER),
    "G1": CurveFigure(
        Look("L", "gamma_label", "layer", log_x=True, width=220, height=170, columns=3), "best_test_acc", {"task": "cifar100"},
        RICH_OR_LAZIER,
    ),
}  # fmt: skip

ACTIVATIONS = "How far activations move"
"""The words of F1's title that name its measure."""
PSVRT_QUICK, PENTOMINO_QUICK = "psvrt_quick", "pentomino_quick"
CIFAR = "fig3h_g1"


def _figure(name: str, title: str, grids: tuple[str, ...]) -> Figure:
    figure = Figure(name, title, f"[Tong25 Fig. {name}]", grids, CURVES[name].draw, CURVES[name].draw_by)
    return figure._replace(says=ACTIVATIONS) if title.startswith(ACTIVATIONS) else figure


CURVE_FIGURES = [
    _figure("1c", "Test accuracy against the number of training symbols, lazy to rich",
            ("fig1c_1f", "quick")),
    _figure("1f", "Test accuracy against the input dimension, lazy to rich", ("fig1c_1f", "quick")),
    _figure("2", "Noisy symbols: test accuracy beside the two Bayes classifiers", ("fig2", "quick")),
    _figure("C3", "Rich and ultra-rich test accuracy beside Eq. 3", ("figc3", "quick")),
    _figure("F1", f"{ACTIVATIONS}, with and without the prefactor 1/sqrt(d)", ("figf1", "quick")),
    _figure("3b", "PSVRT: test accuracy against the number of training patterns", ("fig3b", PSVRT_QUICK)),
    _figure("3c", "PSVRT: test accuracy against the size of the image", ("fig3c", PSVRT_QUICK)),
    _figure("3e", "Pentomino: test accuracy against the number of training shapes", ("fig3e", PENTOMINO_QUICK)),
    _figure("3f", "Pentomino: test accuracy against the size of the image", ("fig3f", PENTOMINO_QUICK)),
    _figure("3h", "CIFAR-100: test accuracy against the number of training classes", (CIFAR,)),
    _figure("G1", "CIFAR-100: test accuracy against the number of training classes, for each layer of VGG-16", (CIFAR,)),
]  # fmt: skip
