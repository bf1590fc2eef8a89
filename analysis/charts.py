"""Charts of measured curves with their intervals and the theory's curve through them; the app and the figures draw the same."""

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from analysis.accuracy import Point, settings_vary
from analysis.theory.rich import test_accuracy


def accuracy_frame(points: list[Point]) -> pd.DataFrame:
    """The points as a table: what the figure draws and its CSV holds. Bounds are missing where one seed gives none."""
    return pd.DataFrame(
        {
            "d": [p.d for p in points],
            "width": [p.width for p in points],
            **({"setting": [p.setting for p in points]} if settings_vary(points) else {}),
            "gamma": [p.gamma_label for p in points],
            "L": [p.L for p in points],
            "n": [p.best.n for p in points],
            "best_test_acc": [p.best.mean for p in points],
            "low": [p.best.low for p in points],
            "high": [p.best.high for p in points],
            "final_test_acc": [p.final for p in points],
            "eq3": [p.eq3 for p in points],
        }
    )


def accuracy_chart(points: list[Point], width: int = 560, height: int = 340) -> alt.LayerChart | alt.FacetChart:
    """Best test accuracy against L, a colour a gamma, 95% intervals over seeds, Eq. 3 in black; a facet a (d, width, setting)."""
    data = accuracy_frame(points)
    several = settings_vary(points)
    data["panel"] = [f"d = {p.d}, width = {p.width}" + (f", {p.setting}" if several else "") for p in points]
    labels = list(dict.fromkeys(data.gamma))
    numbers = range(int(data.L.min()), int(data.L.max()) + 1)
    theory = pd.DataFrame({"L": numbers, "eq3": test_accuracy(np.array(numbers, dtype=float))})
    scale = alt.Scale(type="log" if data.L.max() > 32 else "linear", nice=False, padding=12)
    x: Any = alt.X("L:Q", title="training symbols L", scale=scale, axis=alt.Axis(tickMinStep=1, grid=False))
    accuracies: Any = alt.Scale(domain=[min(0.45, float(data.low.min())), 1.02], nice=False, zero=False)
    y: Any = alt.Y("best_test_acc:Q", title="best test accuracy", scale=accuracies)
    colour: Any = alt.Color("gamma:N", title="gamma", sort=labels, scale=alt.Scale(domain=labels, scheme="viridis"))
    hover = ["L", "gamma", alt.Tooltip("best_test_acc", format=".3f"), alt.Tooltip("low", format=".3f"),
             alt.Tooltip("high", format=".3f"), alt.Tooltip("final_test_acc", format=".3f"), "n"]  # fmt: skip
    # In a facet the layers must have no data of their own, or every panel shows all of it; theory is the same in each.
    panels_shown = data.panel.nunique()
    base = alt.Chart(data) if panels_shown == 1 else alt.Chart()
    layers = [
        base.mark_area(opacity=0.25, clip=True).encode(
            x=x, y=alt.Y("low:Q", title="", scale=accuracies), y2="high:Q", color=colour
        ),
        base.mark_line(strokeWidth=1.5).encode(x=x, y=y, color=colour),
        base.mark_point(filled=True, size=40, opacity=1).encode(x=x, y=y, color=colour, tooltip=hover),
        alt.Chart(theory).mark_line(color="black", strokeDash=[5, 3]).encode(x=x, y="eq3:Q"),
        alt.Chart(theory.iloc[[len(theory) // 3]])
        .mark_text(align="right", dx=-4, dy=-7, fontSize=11)
        .encode(x=x, y="eq3:Q", text=alt.value("Eq. 3")),
    ]
    layered = alt.layer(*layers).properties(width=width, height=height)
    if panels_shown == 1:
        return layered.properties(title=f"Same-different, {data.panel[0]}: mean and 95% interval over seeds")
    data_in_layers = alt.layer(*layers, data=data).properties(width=width // 2, height=height // 2)
    panels: Any = alt.Facet("panel:N", title=None, sort=list(dict.fromkeys(data.panel)))
    return data_in_layers.facet(panels, columns=2)
