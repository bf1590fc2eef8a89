"""The figure of MLPs in context: test errors over compute by width, and on new and old tasks over training tasks."""

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from analysis.charts.along import groups_along
from analysis.charts.curves import colours, log_axis, styled
from analysis.data.points import with_intervals
from analysis.figures.cases import Found, found
from analysis.figures.drawn import Drawn, Figure, Missing
from analysis.studies.along import Case
from sweepkit.console.words import counted, three_digits
from sweepkit.declarations.metrics import METRICS
from sweepkit.stats.checks import Floats

from ..in_context import theory
from ..in_context.figures import NEW, OLD, SERIES, TICKS

CURVE, MEASURE = METRICS["eval_test_mse"], "test_mse"
PANEL, SIZE, ERROR, LINE = "panel", "size", "mean", "line"
COMPUTE, TASKS = "compute", "tasks"
AXES = {COMPUTE: "parameters x steps", TASKS: "k, training tasks"}
BAYES, ATTENTION = "Bayes", "best linear attention"
FIRST_STEP = 10
"""Earlier errors are those of the initial network."""
_EXPLAINED = (
    "Lines without points are theory, and nothing is fitted: the best linear attention, on the right after many contexts of k "
    "tasks, tested on new tasks and on those k; and Bayes, the least error on new tasks, which networks that know the k old "
    "tasks by heart may fall below."
)
_MLP = {"task": "in_context", "network": "mlp"}


def _draw(results: str, sweep: str | None) -> Drawn | Missing:
    long = list(found(results, sweep, [Case("new tasks for each context", _MLP, ("width", "steps", "eval_every"))], MEASURE))
    tests = [Case(title, {**_MLP, "tested": word}, ("train_tasks",)) for title, word in ((NEW, "new"), (OLD, "old"))]
    few = list(found(results, sweep, tests, MEASURE))
    drawn = [*long, *few]
    if not drawn:
        return Missing("no networks mlp on task in_context at two widths, or two train_tasks")
    frame = pd.concat([*(_along(results, one) for one in long), *(_over_tasks(one) for one in few)], ignore_index=True)
    panels = [_panel(panel, frame[frame[PANEL] == panel], _setting(of[0])) for panel, of in ((COMPUTE, long), (TASKS, few)) if of]
    n = int(sum(one.setting.frame["n"].sum() for one in long) + frame.loc[frame[PANEL] == TASKS, "n"].sum())
    told, settings = _told(frame, _setting(drawn[0])), "; ".join(one.told for one in drawn)
    caption = f"{told}. {_EXPLAINED} {settings}; {counted(n, 'network')}. Means with 95% intervals."
    shown = frame[[PANEL, SERIES, SIZE, ERROR, "low", "high", "n"]]
    return Drawn(
        styled(alt.hconcat(*panels, spacing=30).resolve_scale(color="independent")),
        shown,
        caption,
        ";\n\n".join(one.sql for one in drawn),
    )


def _setting(one: Found) -> tuple[int, int, float]:
    """d, l and the noise of a case."""
    values = one.setting.values
    return int(values["d"] or 0), int(values["context"] or 0), float(values["noise"] or 0)


def _along(results: str, one: Found) -> pd.DataFrame:
    """Test errors along the longest training of each width."""
    means = with_intervals(groups_along(results, one.selection, CURVE, ["width", "steps"])[0], CURVE)
    means = means[(means["step"] >= FIRST_STEP) & (means["steps"] == means.groupby("width")["steps"].transform("max"))]
    values = one.setting.values
    d, context, _ = _setting(one)
    inputs, depth = context * (d + 1) + d, int(values["depth"] or 0)
    size = parameters(means["width"].to_numpy(float), depth, inputs, bool(values.get("bias"))) * means["step"]
    columns: dict[str, Any] = {PANEL: COMPUTE, SIZE: size, SERIES: [f"width {width:g}" for width in means["width"]]}
    return means.assign(**columns)


def parameters(width: Floats, depth: int, inputs: int, bias: bool) -> Floats:
    """How many numbers an MLP with one output trains."""
    return np.asarray((inputs + bias) * width + (depth - 1) * (width + bias) * width + width + bias)


def _over_tasks(one: Found) -> pd.DataFrame:
    frame = one.setting.frame.dropna(subset="train_tasks")  # others have a task for each context
    columns: dict[str, Any] = {PANEL: TASKS, SIZE: frame["train_tasks"].astype(float), SERIES: one.case.title}
    return frame.assign(**columns)


