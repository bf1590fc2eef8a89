"""The figure of linear regression in context: test errors of linear attention over training contexts, and over training tasks."""

from collections.abc import Iterable
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from analysis.charts.curves import colours, log_axis, styled
from analysis.figures.cases import CASE, Found, found
from analysis.figures.drawn import Drawn, Figure, Missing
from analysis.studies.along import Case
from sweepkit.console.words import counted

from . import theory

MEASURE = "test_mse"
PANEL, SHARE, ERROR, LAW, SERIES, LINE = "panel", "share", "mean", "law", "test on", "line"
CONTEXTS, TASKS = "contexts", "tasks"
AXES = {CONTEXTS: "P/d^2, training contexts", TASKS: "k/d, training tasks"}
NEW, OLD = "new tasks", "old tasks"
LIMIT, NAIVE = "large d", "without fluctuations"
SIZES = (8, 12, 16, 20, 24, 32, 48, 64)
"""The d that are shown."""
N_OF_LAW = 30
"""Points of a line of theory at finite d."""
TICKS = [0.1, 0.2, 0.3, 0.5, 1, 2, 3, 5, 10]
_ATTENTION = {"task": "in_context", "network": "linear_attention"}


def _draw(results: str, sweep: str | None) -> Drawn | Missing:
    frames, drawn = [], []
    for panel, axes in ((CONTEXTS, ("P",)), (TASKS, ("train_tasks",))):
        tests = ("new",) if panel == CONTEXTS else ("new", "old")
        for tested in tests:
            cases = [Case(f"d = {d}", {**_ATTENTION, "d": d, "tested": tested}, axes) for d in SIZES]
            for one in found(results, sweep, cases, MEASURE):
                frames.append(_measured(panel, tested, one))
                drawn.append(one)
    if not frames:
        return Missing("no networks linear_attention on task in_context at two P or two train_tasks")
    frame = pd.concat(frames, ignore_index=True)
    titles = list(dict.fromkeys(frame.sort_values("d")[CASE]))
    panels = [_panel(panel, frame[frame[PANEL] == panel], titles) for panel in AXES if (frame[PANEL] == panel).any()]
    caption = (
        f"{_told(frame)}. Solid: regression on Gaussian features of the same moments, at the same d; black: d to infinity; "
        f"dotted: without fluctuations of what is learnt; nothing is fitted. {_settings(frame)}; "
        f"{counted(int(frame['n'].sum()), 'network')}. Means with 95% intervals."
    )
    shown = frame[[PANEL, CASE, SERIES, SHARE, ERROR, "low", "high", LAW, "n"]]
    return Drawn(styled(alt.hconcat(*panels, spacing=30)), shown, caption, ";\n\n".join(one.sql for one in drawn))


def _measured(panel: str, tested: str, one: Found) -> pd.DataFrame:
    """Points of a case with the theory at their d; the settings of its curves in columns of their own."""
    values = one.setting.values
    d, context = int(values["d"] or 0), int(values["context"] or 0)
    rho, ridge = float(values["noise"] or 0), float(values["ridge"] or 0)
    frame = one.setting.frame.dropna(subset="train_tasks" if panel == TASKS else "P")
    k = frame["train_tasks"] if panel == TASKS else pd.Series(np.nan, frame.index)
    P = frame["P"] if panel == CONTEXTS else pd.Series(float(values["P"] or 0), frame.index)
    columns: dict[str, Any] = {
        PANEL: panel, CASE: one.case.title, "d": d, SERIES: NEW if tested == "new" else OLD, "P": P,
        SHARE: (frame["P"] / d**2 if panel == CONTEXTS else frame["train_tasks"] / d).astype(float),
        LAW: _law(d, context, k, P, ridge, rho, tested), "context": context, "ridge": ridge, "noise": rho,
    }  # fmt: skip
    return frame.assign(**columns)


def _law(d: int, context: int, k: Iterable[float], P: Iterable[float], ridge: float, rho: float, tested: str) -> list[float]:
    """The theory at d for each number of tasks, NaN where each context has its own, and of contexts."""
    said = [
        theory.drawn(d, context, None if np.isnan(tasks) else round(tasks), round(contexts), ridge, rho)
        for tasks, contexts in zip(k, P, strict=True)
    ]
    return [errors.new if tested == "new" else errors.old for errors in said]


def _laws(panel: str, frame: pd.DataFrame) -> pd.DataFrame:
    """The theory at each d between the least and the largest number of contexts or tasks there."""
    key, parts = "P" if panel == CONTEXTS else "train_tasks", []
    for (title, series), of in frame.groupby([CASE, SERIES], sort=False):
        first = of.iloc[0]
        # Whole numbers, and not the same one twice.
        sizes = np.unique(np.geomspace(of[key].min(), of[key].max(), N_OF_LAW).round())
        other = np.full(len(sizes), np.nan if panel == CONTEXTS else first["P"])
        k, P = (other, sizes) if panel == CONTEXTS else (sizes, other)
        law = _law(
            int(first["d"]), int(first["context"]), k, P, first["ridge"], first["noise"], "new" if series == NEW else "old"
        )
        share = sizes / first["d"] ** (2 if panel == CONTEXTS else 1)
        parts.append(pd.DataFrame({CASE: title, SERIES: series, SHARE: share, ERROR: law}))
    return pd.concat(parts, ignore_index=True)


