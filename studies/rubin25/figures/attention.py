"""Figure of softmax attention at equilibrium: alignment over P at several d and Lc, and in units of the laws [Rubin25 Sec. 6.2].

d, Lc   dimension and number of tokens; A_f alignment; P* samples at which its mean over seeds crosses LEVEL
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import altair as alt
import numpy as np
import pandas as pd

from analysis.charts.curves import log_axis, styled
from analysis.data.points import Setting, one_setting, points
from analysis.data.selection import Selection
from analysis.figures.drawn import Drawn, Figure, Missing
from analysis.scaling.charts import threshold_panel
from analysis.scaling.rescaling import Family, family, in_units
from analysis.scaling.thresholds import fitted, threshold_table, thresholds
from sweepkit.stats import local_slopes, power_law
from sweepkit.store.searches import Question

from ..theory import attention
from .alignment import told

LEVEL = 0.15
"""Half of the first step of A_f, to some 0.3, which a single head makes."""
UNITS = {"sqrt(Lc d^3)": (0.5, 1.5), "Lc d^3, lazy limit": (1.0, 3.0), "d": (0.0, 1.0), "P itself": (0.0, 0.0)}
"""Units of P that should make curves coincide, as exponents of Lc and d; the first is the law, the others are its rivals."""
THEORY_UNIT = "theory's P*"
DRAWN = np.linspace(0.01, 0.45, 60)
"""Alignments at which theory's curves are drawn."""


class _Measured(NamedTuple):
    whole: Setting
    sql: str
    heads: int
    kappa: float


def alignment(results: str, sweep: str | None) -> Drawn | Missing:
    """A_f over P beside theory, over P in units of the law, how much P* spreads in each unit, and P* over d and Lc."""
    found = points(results, Selection(sweep).only({"task": "token_pairs", "network": "attention"}), "alignment_f")
    if found.frame.empty:
        return Missing("no attention at equilibrium on pairs of tokens")
    whole = one_setting(found.frame, found.keys, ("P", "d", "context"), declared=found.declared)
    frame = whole.frame[(whole.frame["P"] > 0) & (whole.frame["context"] >= attention.LEAST_CONTEXT)]
    if frame.empty:
        return Missing(f"no attention with samples and at least {attention.LEAST_CONTEXT} tokens")
    measured = _Measured(whole._replace(frame=frame), found.sql, int(frame["width"].iloc[0]), float(frame["kappa"].iloc[0]))
    sized = frame.assign(
        size=frame.groupby(["context", "d"]).ngroup(),
        sizes=[f"d = {d:g}, Lc = {c:g}" for d, c in zip(frame["d"], frame["context"], strict=True)],
    )
    try:
        curves = family(sized, "P", "size", found.measure)
    except ValueError as error:
        return Missing(f"no curves to compare: {error}")
    scores = _scores(curves, measured)
    law = in_units(curves, _unit(curves.frame, *UNITS["sqrt(Lc d^3)"]), "sqrt(Lc d^3)")
    panels = [
        _panel(curves.frame, "P", "training examples P", _theory(curves.frame, measured)),
        _panel(law.frame, "rescaled", "P / sqrt(Lc d^3)", None),
        _score_panel(scores),
    ]
    said = [f"{r['unit']} {r['spread']:.2f} ({r['S']:.3g}, {r['compared']} points)" for r in scores.to_dict("records")]
    for against, other in (("d", "context"), ("context", "d")):
        if (one := _law(measured, against, other)) is not None:
            panels.append(one[0])
            said.append(one[1])
    chart = styled(alt.concat(*panels, columns=2, spacing=24).resolve_scale(color="independent", strokeDash="independent"))
    caption = (
        f"{told(results, sweep, measured.whole)}. Dashed: theory for many tokens, nothing fitted. P* at A_f = {LEVEL:g}. "
        f"Spread of ln P* over sizes (and collapse score S of the points whose curves overlap), in units of {'; '.join(said)}."
    )
    columns = ["d", "context", "P", "rescaled", "n", "mean", "low", "high"]
    return Drawn(chart, law.frame[columns], caption, found.sql)


def _unit(frame: pd.DataFrame, of_context: float, of_d: float) -> "pd.Series[float]":
    return frame["context"].astype(float) ** of_context * frame["d"].astype(float) ** of_d


def _scores(curves: Family, measured: _Measured) -> pd.DataFrame:
    """How well curves coincide in each unit: S, how many points it compares, and the spread of P*.

    That is the standard deviation of ln P* in this unit over the sizes that reach LEVEL.
    """
    reached = _reached(thresholds(measured.whole.frame, LEVEL, "P"))
    found = []
    for name, of in _units(measured).items():
        quality = in_units(curves, of(curves.frame), name).quality
        logs = np.log(reached["threshold"].to_numpy(float) / of(reached).to_numpy(float))
        spread = float(np.std(logs, ddof=1)) if len(logs) > 1 else float("nan")
        found.append({"unit": name, "S": quality.quality, "compared": quality.n_points, "spread": spread})
    return pd.DataFrame(found)


def _units(measured: _Measured) -> dict[str, Callable[[pd.DataFrame], "pd.Series[float]"]]:
    """Each unit as a function of a frame with sizes."""
    powers = {name: partial(_unit, of_context=of_context, of_d=of_d) for name, (of_context, of_d) in UNITS.items()}
    return {**powers, THEORY_UNIT: partial(_samples, measured=measured)}


