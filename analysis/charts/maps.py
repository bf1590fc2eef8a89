"""Maps of a measure over two keys, with the contour where it crosses a level: Fig. 1b and 1e."""

import altair as alt
import numpy as np
import pandas as pd

from analysis.charts.curves import DASHES, log_axis, styled
from analysis.data.keys import title_of
from analysis.data.points import least_accuracy, task_of
from sweepkit.declarations.columns import Metric
from sweepkit.stats import PowerLaw, threshold


def heat_map(
    points: pd.DataFrame,
    measure: Metric,
    x: str,
    y: str,
    contour: pd.DataFrame | None = None,
    fit: PowerLaw | None = None,
    slope: tuple[float, str] | None = None,
    theory: pd.DataFrame | None = None,
    width: int = 460,
    height: int = 380,
) -> alt.TopLevelMixin:
    """Coloured cells at each (x, y) on logarithmic axes; over them the thresholds y*(x), the fitted law and a power law.

    contour: columns x, value, low, high; slope: the exponent of the power law and its source, a line through the middle of the
    contour. theory: columns theory, x, value, one contour per theory. Each cell reaches half-way to its neighbours, but not far
    into unmeasured regions.
    """
    data = points.assign(**_edges(points, x, "x"), **_edges(points, y, "y", within=x))
    low = least_accuracy(data) if measure.is_accuracy else float(data["mean"].min())
    high = 1.0 if measure.is_accuracy else float(data["mean"].max())
    log_x = alt.Scale(type="log", nice=False, domain=[float(data["x0"].min()), float(data["x1"].max())])
    log_y = alt.Scale(type="log", nice=False, domain=[float(data["y0"].min()), float(data["y1"].max())])
    viridis = alt.Scale(scheme="viridis", domain=[low, high], clamp=True)
    bar = alt.Legend(gradientLength=150, titleLimit=220)
    cells = alt.Chart(data).mark_rect(clip=True).encode(
        x=alt.X("x0:Q", scale=log_x, title=title_of(x, task_of(points)), axis=log_axis(points[x])), x2="x1:Q",
        y=alt.Y("y0:Q", scale=log_y, title=title_of(y, task_of(points)), axis=log_axis(points[y])), y2="y1:Q",
        color=alt.Color("mean:Q", title=measure.title, scale=viridis, legend=bar),
        tooltip=[x, y, *(alt.Tooltip(f"{name}:Q", format=".3g") for name in ("mean", "low", "high")), "n:Q"],
    )  # fmt: skip
    layers = [cells]
    lines = []
    if contour is not None and np.isfinite(contour["value"]).any():
        shown = contour[np.isfinite(contour["value"])].assign(
            low=lambda f: f["low"].fillna(f["value"]).clip(lower=data["y0"].min()),
            high=lambda f: f["high"].fillna(f["value"]).clip(upper=data["y1"].max()),
        )
        if fit is not None:
            xs = np.geomspace(fit.x_low, fit.x_high, 50)
            lines.append(pd.DataFrame({x: xs, "value": fit.curve(xs), "line": f"fitted, exponent {fit.exponent.value:.2f}"}))
        if slope is not None:
            xs = np.geomspace(float(data["x0"].min()), float(data["x1"].max()), 50)
            middle_x, middle_y = np.exp(np.log(shown[x]).mean()), np.exp(np.log(shown["value"]).mean())
            power, source = slope
            lines.append(
                pd.DataFrame({x: xs, "value": middle_y * (xs / middle_x) ** power, "line": f"slope {power:g} [{source}]"})
            )
    if theory is not None and len(theory):
        lines.append(theory.rename(columns={"theory": "line"})[[x, "value", "line"]])
    if lines:
        drawn = pd.concat(lines, ignore_index=True)
        drawn = drawn[np.isfinite(drawn["value"])]
        drawn = drawn[drawn.groupby("line")[x].transform("nunique") > 1]  # one point makes no line
        names = list(dict.fromkeys(drawn["line"]))
        dashes = [[1, 0] if name.startswith("fitted") else DASHES[i % len(DASHES)] for i, name in enumerate(names)]
        legend = alt.Legend(labelLimit=240)
        dash = alt.StrokeDash(
            "line:N", title=f"{y}*({x})", sort=names, scale=alt.Scale(domain=names, range=dashes), legend=legend
        )
        base = alt.Chart(drawn).encode(x=alt.X(f"{x}:Q", scale=log_x), y=alt.Y("value:Q", scale=log_y), detail="line:N")
        layers.append(base.mark_line(color="white", strokeWidth=3.5, opacity=0.7, clip=True))  # legible on dark and bright cells
        layers.append(base.mark_line(color="black", strokeWidth=1.8, clip=True).encode(strokeDash=dash))
    if contour is not None and np.isfinite(contour["value"]).any():
        base = alt.Chart(shown)
        on_x = alt.X(f"{x}:Q", scale=log_x)
        hover = [x, *(alt.Tooltip(f"{name}:Q", format=".3g") for name in ("value", "low", "high")), "seeds:Q"]
        layers += [
            base.mark_rule(color="black", strokeWidth=1.5, clip=True).encode(x=on_x, y=alt.Y("low:Q", scale=log_y), y2="high:Q"),
            base.mark_point(filled=True, color="white", stroke="black", size=60, opacity=1, clip=True).encode(
                x=on_x, y=alt.Y("value:Q", scale=log_y), tooltip=hover),
        ]  # fmt: skip
    return styled(alt.layer(*layers).properties(width=width, height=height))


