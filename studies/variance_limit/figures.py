"""The figure of the onset of variance: errors over that at infinite width against examples, and the onset against the width."""

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from analysis.charts.curves import colour_of, log_axis, styled
from analysis.data.points import seeds
from analysis.data.selection import Selection, grid_keys
from analysis.figures.cases import CASE, Found, found
from analysis.figures.drawn import Drawn, Figure, Missing
from analysis.studies.along import Case
from sweepkit.console.words import counted

from ..fluctuations.outputs import DATA, SIZE, outputs_of
from ..fluctuations.theory import onset_width
from .onset import EXAMPLES, Array, Onset, errors, onset
from .powers import Power, power, variances

MEASURE, FACTOR, SERIES, KIND = "test_mse", 1.5, "series", "of"
SINGLE, ENSEMBLE = "single networks", "ensembles"
LEAST = 16
"""The P from which powers of P are fitted: no onset lies below, and of fewer examples networks learn nothing."""
_AXES = (SIZE, EXAMPLES, DATA)
LAZY, INFINITE = "lazy, solved for", {"task": "hermite", "network": "tangent_kernel"}
CASES = (
    Case(LAZY, {"task": "hermite", "network": "tangent"}, _AXES),
    Case("rich, gamma = 1", {"task": "hermite", "network": "mlp", "gamma": 1.0}, _AXES),
)
ORDER = [f"{case.title}: {kind}" for case in CASES for kind in (SINGLE, ENSEMBLE)]


def _draw(results: str, sweep: str | None) -> Drawn | Missing:
    drawn, ratios, onsets, steps, said = list(found(results, sweep, CASES, MEASURE)), [], [], [], []
    for one in drawn:
        laws = _laws(results, sweep, one)
        for kind, law in laws.items():
            series = {CASE: one.case.title, KIND: kind, SERIES: f"{one.case.title}: {kind}"}
            ratios.append(law.ratios.assign(**series))
            onsets.append(law.points.assign(**series))
            steps.append(law.local.assign(**series))
        if laws:
            n = counted(int(one.setting.frame["n"].sum()), "network")
            said.append(f"{one.told}: {'; '.join(f'{kind} {_told(law)}' for kind, law in laws.items())}; {n}")
    if not ratios:
        return Missing("no networks of task hermite at two widths, P and data seeds whose grid saves output")
    frame, where = pd.concat(ratios, ignore_index=True), pd.concat(onsets, ignore_index=True)
    panels = [_ratios(title, of) for title, of in frame.groupby(CASE, sort=False)]
    rows = [alt.hconcat(*panels, spacing=30).resolve_scale(color="independent")]
    if (reached := where[np.isfinite(where["mean"]) & (where["mean"] > 0)]).size:
        rows.append(alt.hconcat(_onsets(reached, _theory(drawn)), _slopes(pd.concat(steps, ignore_index=True)), spacing=30))
    chart = alt.vconcat(*rows, spacing=25).resolve_scale(color="independent")
    how = f"P*: the first P with {FACTOR:g} times the error of infinite width; ensembles are those of all seeds of a data set. "
    how += "Means over data sets, 95% by the bootstrap over them; dashed ratios: ensembles; dotted: powers 1/2 and 1; "
    how += "dashed black: lazy networks to leading order in 1/width, not fitted"
    joined = frame.merge(where[[SERIES, SIZE, "mean"]].rename(columns={"mean": "P*"}), on=[SERIES, SIZE])
    shown = joined[[CASE, KIND, SIZE, EXAMPLES, "ratio", "low", "high", "P*"]]
    return Drawn(styled(chart), shown, f"{'. '.join(said)}. {how}.", ";\n\n".join(one.sql for one in drawn))


def _laws(results: str, sweep: str | None, one: Found) -> dict[str, Onset]:
    """The onsets of single networks and of ensembles, beside the kernel or, of trained networks, the ensemble of the widest."""
    networks, limit, outputs = sides(results, sweep, one)
    infinite = errors(limit, outputs, ensemble=True)
    own = {kind: errors(networks, outputs, kind == ENSEMBLE) for kind in (SINGLE, ENSEMBLE)}
    return {kind: onset(of, infinite, FACTOR) for kind, of in own.items() if len(of) and len(infinite)}


def sides(results: str, sweep: str | None, one: Found) -> tuple[pd.DataFrame, pd.DataFrame, Mapping[str, Array]]:
    """The networks of a case, those that stand for infinite width, and the outputs of both."""
    networks = seeds(results, one.selection, MEASURE, grid_keys(results))
    if one.case.title == LAZY:
        same = {key: one.setting.values[key] for key in ("degree", "d", "ridge", "test_size")}
        limit = seeds(results, Selection(sweep).only({**INFINITE, **same}), MEASURE, grid_keys(results)).fillna({SIZE: 0})
    else:
        widest = networks[SIZE] == networks[SIZE].max()
        networks, limit = networks[~widest], networks[widest]
    return networks, limit, outputs_of(results, pd.concat([networks["cell_id"], limit["cell_id"]]))