def _reached(curves: pd.DataFrame) -> pd.DataFrame:
    table = threshold_table(curves, ["d", "context"])
    return table[table["state"] == "reached"]


def _samples(frame: pd.DataFrame, measured: _Measured) -> "pd.Series[float]":
    """Theory's P* at LEVEL for the size of each row."""
    sizes = zip(frame["d"].astype(int), frame["context"].astype(int), strict=True)
    said = [attention.samples(LEVEL, d, c, measured.heads, measured.kappa) for d, c in sizes]
    return pd.Series(said, index=frame.index, dtype=float)


def _theory(frame: pd.DataFrame, measured: _Measured) -> pd.DataFrame:
    """Theory's curves, within the P measured at each size."""
    found = []
    for _, part in frame.groupby("size"):
        d, context, sizes = (part[key].iloc[0] for key in ("d", "context", "sizes"))
        P = np.array([attention.samples(float(a), int(d), int(context), measured.heads, measured.kappa) for a in DRAWN])
        found.append(pd.DataFrame({"P": P, "mean": DRAWN}).assign(sizes=sizes)[part["P"].max() >= P])
    return pd.concat(found, ignore_index=True)


def _panel(frame: pd.DataFrame, x: str, title: str, theory: pd.DataFrame | None) -> Any:
    """Alignment over x, one colour for each size, with intervals; theory dashed."""
    order = list(frame.sort_values(["context", "d"])["sizes"].unique())
    on_x = alt.X(f"{x}:Q", title=title, scale=alt.Scale(type="log", padding=10), axis=log_axis(frame[x], at_values=False))
    on_y = alt.Y("mean:Q", title="alignment A_f")
    colour = alt.Color("sizes:N", title="size", sort=order)
    base = alt.Chart(frame).encode(x=on_x, color=colour)
    known = frame.dropna(subset=["low", "high"])
    layers: list[Any] = [
        alt.Chart(known).mark_rule(opacity=0.6).encode(x=on_x, y="low:Q", y2="high:Q", color=colour),
        base.mark_line(strokeWidth=1.5).encode(y=on_y),
        base.mark_point(filled=True, size=40, opacity=1).encode(y=on_y, tooltip=["sizes:N", "P:Q", "mean:Q", "n:Q"]),
    ]
    if theory is not None:
        layers.append(alt.Chart(theory).mark_line(strokeDash=[6, 4], clip=True).encode(x=on_x, y=on_y, color=colour))
    return alt.layer(*layers).properties(width=300, height=280)


def _score_panel(scores: pd.DataFrame) -> Any:
    """The spread of P* in each unit."""
    x = alt.X("spread:Q", title="spread of ln P* over sizes", scale=alt.Scale(zero=True, padding=20))
    hover = ["unit:N", "spread:Q", "S:Q", "compared:Q"]
    base = alt.Chart(scores.dropna(subset=["spread"])).encode(x=x, y=alt.Y("unit:N", title="P in units of", sort=None))
    marks = base.mark_point(filled=True, size=80, opacity=1).encode(tooltip=hover)
    return (marks + base.mark_text(dy=-10).encode(text=alt.Text("spread:Q", format=".2f"))).properties(width=200, height=280)


def _law(measured: _Measured, against: str, other: str) -> tuple[Any, str] | None:
    """P* over d at the Lc with most d, or over Lc, beside theory: a panel, and the exponents and local slopes in words; None
    without two thresholds."""
    frame = measured.whole.frame
    at = float(str(frame.groupby(other)[against].nunique().idxmax()))
    part = frame[frame[other] == at].reset_index(drop=True)
    if part[against].nunique() < 2:
        return None
    curves = thresholds(part, LEVEL, "P")
    table, reached = threshold_table(curves, ["d", "context"]), _reached(curves).sort_values(against)
    if len(reached) < 2:
        return None
    fits = fitted(curves, "P", against, None).fits
    grid = pd.DataFrame({against: np.unique(np.geomspace(part[against].min(), part[against].max(), 30).round().astype(int))})
    lines = grid.assign(value=_samples(grid.assign(**{other: at}), measured), line="theory")
    panel = threshold_panel(table, "P", against, None, fits, width=260, height=280, curves=lines)
    said = _samples(reached, measured)
    _, local = local_slopes(reached[against], reached["threshold"])
    name = "Lc" if against == "context" else "d"
    words = f"P* ~ {name}^b at {'d' if against == 'context' else 'Lc'} = {at:g}, local slopes b = {_listed(local)}"
    if fit := fits.get(None):
        value, low, high, *_ = fit.interval
        words += f", over all {value:.2f} ({low:.2f} to {high:.2f})"
    theory = power_law(reached[against], said).exponent.value
    return panel, f"{words}, theory {theory:.2f}; P* over theory's {_listed(reached['threshold'].to_numpy(float) / said)}"


def _listed(values: Any) -> str:
    return ", ".join(f"{value:.2f}" for value in values)


ATTENTION_FIGURES = [
    Figure("Attention", "Softmax attention at equilibrium: alignment over P, and in units of the law", "[Rubin25 S6.2, App. E.3]",
           ("attention", "attention_quick"), alignment,
           thresholds=(Question("P", "alignment_f", LEVEL),)),
]  # fmt: skip
