"""Figures that map test accuracy over L and d: 1b (rich) and 1e (lazy) of [Tong25]."""

import numpy as np

from analysis.charts.maps import heat_map
from analysis.data.keys import captioned
from analysis.data.points import averaged, described, one_setting, points
from analysis.data.selection import Selection
from analysis.figures.drawn import Drawn, Figure, Missing
from analysis.scaling.levels import usual_level
from analysis.scaling.predictions import predicted
from analysis.scaling.thresholds import exponent, threshold_table, thresholds
from sweepkit.console.words import counted

from ..paper import ROUNDED, SAME_DIFFERENT
from .curves import SD


def _draw(results: str, sweep: str | None, gamma_label: str, measure: str = "best_test_acc") -> Drawn | Missing:
    selection = Selection(sweep).only(SD | {"gamma_label": gamma_label, "sigma2": [0.0, None], "prefactor": "sqrt_d"})
    found = points(results, selection, measure)
    if found.frame.empty or found.frame["d"].nunique() < 2 or found.frame["L"].nunique() < 2:
        return Missing("no networks at two L and two d")
    setting = one_setting(found.frame, found.keys, ("L", "d"), SAME_DIFFERENT, found.declared)
    if setting.frame["d"].nunique() < 2:
        return Missing("no two d in any one configuration")
    level, falls = usual_level(found.measure), found.measure.falls
    contour = thresholds(setting.frame, level, falling=falls) if gamma_label == "lazy" and np.isfinite(level) else None
    table = None if contour is None else threshold_table(contour, ["d"]).rename(columns={"threshold": "value"})
    fit = None if contour is None else exponent(contour)
    said = predicted("L", "d", setting.values)
    bound = (said.exponent, said.source) if said and said.is_bound else None
    chart = heat_map(setting.frame, found.measure, "d", "L", table, fit and fit.law, bound)
    told = described(setting.values, captioned(setting.values, found.declared))
    caption = f"{told}; {averaged(setting.frame, intervals=False)}, "
    caption += counted(int(setting.frame["n"].sum()), "network")
    if table is not None:
        n_reached = int(np.isfinite(table["value"]).sum())
        caption += (
            f"; dots: L at which the mean {found.measure.short} reaches {level:g}, with 95% interval, reached at {n_reached} of "
            f"{len(table)} d"
        )
    if fit is not None:
        caption += (
            f"; L* ~ d^{fit.interval.value:.2f} ({fit.interval.low:.2f} to {fit.interval.high:.2f}, d from {fit.law.x_low:g} to "
            f"{fit.law.x_high:g}, n = {fit.n_used})" + (f", {bound[1]} bounds the exponent by {bound[0]:g}" if bound else "")
        )
    if gamma_label == "lazy" and found.measure.is_accuracy:
        caption += f"; {ROUNDED}"
    return Drawn(chart, setting.frame[["L", "d", "n", "mean", "low", "high"]], caption + ".", found.sql)


def _figure(name: str, title: str, source: str, grids: tuple[str, ...], gamma_label: str) -> Figure:
    def draw(results: str, sweep: str | None, **other: str) -> Drawn | Missing:
        return _draw(results, sweep, gamma_label, **other)

    return Figure(name, title, source, grids, draw, draw)


MAP_FIGURES = [
    _figure("1b", "Rich networks: test accuracy over L and d", "[Tong25 Fig. 1b]", ("fig1b_rich", "quick"),
            "1"),
    _figure("1e", "Lazy networks: test accuracy over L and d, with the L that suffices", "[Tong25 Fig. 1e, Theorem 2]",
            ("fig1e_lazy", "quick"), "lazy"),
]  # fmt: skip