def _theory(drawn: list[Found]) -> pd.DataFrame:
    """The width of lazy networks that have their onset at each P, to leading order in 1/width."""
    rows = []
    for one in (each for each in drawn if each.case.title == LAZY):
        degree, d = (int(one.setting.values[key]) for key in ("degree", "d"))  # type: ignore[arg-type]
        rows = [(onset_width(degree, d, int(P), FACTOR), P) for P in sorted(one.setting.frame[EXAMPLES].unique())]
    return pd.DataFrame(rows, columns=[SIZE, "mean"])


def _told(law: Onset) -> str:
    at = ", ".join(f"{point['mean']:.3g} at {point[SIZE]:g}" for point in law.points.to_dict("records"))
    power = law.exponent
    return f"P* {at}" + ("" if power is None else f", ~ width^{power.value:.2f} ({power.low:.2f} to {power.high:.2f})")


def _ratios(title: Any, frame: pd.DataFrame) -> Any:
    """Errors over that at infinite width; beyond ten times it nothing is shown."""
    x = alt.X(f"{EXAMPLES}:Q", title="training examples P", scale=alt.Scale(type="log", nice=False, padding=10),
              axis=log_axis(frame[EXAMPLES], at_values=False))  # fmt: skip
    scale = alt.Scale(type="log", nice=False, domain=[0.7, 10])
    y = alt.Y("ratio:Q", title="error over that at infinite width", scale=scale, axis=alt.Axis(values=[1, FACTOR, 2, 5, 10]))
    whole = frame.assign(**{SIZE: frame[SIZE].astype(int)})
    base = alt.Chart(whole).encode(x=x, color=colour_of(whole, SIZE))
    lines = base.mark_line(clip=True).encode(y=y, strokeDash=_dash())
    bars = (
        base.transform_filter(alt.datum[KIND] == SINGLE).mark_rule(clip=True).encode(y=alt.Y("low:Q", scale=scale), y2="high:Q")
    )
    level = alt.Chart(pd.DataFrame({"ratio": [FACTOR]})).mark_rule(strokeDash=[1, 3], color="black").encode(y=y)
    dots = base.mark_point(filled=True, size=25, clip=True).encode(
        y=y, tooltip=[KIND, SIZE, EXAMPLES, alt.Tooltip("ratio:Q", format=".3g")]
    )
    return alt.layer(level, bars, lines, dots).properties(width=380, height=280, title=str(title))


def _onsets(reached: pd.DataFrame, theory: pd.DataFrame) -> Any:
    """P* against the width, beside the lazy theory, and powers 1/2 and 1 through the middle of all."""
    least, most = 0.5 * float(reached["mean"].min()), 2 * float(reached["mean"].max())
    shown = reached.assign(low=reached["low"].clip(lower=least), high=reached["high"].clip(upper=most))
    sizes, middle = np.array(sorted(shown[SIZE].unique()), float), float(np.exp(np.log(shown["mean"]).mean()))
    centre = np.exp(np.log(shown[SIZE].to_numpy(float)).mean())
    guides = pd.concat([pd.DataFrame({SIZE: sizes, "mean": middle * (sizes / centre) ** b, "b": b}) for b in (0.5, 1.0)])
    scale = alt.Scale(type="log", nice=False, domain=[least, most])
    x, y = _x(shown), alt.Y("mean:Q", title="onset P*", scale=scale, axis=log_axis(shown["mean"], at_values=False))
    dotted = alt.Chart(guides).mark_line(strokeDash=[1, 3], color="black", clip=True).encode(x=x, y=y, detail="b:N")
    base = alt.Chart(shown).encode(x=x, color=_colour())
    bars = base.mark_rule(clip=True).encode(y=alt.Y("low:Q", scale=scale), y2="high:Q")
    line = base.mark_line(point=True).encode(y=y, tooltip=[SERIES, SIZE, alt.Tooltip("mean:Q", format=".3g")])
    inside = theory[theory[SIZE].between(sizes[0], sizes[-1])]
    dashed = alt.Chart(inside).mark_line(strokeDash=[5, 3], color="black", clip=True).encode(x=x, y=y)
    return alt.layer(dotted, dashed, bars, line).properties(width=380, height=280, title="the onset against the width")


def _slopes(local: pd.DataFrame) -> Any:
    """Slopes between neighbouring widths, side by side, beside 1/2 and 1."""
    shown = local.assign(**{SIZE: local[SIZE] * np.exp(0.07 * (local[SERIES].map(ORDER.index) - 1.5))})
    base = alt.Chart(shown).encode(x=_x(shown), color=_colour())
    bars = base.mark_rule(clip=True).encode(
        y=alt.Y("low:Q", title="local slope", scale=alt.Scale(domain=[-0.5, 2.5])), y2="high:Q"
    )
    dots = base.mark_point(filled=True, size=45, clip=True).encode(
        y="slope:Q", tooltip=[SERIES, alt.Tooltip("slope:Q", format=".2f")]
    )
    laws = alt.Chart(pd.DataFrame({"slope": [0.5, 1.0]})).mark_rule(strokeDash=[1, 3], color="black").encode(y="slope:Q")
    return alt.layer(laws, bars, dots).properties(width=380, height=280, title="its slopes between neighbouring widths")


