"""The figure of spread over initial weights: the variance of outputs at fixed data, and their shift, against the width."""

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from analysis.charts.curves import log_axis, styled
from analysis.data.points import seeds
from analysis.data.selection import Selection, grid_keys
from analysis.figures.cases import CASE, Found, found
from analysis.figures.drawn import Drawn, Figure, Missing
from analysis.studies.along import Case
from sweepkit.console.words import counted
from sweepkit.stats import mean_interval

from .outputs import DATA, SHIFT, SIZE, SPREAD, Fall, fall, fall_of_means, outputs_of, shifts, spreads
from .theory import of_hermite

QUANTITY, LAW, THEORY = "quantity", "1/width", "lazy theory"
VARIANCE, OFFSET = "variance over weights", "shift of the mean output, along that of the narrowest"
_AXES = (SIZE, DATA)
_TRAINED = {"task": "hermite", "network": "mlp"}
SOLVED, INFINITE = "lazy, solved for", {"task": "hermite", "network": "tangent_kernel"}
CASES = (
    Case(SOLVED, {"task": "hermite", "network": "tangent"}, _AXES),
    *(Case(f"trained, gamma = {gamma:g}", {**_TRAINED, "gamma": gamma}, _AXES) for gamma in (0.05, 0.25, 1.0)),
)
ORDER = [*(case.title for case in CASES), OFFSET]


def _draw(results: str, sweep: str | None) -> Drawn | Missing:
    drawn = list(found(results, sweep, CASES, "test_mse"))
    frames, steps, said = [], [], []
    for one in drawn:
        networks = seeds(results, one.selection, None, grid_keys(results))
        outputs = outputs_of(results, networks["cell_id"])
        table = spreads(networks, outputs)
        if table.empty:
            continue
        law = fall(table, SPREAD)
        frames.append(_means(table, SPREAD).assign(**{CASE: one.case.title, QUANTITY: VARIANCE}))
        steps.append(law.local.assign(**{CASE: one.case.title}))
        said.append(f"{one.told}: variance ~ width^{_told(law)}; {counted(len(outputs), 'network')}")
        if one.case.title == SOLVED:
            frames[-1] = frames[-1].assign(**{THEORY: _theory(one) / frames[-1][SIZE]})
            off = _shifted(results, sweep, one, networks)
            if not off.empty:
                law = fall_of_means(off, SHIFT)
                frames.append(_means(off, SHIFT).assign(**{CASE: OFFSET, QUANTITY: OFFSET}))
                said.append(f"{OFFSET} ~ width^{_told(law)}")
    if not frames:
        return Missing("no networks of task hermite at two widths and two data seeds whose grid saves output")
    frame = pd.concat(frames, ignore_index=True)
    frame = frame.reindex(columns=[CASE, QUANTITY, SIZE, "mean", "low", "high", "n", THEORY])
    how = "Means over data sets with 95% intervals; dotted: 1/width through the widest; dashed: the lazy theory, not fitted"
    chart = styled(alt.hconcat(_sizes(frame), _slopes(pd.concat(steps, ignore_index=True)), spacing=30))
    return Drawn(chart, frame, f"{'. '.join(said)}. {how}.", ";\n\n".join(one.sql for one in drawn))


def _theory(one: Found) -> float:
    keys = one.setting.values
    return of_hermite(int(keys["degree"]), int(keys["d"]), int(keys["P"])).value  # type: ignore[arg-type]


def _shifted(results: str, sweep: str | None, one: Found, networks: pd.DataFrame) -> pd.DataFrame:
    """The shifts of the solved networks from those at infinite width on the same data."""
    same = {key: one.setting.values[key] for key in ("degree", "d", "P", "ridge")}
    limit = seeds(results, Selection(sweep).only({**INFINITE, **same}), None, grid_keys(results))
    return shifts(networks, limit, outputs_of(results, pd.concat([networks["cell_id"], limit["cell_id"]])))