def _told(frame: pd.DataFrame, setting: tuple[int, int, float]) -> str:
    said = [f"{BAYES} {three_digits(theory.bayes(*setting))}, {ATTENTION} {three_digits(theory.best(*setting))}"]
    for series, of in frame[frame[PANEL] == COMPUTE].groupby(SERIES, sort=False):
        last = of.sort_values("step").iloc[-1]
        error, low, high = (three_digits(last[name]) for name in (ERROR, "low", "high"))
        said.append(f"{series} after {last['step']:g} steps {error} ({low} to {high})")
    tasks = frame[frame[PANEL] == TASKS].pivot_table(index=SIZE, columns=SERIES, values=ERROR)
    if {NEW, OLD} <= {*tasks.columns}:
        said += [f"new - old at k = {k:g} {three_digits(row[NEW] - row[OLD])}" for k, row in tasks.iterrows()]
    return "; ".join(said)


def _lines(panel: str, frame: pd.DataFrame, setting: tuple[int, int, float]) -> pd.DataFrame:
    """SIZE, ERROR, LINE and SERIES of theory from the least to the largest size."""
    least, most = float(frame[SIZE].min()), float(frame[SIZE].max())
    rows = [(x, theory.bayes(*setting), BAYES, NEW) for x in (least, most)]
    if panel == COMPUTE:
        rows += [(x, theory.best(*setting), ATTENTION, NEW) for x in (least, most)]
    else:
        d, context, rho = setting
        for k in np.unique(np.geomspace(least, most, 20).round().astype(int)):
            errors = theory.few(d, context, int(k), rho)
            rows += [(float(k), errors.new, ATTENTION, NEW), (float(k), errors.old, ATTENTION, OLD)]
    return pd.DataFrame(rows, columns=[SIZE, ERROR, LINE, SERIES])


_PLACES = {
    (COMPUTE, BAYES, NEW): (False, -8),
    (COMPUTE, ATTENTION, NEW): (False, -8),
    (TASKS, BAYES, NEW): (True, 10),
    (TASKS, ATTENTION, NEW): (True, -26),
    (TASKS, ATTENTION, OLD): (False, 12),
}
"""The place of each line's name: whether it stands at the line's end, and how many pixels below the line."""


def _panel(panel: str, frame: pd.DataFrame, setting: tuple[int, int, float]) -> Any:
    lines = _lines(panel, frame, setting)
    order = list(dict.fromkeys(frame[SERIES]))
    colour = alt.Color(f"{SERIES}:N", title=None, sort=order, scale=alt.Scale(domain=order, range=colours(len(order))))
    x = alt.X(f"{SIZE}:Q", title=AXES[panel], scale=alt.Scale(type="log", nice=False, padding=10),
              axis=log_axis(frame[SIZE]) if panel == TASKS else alt.Axis(format=".0e", tickCount=5, grid=False))  # fmt: skip
    y = alt.Y(f"{ERROR}:Q", title="test error", scale=alt.Scale(type="log", nice=False, padding=8),
              axis=alt.Axis(values=TICKS, format="~g"))  # fmt: skip
    dash = alt.StrokeDash(f"{LINE}:N", legend=None, scale=alt.Scale(domain=[BAYES, ATTENTION], range=[[2, 3], [6, 3]]))
    detail = alt.Detail(f"{SERIES}:N")
    theories = alt.Chart(lines).mark_line(color="black", strokeWidth=1.2).encode(x=x, y=y, strokeDash=dash, detail=detail)
    names = [
        alt.Chart(of.sort_values(SIZE).iloc[[-1 if at_end else 0]])
        .mark_text(align="right" if at_end else "left", dy=dy)
        .encode(x=x, y=y, text=alt.value(f"{line}, {series}" if panel == TASKS else line))
        for (line, series), of in lines.groupby([LINE, SERIES], sort=False)
        for at_end, dy in [_PLACES[panel, str(line), str(series)]]
    ]
    tooltip: list[Any] = [SERIES, SIZE, alt.Tooltip(f"{ERROR}:Q", format=".3g"), "n"]
    base = alt.Chart(frame).encode(x=x, color=colour)
    joined = base.mark_line(strokeWidth=1, opacity=0.6).encode(y=y)
    bars = base.mark_rule().encode(y=alt.Y("low:Q"), y2="high:Q")
    dots = base.mark_point(filled=True, size=35).encode(y=y, tooltip=tooltip)
    title = "over compute, by width" if panel == COMPUTE else "over training tasks"
    return alt.layer(theories, joined, bars, dots, *names).properties(width=380, height=320, title=title)


IN_CONTEXT_MLP = Figure(
    "InContextMLP", "MLPs on linear regression in context: over compute by width, and new and old tasks over training tasks",
    "[Tong24]", ("in_context_mlp_quick", "in_context_mlp"), _draw,
)  # fmt: skip
