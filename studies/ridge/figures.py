"""The figure of ridge learning curves: test errors of kernel ridge regression over P, beside the law and its rivals."""

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from analysis.charts.curves import log_axis, styled
from analysis.data.points import points
from analysis.figures.cases import CASE, Found, found
from analysis.figures.drawn import Drawn, Figure, Missing
from analysis.studies.along import Case
from analysis.theory.ridge_curves import Errors, of_hermite
from sweepkit.console.words import counted

SERIES, LINE, EXAMPLES, MEASURE = "target", "line", "P", "test_mse"
LAW, NAIVE, INVERSE = "law", "naive", "1/P"
FROM_TRAINING = "from training errors"
CASES = tuple(
    Case(f"d = {d}, ridge {ridge:g}", {"task": "hermite", "network": "erf_kernel", "d": d, "ridge": ridge}, ("degree", EXAMPLES))
    for d, ridge in ((12, 0.001), (32, 0.1))
)


def _draw(results: str, sweep: str | None) -> Drawn | Missing:
    drawn = list(found(results, sweep, CASES, MEASURE))
    if not drawn:
        return Missing("no network erf_kernel on task hermite of two degrees and two P")
    frame = pd.concat([_measured(results, one) for one in drawn], ignore_index=True)
    lines = pd.concat([_lines(title, of) for title, of in frame.groupby(CASE, sort=False)], ignore_index=True)
    n = counted(int(frame["n"].sum()), "network")
    said = "; ".join(_told(title, of) for title, of in frame.groupby(CASE, sort=False))
    how = (
        "Solid: the law; dashed: the naive error, without fluctuations; dotted: 1/P through the first point; nothing is fitted. "
        "Crosses: generalised cross validation, training errors over (1 - df/P)^2. Means with 95% intervals"
    )
    caption = f"{'; '.join(one.told for one in drawn)}; {n}. Measured over the law: {said}. {how}."
    panels = [_panel(title, of, lines[lines[CASE] == title]) for title, of in frame.groupby(CASE, sort=False)]
    shown = frame[[CASE, "degree", EXAMPLES, "mean", "low", "high", LAW, NAIVE, FROM_TRAINING, "n"]]
    return Drawn(styled(alt.hconcat(*panels, spacing=30)), shown, caption, ";\n\n".join(one.sql for one in drawn))


def _measured(results: str, one: Found) -> pd.DataFrame:
    """Points of a case with the law's errors, and the test errors that mean training errors stand for."""
    keys = ["degree", EXAMPLES, "d", "ridge"]
    frame = one.setting.frame.assign(**{key: float(one.case.where[key]) for key in ("d", "ridge")})
    training = points(results, one.selection, "final_train_loss").frame[["degree", EXAMPLES, "mean"]]
    frame = frame.merge(training.rename(columns={"mean": "mean_training"}), on=["degree", EXAMPLES], how="left")
    of = [_law(row) for row in frame[keys].to_dict("records")]
    columns: dict[str, Any] = {
        CASE: one.case.title,
        SERIES: frame["degree"].map("He_{:g}".format),
        LAW: [e.test for e in of],
        NAIVE: [e.naive for e in of],
        FROM_TRAINING: frame["mean_training"] / [(1 - e.df / P) ** 2 for e, P in zip(of, frame[EXAMPLES], strict=True)],
    }
    return frame.assign(**columns)


def _law(at: dict[Any, Any]) -> Errors:
    return of_hermite(int(at["degree"]), int(at["d"]), float(at[EXAMPLES]), float(at["ridge"]))


def _lines(title: Any, frame: pd.DataFrame) -> pd.DataFrame:
    """The law and its rivals between the least and the largest P of a case."""
    sizes = np.geomspace(frame[EXAMPLES].min(), frame[EXAMPLES].max(), 60)
    rows = []
    for (target, degree), of in frame.groupby([SERIES, "degree"]):
        first = of.sort_values(EXAMPLES).iloc[0]
        for P in sizes:
            said = _law({"degree": degree, "d": first["d"], "ridge": first["ridge"], EXAMPLES: P})
            inverse = float(first["mean"] * first[EXAMPLES] / P)
            rows += [(title, target, line, P, y) for line, y in ((LAW, said.test), (NAIVE, said.naive), (INVERSE, inverse))]
    return pd.DataFrame(rows, columns=[CASE, SERIES, LINE, EXAMPLES, "mean"])


def _told(title: Any, frame: pd.DataFrame) -> str:
    ratios = frame.assign(ratio=frame["mean"] / frame[LAW]).groupby(SERIES)["ratio"].agg(["min", "max"])
    return f"{title}: " + ", ".join(f"{target} {row['min']:.2f} to {row['max']:.2f}" for target, row in ratios.iterrows())


def _panel(title: Any, frame: pd.DataFrame, lines: pd.DataFrame) -> Any:
    x = alt.X(f"{EXAMPLES}:Q", title="training examples P", scale=alt.Scale(type="log", nice=False, padding=10),
              axis=log_axis(frame[EXAMPLES], at_values=False))  # fmt: skip
    least = float(frame[["mean", LAW, NAIVE]].min().min())
    scale = alt.Scale(type="log", nice=False, domain=[0.8 * least, 1.2 * float(frame[["high", LAW]].max().max())])
    y = alt.Y("mean:Q", title="test error", scale=scale, axis=log_axis(frame["mean"], at_values=False))
    colour = alt.Color(f"{SERIES}:N", title=None)
    dash = alt.StrokeDash(f"{LINE}:N", title=None, scale=alt.Scale(domain=[LAW, NAIVE, INVERSE], range=[[1, 0], [5, 3], [1, 3]]))
    theory = alt.Chart(lines).mark_line(strokeWidth=1.3, clip=True).encode(x=x, y=y, color=colour, strokeDash=dash)
    base = alt.Chart(frame).encode(x=x, color=colour)
    bars = base.mark_rule(clip=True).encode(y=alt.Y("low:Q", scale=scale), y2="high:Q")
    dots = base.mark_point(filled=True, size=45).encode(
        y=y, tooltip=[SERIES, EXAMPLES, alt.Tooltip("mean:Q", format=".3g"), alt.Tooltip(f"{LAW}:Q", format=".3g"), "n"]
    )
    crosses = base.mark_point(shape="cross", size=30, clip=True).encode(y=alt.Y(f"{FROM_TRAINING}:Q", scale=scale))
    return alt.layer(theory, bars, dots, crosses).properties(width=380, height=320, title=title)


RIDGE = Figure(
    "RidgeCurves", "Learning curves of kernel ridge regression, step by step, and what the kernel cannot learn",
    "[Simon21], [Canatar21], [Bordelon20]", ("ridge_quick", "ridge"), _draw,
)  # fmt: skip