def _x(frame: pd.DataFrame) -> alt.X:
    return alt.X(f"{SIZE}:Q", title="width", scale=alt.Scale(type="log", nice=False, padding=12),
                 axis=log_axis(frame[SIZE], at_values=False))  # fmt: skip


def _dash() -> alt.StrokeDash:
    return alt.StrokeDash(f"{KIND}:N", title=None, scale=alt.Scale(domain=[SINGLE, ENSEMBLE], range=[[1, 0], [5, 3]]))


def _colour() -> alt.Color:
    return alt.Color(f"{SERIES}:N", title=None, sort=ORDER, legend=alt.Legend(labelLimit=330))


def _draw_powers(results: str, sweep: str | None) -> Drawn | Missing:
    """How the error at infinite width and the variance depend on P, which together decide how the onset grows with the width."""
    drawn = list(found(results, sweep, CASES, MEASURE))
    limits, spreads, said = [], [], []
    for one in drawn:
        networks, limit, outputs = sides(results, sweep, one)
        law = power(errors(limit, outputs, ensemble=True), LEAST)
        limits.append(law.points.assign(**{CASE: one.case.title}))
        told = [f"{one.case.title}: E_inf ~ P^{_power(law)}"]
        for size, of in variances(networks, outputs).groupby(SIZE):
            each = power(of, LEAST)
            scaled = each.points.assign(**{CASE: one.case.title, SIZE: size})
            ends = ["mean", "low", "high"]
            scaled[ends] = scaled[ends].mul(scaled[SIZE], axis=0)
            spreads.append(scaled)
            told.append(f"variance at width {size} ~ P^{_power(each)}")
        said.append(", ".join(told))
    if not spreads:
        return Missing("no networks of task hermite at two widths, P and data seeds whose grid saves output")
    at_limit, scaled = pd.concat(limits, ignore_index=True), pd.concat(spreads, ignore_index=True)
    panels = [_falling(at_limit, "error at infinite width", colour_of(at_limit, CASE)).properties(title="the limit")]
    for title, of in scaled.groupby(CASE, sort=False):
        whole = of.assign(**{SIZE: of[SIZE].astype(int)})
        panels.append(_falling(whole, "width x variance of outputs", colour_of(whole, SIZE)).properties(title=str(title)))
    chart = alt.hconcat(*panels, spacing=25).resolve_scale(color="independent")
    frame = pd.concat([at_limit, scaled], ignore_index=True)[[CASE, SIZE, EXAMPLES, "mean", "low", "high"]]
    how = f"Exponents from P = {LEAST} on, 95% by the bootstrap over data sets; without a width: error at infinite width"
    return Drawn(styled(chart), frame, f"{'. '.join(said)}. {how}.", ";\n\n".join(one.sql for one in drawn))


def _power(law: Power) -> str:
    return "?" if law.exponent is None else f"{law.exponent.value:.2f} ({law.exponent.low:.2f} to {law.exponent.high:.2f})"


def _falling(frame: pd.DataFrame, title: str, colour: Any) -> Any:
    """Means over P on two logarithmic axes."""
    ends = [float(frame.loc[frame["low"] > 0, "low"].min()), float(frame["high"].max())]
    scale = alt.Scale(type="log", nice=False, domain=ends)
    x = alt.X(f"{EXAMPLES}:Q", title="training examples P", scale=alt.Scale(type="log", nice=False, padding=10),
              axis=log_axis(frame[EXAMPLES], at_values=False))  # fmt: skip
    y = alt.Y("mean:Q", title=title, scale=scale, axis=log_axis(frame["mean"], at_values=False, grid=True, format="~g"))
    base = alt.Chart(frame).encode(x=x, color=colour)
    bars = base.mark_rule(clip=True).encode(y=alt.Y("low:Q", scale=scale), y2="high:Q")
    line = base.mark_line(point=True, clip=True).encode(y=y, tooltip=[EXAMPLES, alt.Tooltip("mean:Q", format=".3g")])
    return alt.layer(bars, line).properties(width=270, height=250)


VARIANCE_LIMIT = Figure(
    "VarianceLimit", "The onset of variance: from how many examples on networks of finite width are worse than infinite ones",
    "[Atanasov23]", ("variance_limit_quick", "variance_limit"), _draw,
)  # fmt: skip
ONSET_POWERS = Figure(
    "OnsetPowers", "Why variance sets in where it does: the error at infinite width and the variance against the examples",
    "docs/science/findings.md", ("variance_limit_quick", "variance_limit"), _draw_powers,
)  # fmt: skip
