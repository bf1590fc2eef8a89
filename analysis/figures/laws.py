"""Figures of sample-complexity laws: how L*, the symbols that suffice, grows with d, from rich to lazy. No paper has drawn it."""

from collections.abc import Hashable
from typing import Any

import altair as alt
import numpy as np

from analysis.charts.curves import styled
from analysis.data.keys import captioned
from analysis.data.paper import LEVEL, PAPER
from analysis.data.points import counted, described, n_seeds, one_setting, points
from analysis.data.selection import Selection
from analysis.figures.curves import SD
from analysis.figures.drawn import Drawn, Figure, Missing
from analysis.scaling.charts import exponent_panel, threshold_panel
from analysis.scaling.thresholds import exponents, fitted, threshold_table, thresholds

BY, OVER, AGAINST = "gamma_label", "L", "d"


def _draw(results: str, sweep: str | None) -> Drawn | Missing:
    selection = Selection(sweep).only(SD | {"sigma2": [0.0, None], "prefactor": "sqrt_d"})
    found = points(results, selection)
    if found.frame.empty or any(found.frame[key].nunique() < 2 for key in (OVER, AGAINST)):
        return Missing("no networks at two L and two d")
    setting = one_setting(found.frame, found.keys, (OVER, AGAINST, BY), PAPER, found.declared)
    frame = thresholds(setting.frame, LEVEL, OVER)
    if frame.empty or frame[AGAINST].nunique() < 2:
        return Missing("no thresholds at two d in any one setting")
    laws = fitted(frame, OVER, AGAINST, BY)
    table = threshold_table(frame, [BY, "gamma", AGAINST])
    rows = exponents(laws, frame, BY, AGAINST)
    left = threshold_panel(table, OVER, AGAINST, BY, laws.fits, laws.predictions, width=330, height=300, task="same_different")
    panels = [left]
    if rows["exponent"].notna().any():
        panels.append(exponent_panel(rows, BY, OVER, AGAINST, width=300, height=300, task="same_different"))
    chart = styled(
        alt.hconcat(*panels, spacing=30).resolve_scale(color="independent", shape="independent", strokeDash="independent")
    )
    reached = sum(t.reached == "reached" for t in frame["threshold"])
    told = described(setting.values, captioned(setting.values, found.declared))
    caption = (
        f"{told}; {counted(int(setting.frame['n'].sum()), 'network')}, "
        f"{n_seeds(setting.frame)} a point. {OVER}*: mean best test accuracy {LEVEL:g}, reached within the range by {reached} "
        f"of {len(frame)} curves; intervals 95%. Exponents: " + "; ".join(map(_told, rows.to_dict("records")))
    )
    return Drawn(chart, table, caption + ".", found.sql)


def _told(row: dict[Hashable, Any]) -> str:
    name = f"gamma = {row[BY]}" if row[BY] != "lazy" else "lazy"
    if np.isnan(row["exponent"]):
        return f"{name}: too few thresholds"
    said = f", predicted {row['prediction']}" if row["prediction"] else ""
    open_ends = f", {row['open']} of them open at an end of the range: too narrow" if row["open"] else ""
    return f"{name}: {row['exponent']:.2f} ({row['low']:.2f} to {row['high']:.2f}, n = {row['n']}{open_ends}){said}"


LAW_FIGURES = [
    Figure("Lstar", "The symbols that suffice, L*(d), and their exponent in d against gamma", "[Tong25 Eq. 3, Theorem 2]",
           ("grids/lstar.yaml", "grids/lstar_quick.yaml"), _draw),
]  # fmt: skip