def _limits(panel: str, frame: pd.DataFrame) -> pd.DataFrame:
    """The theory of infinite d in the panel's range, once for each setting."""
    shares, rows = np.geomspace(frame[SHARE].min(), frame[SHARE].max(), 80), []
    settings = frame.assign(tau=frame["P"] / frame["d"] ** 2 if panel == TASKS else np.nan, alpha=frame["context"] / frame["d"])
    for tau, alpha, ridge, rho in (
        settings[["tau", "alpha", "ridge", "noise"]].drop_duplicates().itertuples(index=False, name=None)
    ):
        for x in shares:
            errors = theory.limit(x if panel == CONTEXTS else tau, alpha, np.inf if panel == CONTEXTS else x, ridge, rho)
            rows += [(x, LIMIT, NEW, errors.new), (x, NAIVE, NEW, errors.naive)]
            rows += [(x, LIMIT, OLD, errors.old)] if panel == TASKS else []
    return pd.DataFrame(rows, columns=[SHARE, LINE, SERIES, ERROR])


def _told(frame: pd.DataFrame) -> str:
    said = []
    for (panel, title, series), of in frame.groupby([PANEL, CASE, SERIES], sort=False):
        ratios = of[ERROR] / of[LAW]
        peak = f", largest at {of[SHARE].iloc[int(of[ERROR].argmax())]:.2f} d^2" if panel == CONTEXTS else ""
        said.append(f"over {panel}, {title}, {series}: {ratios.min():.2f} to {ratios.max():.2f}{peak}")
    return "Measured over the theory at that d, " + "; ".join(said)


def _settings(frame: pd.DataFrame) -> str:
    """Words for what the points of each panel have in common."""
    said = []
    for panel, of in frame.groupby(PANEL, sort=False):
        each = zip(of["context"] / of["d"], of["P"] / of["d"] ** 2, of["ridge"], of["noise"], strict=True)
        for alpha, tau, ridge, rho in dict.fromkeys((a, t if panel == TASKS else None, r, n) for a, t, r, n in each):
            contexts = "" if tau is None else f" P = {tau:g} d^2,"
            said.append(f"over {panel}:{contexts} contexts of {alpha:g} d examples, noise {rho:g}, ridge {ridge:g}")
    return "; ".join(said)


def _panel(panel: str, frame: pd.DataFrame, titles: list[str]) -> Any:
    lines, laws = _limits(panel, frame), _laws(panel, frame)
    colour = alt.Color(f"{CASE}:N", title=None, scale=alt.Scale(domain=titles, range=colours(len(titles))))
    least, most = float(frame[[ERROR, LAW]].min().min()), float(frame[["high", LAW]].max().max())
    scale = alt.Scale(type="log", nice=False, domain=[0.9 * least, 1.1 * most])
    x = alt.X(f"{SHARE}:Q", title=AXES[panel], scale=alt.Scale(type="log", nice=False, padding=10),
              axis=log_axis(frame[SHARE], at_values=False))  # fmt: skip
    y = alt.Y(f"{ERROR}:Q", title="test error", scale=scale, axis=alt.Axis(values=TICKS, format="~g"))
    shape = alt.Shape(f"{SERIES}:N", title=None, scale=alt.Scale(domain=[NEW, OLD], range=["circle", "square"]))
    dash = alt.StrokeDash(f"{LINE}:N", title=None, scale=alt.Scale(domain=[LIMIT, NAIVE], range=[[1, 0], [2, 3]]))
    limits = (
        alt.Chart(lines)
        .mark_line(strokeWidth=1.2, color="black", clip=True)
        .encode(x=x, y=y, detail=f"{SERIES}:N", strokeDash=dash)
    )
    base = alt.Chart(frame).encode(x=x, color=colour)
    solved = alt.Chart(laws).mark_line(strokeWidth=1, clip=True).encode(x=x, y=y, color=colour, detail=f"{SERIES}:N")
    bars = base.mark_rule(clip=True).encode(y=alt.Y("low:Q", scale=scale), y2="high:Q")
    tooltip: list[Any] = [
        CASE,
        SERIES,
        SHARE,
        alt.Tooltip(f"{ERROR}:Q", format=".3g"),
        alt.Tooltip(f"{LAW}:Q", format=".3g"),
        "n",
    ]
    dots = base.mark_point(filled=True, size=40).encode(y=y, shape=shape, tooltip=tooltip)
    return alt.layer(limits, solved, bars, dots).properties(width=380, height=320, title=f"over {panel}")


IN_CONTEXT = Figure(
    "InContext", "Linear regression in context: the peak over training contexts, and old and new tasks over training tasks",
    "[Lu25]", ("in_context_quick", "in_context"), _draw,
)  # fmt: skip