def _means(table: pd.DataFrame, of: str) -> pd.DataFrame:
    """Means over data sets with 95% intervals, by width; `n` data sets."""
    rows = [(size, *mean_interval(values)[:4]) for size, values in table.groupby(SIZE)[of]]
    return pd.DataFrame(rows, columns=[SIZE, "mean", "low", "high", "n"])


def _told(law: Fall) -> str:
    at = law.exponent
    return "b without an interval" if at is None else f"{at.value:.2f} ({at.low:.2f} to {at.high:.2f})"


def _x(frame: pd.DataFrame) -> alt.X:
    return alt.X(f"{SIZE}:Q", title="width", scale=alt.Scale(type="log", nice=False, padding=12),
                 axis=log_axis(frame[SIZE], at_values=False))  # fmt: skip


def _sizes(frame: pd.DataFrame) -> Any:
    """Variances and shifts against the width, beside 1/width."""
    shown = frame[frame["mean"] > 0]
    shown = shown.assign(low=shown["low"].clip(lower=0.3 * shown["mean"]))
    x, scale = _x(shown), alt.Scale(type="log", nice=False)
    y = alt.Y("mean:Q", title="variance, or product of shifts", scale=scale, axis=log_axis(shown["mean"], at_values=False))
    base = alt.Chart(shown).encode(x=x, color=_colour())
    bars = base.mark_rule().encode(y=alt.Y("low:Q", scale=scale), y2="high:Q")
    dots = base.mark_point(filled=True, size=45).encode(
        y=y, tooltip=[CASE, SIZE, alt.Tooltip("mean:Q", format=".3g"), alt.Tooltip(f"{THEORY}:Q", format=".3g"), "n"]
    )
    lines = [of.assign(mean=of["mean"].iloc[-1] * of[SIZE].iloc[-1] / of[SIZE]) for _, of in shown.groupby(CASE, sort=False)]
    dotted = alt.Chart(pd.concat(lines)).mark_line(strokeDash=[1, 3]).encode(x=x, y=y, color=_colour())
    theory = alt.Chart(shown.dropna(subset=[THEORY])).mark_line(strokeDash=[5, 3], color="black")
    theory = theory.encode(x=x, y=alt.Y(f"{THEORY}:Q", scale=scale))
    return alt.layer(dotted, theory, bars, dots).properties(width=380, height=320, title="against the width")


def _slopes(local: pd.DataFrame) -> Any:
    """Slopes between neighbouring widths, beside -1."""
    cases = {case: i for i, case in enumerate(ORDER)}
    # Side by side, as the intervals of all cases lie at the same widths.
    shown = local.assign(**{SIZE: local[SIZE] * np.exp(0.06 * (local[CASE].map(cases) - 2))})
    base = alt.Chart(shown).encode(x=_x(shown), color=_colour())
    bars = base.mark_rule().encode(y=alt.Y("low:Q", title="local slope", scale=alt.Scale(zero=False)), y2="high:Q")
    dots = base.mark_point(filled=True, size=45).encode(y="slope:Q", tooltip=[CASE, SIZE, alt.Tooltip("slope:Q", format=".2f")])
    law = alt.Chart(pd.DataFrame({"slope": [-1.0]})).mark_rule(strokeDash=[1, 3], color="black").encode(y="slope:Q")
    return alt.layer(law, bars, dots).properties(width=300, height=320, title="slopes between neighbouring widths")


def _colour() -> alt.Color:
    return alt.Color(f"{CASE}:N", title=None, sort=ORDER, legend=alt.Legend(labelLimit=330, orient="bottom", columns=2))


FLUCTUATIONS = Figure(
    "Fluctuations", "Outputs at fixed data: their variance over initial weights, and their shift, fall as 1/width",
    "[Bordelon23]", ("fluctuations_quick", "fluctuations"), _draw,
)  # fmt: skip
