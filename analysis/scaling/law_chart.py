"""The chart of thresholds against a key with fitted laws and predicted slopes, for page Scaling and the figure `threshold`."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from analysis.data.keys import spoken, value_of
from analysis.scaling.charts import OPEN, has_band, has_open, threshold_panel
from analysis.scaling.predictions import compared, theories_at_sizes
from analysis.scaling.proportion import RATIO
from analysis.scaling.thresholds import Fitted, fitted, threshold_table, without_lazy
from sweepkit.declarations.columns import Column, Metric
from sweepkit.declarations.keys import KEYS
from sweepkit.stats.rounding import in_digits


class LawChart(NamedTuple):
    """A panel with its thresholds, the laws through them, and what theories of thresholds mean."""

    panel: Any
    table: pd.DataFrame
    laws: Fitted
    meanings: list[str]

    def told(self, over: str, measure: Metric, level: float) -> str:
        """Words on the thresholds: `L*: mean accuracy 0.85, 95% intervals, 5 of 6 curves reach it`."""
        verb, many = ("falls to ", "fall to") if measure.falls else ("", "reach")
        reached = int((self.table["state"] == "reached").sum())
        words = f"{over}*: mean {measure.short} {verb}{level:g}, 95% intervals, {reached} of {len(self.table)} curves {many} it"
        words += "; bands: 95% of the fitted line" if any(map(has_band, self.laws.fits.values())) else ""
        return words + (f"; {OPEN}" if has_open(self.table) else "")

    def exponents_told(self, over: str, against: str, by: str | None, values: Sequence[Any]) -> list[str]:
        """Words on each law, for values of `by` in this order (None without one): exponent, sizes, and what is predicted."""
        return [self._law_told(over, against, by, value) for value in values]

    def _law_told(self, over: str, against: str, by: str | None, value: Any) -> str:
        name = "" if by is None else f"{spoken(by)} = {value_of(by, value)}: "
        said, fit = self.laws.predictions.get(value), self.laws.fits.get(value)
        if fit is None:
            return f"{name}no exponent, {self.laws.problems.get(value, '')}"
        beside = f", {fit.censored}" if fit.n_left_out else ""
        words = f"{name}{over}* ~ {against}^{in_digits(*fit.interval[:3])} through n = {fit.n_used}{beside}"
        return words + (f", predicted {said}, {compared(fit.interval, said)}" if said else "")


def law_chart(
    frame: pd.DataFrame,
    over: str,
    against: str,
    by: str | None,
    measure: Metric,
    within: tuple[float, float] = (0.0, np.inf),
    offset: bool = False,
    apart: Sequence[str] = (),
    declared: Mapping[str, Column] = KEYS,
    **panel: Any,
) -> LawChart:
    """The chart of `scaling.thresholds` that differ in `against` and `by` alone, with the laws fitted `within` two values of
    `against`, with an `offset` if asked for.

    apart: further keys that the table holds. panel: further arguments of `threshold_panel`, its size and the task.
    """
    frame = without_lazy(frame) if against == "gamma" else frame
    laws = fitted(frame, over, against, by, within, offset)
    said_by = {one: one.slopes(frame, measure.name, over, against, by, within) for one in theories_at_sizes()}
    for of_theory in said_by.values():
        laws = laws._replace(predictions=laws.predictions | of_theory)
    with_gamma, with_width = (["gamma"] if by == "gamma_label" else []), (["width"] if RATIO in frame else [])
    told = dict.fromkeys([*apart, *([by] if by else []), *with_gamma, against, *with_width])
    table = threshold_table(frame, told)
    curves = next((found for one in said_by if (found := one.lines(frame, measure.name, over, against, by)) is not None), None)
    names: dict[float, str] = {}
    if against == "gamma" and "gamma_label" in frame:
        names = dict(zip(frame["gamma"].tolist(), frame["gamma_label"], strict=True))
    drawn = threshold_panel(
        table, over, against, by, laws.fits, laws.predictions, names=names, curves=curves, declared=declared, **panel
    )
    return LawChart(drawn, table, laws, [one.meaning for one, found in said_by.items() if found])