def theory_contours(points: pd.DataFrame, values: pd.DataFrame, level: float, x: str, y: str) -> pd.DataFrame:
    """The y at which each theory reaches `level`, interpolated between the measured values of y: columns theory, x, value.

    values: `overlays.beside(points).values`. A theory is left out at an x where it has fewer than two y or does not cross the
    level.
    """
    rows = []
    joined = values.join(points[[x, y]], on="point")
    for (name, at), part in joined.groupby(["theory", x]):
        if part[y].nunique() >= 2:
            found = threshold(part[y], part["value"], level)
            if np.isfinite(found):
                rows.append({"theory": name, x: at, "value": found})
    return pd.DataFrame(rows, columns=["theory", x, "value"]).astype({"value": float})


def product(points: pd.DataFrame, x: str, y: str) -> pd.DataFrame:
    """Points at every measured x and every measured y, for theory that is cheap. Their other keys are those of a point with the
    same x."""
    of_x = points.drop_duplicates(x).drop(columns=y)
    return of_x.merge(points[[y]].drop_duplicates(), how="cross")


WIDEST = 0.36
"""How far, as a natural logarithm, a cell may reach towards a distant neighbour even in a dense grid: half an octave."""


def _edges(points: pd.DataFrame, key: str, name: str, within: str | None = None) -> dict[str, np.ndarray]:
    """Edges of each cell on a logarithmic axis, half-way to its neighbours with the same value of `within`. A cell reaches at
    most half of the median distance, or WIDEST if that is more."""
    logs = np.log(points[key].to_numpy(float))
    usual = np.diff(np.unique(logs)) / 2
    farthest = max(WIDEST, float(np.median(usual))) if len(usual) else WIDEST
    columns = np.zeros(len(points)) if within is None else points[within].to_numpy(float)
    low, high = np.empty(len(points)), np.empty(len(points))
    for column in np.unique(columns):
        here = columns == column
        distinct = np.unique(logs[here])
        half = np.minimum(np.diff(distinct) / 2, farthest) if len(distinct) > 1 else np.array([WIDEST])
        below, above = np.concatenate([half[:1], half]), np.concatenate([half, half[-1:]])
        at = np.searchsorted(distinct, logs[here])
        low[here], high[here] = np.exp(logs[here] - below[at]), np.exp(logs[here] + above[at])
    return {f"{name}0": low, f"{name}1": high}
