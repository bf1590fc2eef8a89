"""The figure of rich networks' errors against the symbols: beside Eq. 3, beside Eq. C.18 at their own readout ratio, and beside
three laws that are fitted to those at gamma = 1."""

from collections.abc import Callable
from typing import Any, NamedTuple

import altair as alt
import numpy as np
import pandas as pd

from analysis.charts.curves import colour_of, log_axis, styled
from analysis.data.keys import captioned
from analysis.data.measures import knows
from analysis.data.points import averaged, described, one_setting, points, seeds
from analysis.data.selection import Selection
from analysis.figures.drawn import Drawn, Figure, Missing
from sweepkit.console.words import counted

from ..theory import rich
from .laws import NOISELESS

Array = np.ndarray[Any, Any]
BY, OVER, ERROR, LAW = "gamma_label", "L", "error", "law"
FITTED, LEAST = "1", 3
"""The gamma whose errors are fitted, and the fewest symbols that Eq. 3 speaks of."""
LAWS: dict[str, Callable[[Array], Array]] = {
    "exp(-c L)": lambda L: L,
    "power of L": np.log,
    "exp(-c (L^2 - L))": lambda L: L**2 - L,
}
"""By the law's name, the function of L in which the logarithm of the error is linear."""
EQ3, OWN = "Eq. 3", "Eq. C.18 at the networks' ratio"


class Fit(NamedTuple):
    """A law fitted to mean errors, weighted by their standard errors."""

    slope: float
    chi2: float
    degrees: int
    residuals: Array
    """Logarithms of measured over fitted."""


def fit(L: Array, error: Array, se: Array, law: Callable[[Array], Array]) -> Fit:
    """The law's fit to logarithms of errors whose standard errors are `se`."""
    x, y, w = law(np.asarray(L, float)), np.log(error), error / se
    slope, height = np.polyfit(x, y, 1, w=w)
    residuals = y - height - slope * x
    return Fit(float(slope), float(((residuals * w) ** 2).sum()), len(x) - 2, residuals)


def _draw(results: str, sweep: str | None) -> Drawn | Missing:
    missing = Missing("no rich networks of two L whose final_test_size is 20000")
    if not knows(results, "readout_ratio", (*NOISELESS, OVER, "gamma", BY, "final_test_size")):
        return missing
    limits = f"final_test_size >= 20000 AND L >= {LEAST} AND gamma >= 1"
    selection = Selection(sweep, limits=limits).only(NOISELESS)
    found = points(results, selection, "final_test_acc")
    if found.frame.empty or found.frame[OVER].nunique() < 2:
        return missing
    setting = one_setting(found.frame, found.keys, (OVER, BY), {"d": 256}, found.declared)
    frame = setting.frame.assign(
        **{ERROR: 1 - setting.frame["mean"], "least": 1 - setting.frame["high"], "most": 1 - setting.frame["low"]}
    )
    frame = frame[frame[ERROR] > 0].reset_index(drop=True)
    lines = _theory(results, selection.only(setting.values), frame)
    panels, told = [_errors(frame, lines)], []
    of = frame[(frame[BY] == FITTED) & (frame["sd"] > 0)].sort_values(OVER)
    if len(of) > 2:
        L, se = of[OVER].to_numpy(float), (of["sd"] / np.sqrt(of["n"])).to_numpy(float)
        fits = {name: fit(L, of[ERROR].to_numpy(float), se, law) for name, law in LAWS.items()}
        panels.append(_residuals(of, fits))
        told = [f"{name}: c = {-one.slope:.3g}, chi2 {one.chi2:.3g} of {one.degrees} degrees" for name, one in fits.items()]
    values = described(setting.values, captioned(setting.values, found.declared))
    caption = f"{values}; {averaged(frame)}, {counted(int(frame['n'].sum()), 'network')}; intervals 95%. "
    caption += f"Fitted at gamma = {FITTED}: {'; '.join(told)}." if told else ""
    chart = styled(alt.hconcat(*panels, spacing=30).resolve_scale(color="independent", strokeDash="independent"))
    own = lines[lines[LAW] == OWN].rename(columns={ERROR: OWN})[[OVER, BY, OWN]]
    table = frame[[OVER, BY, "n", ERROR, "least", "most"]].merge(own, on=[OVER, BY], how="left")
    return Drawn(chart, table.assign(**{EQ3: 1 - rich.test_accuracy(table[OVER].to_numpy(float))}), caption, found.sql)


def _theory(results: str, selection: Selection, frame: pd.DataFrame) -> pd.DataFrame:
    """Errors by Eq. 3, and for each gamma the mean of those by Eq. C.18 at each network's own readout ratio."""
    L = np.array(sorted(frame[OVER].unique()))
    lines = [pd.DataFrame({OVER: L, BY: None, LAW: EQ3, ERROR: 1 - rich.test_accuracy(L)})]
    ratios = seeds(results, selection, "readout_ratio", [OVER, BY])
    ratios[ERROR] = [1 - float(rich.test_accuracy(*at)) for at in zip(ratios[OVER], ratios["value"], strict=True)]
    ratios[LAW] = OWN
    lines.append(ratios.groupby([OVER, BY, LAW])[ERROR].mean().reset_index())
    return pd.concat(lines, ignore_index=True)


def _symbols() -> alt.X:
    scale = alt.Scale(zero=False, nice=False, padding=12)
    return alt.X(f"{OVER}:Q", title="training symbols L", scale=scale, axis=alt.Axis(grid=False, tickMinStep=1))


def _errors(frame: pd.DataFrame, lines: pd.DataFrame) -> Any:
    least = float(frame[ERROR].min()) / 3
    scale = alt.Scale(type="log", nice=False, domain=[least, 1.3 * float(frame["most"].max())])
    y = alt.Y(
        f"{ERROR}:Q",
        title="test error, last weights",
        scale=scale,
        axis=log_axis(frame[ERROR], at_values=False, grid=True, format="~g"),
    )
    x = _symbols()
    colour = colour_of(frame, BY)
    base = alt.Chart(frame).encode(x=x, color=colour)
    ends = frame.assign(least=frame["least"].clip(lower=least))
    bars = alt.Chart(ends).mark_rule(clip=True).encode(x=x, color=colour, y=alt.Y("least:Q", scale=scale), y2="most:Q")
    dots = base.mark_point(filled=True, size=40).encode(y=y, tooltip=[OVER, BY, alt.Tooltip(f"{ERROR}:Q", format=".3g"), "n"])
    dash = alt.StrokeDash(f"{LAW}:N", title=None, scale=alt.Scale(domain=[EQ3, OWN], range=[[1, 0], [4, 3]]),
                          legend=alt.Legend(symbolType="stroke", symbolSize=300))  # fmt: skip
    black = alt.Chart(lines[lines[LAW] == EQ3]).mark_line(color="black", clip=True).encode(x=x, y=y, strokeDash=dash)
    own = alt.Chart(lines[lines[LAW] == OWN]).mark_line(clip=True).encode(x=x, y=y, strokeDash=dash, color=colour)
    return alt.layer(black, own, bars, dots).properties(width=380, height=320)


def _residuals(of: pd.DataFrame, fits: dict[str, Fit]) -> Any:
    """The logarithms of measured over fitted errors at FITTED, by each law."""
    error = (of["sd"] / np.sqrt(of["n"]) / of[ERROR]).to_numpy(float)
    parts = [pd.DataFrame({OVER: of[OVER], LAW: name, "left": one.residuals, "se": error}) for name, one in fits.items()]
    shown = pd.concat(parts, ignore_index=True).assign(
        low=lambda f: f["left"] - 1.96 * f["se"], high=lambda f: f["left"] + 1.96 * f["se"]
    )
    x = _symbols()
    colour = alt.Color(f"{LAW}:N", title="fitted", sort=list(fits))
    base = alt.Chart(shown).encode(x=x, color=colour)
    bars = base.mark_rule().encode(y=alt.Y("low:Q", title="log of measured over fitted"), y2="high:Q")
    line = base.mark_line(point=True).encode(y="left:Q", tooltip=[LAW, OVER, alt.Tooltip("left:Q", format=".3g")])
    zero = alt.Chart(pd.DataFrame({"left": [0]})).mark_rule(strokeDash=[1, 3]).encode(y="left:Q")
    return alt.layer(zero, bars, line).properties(width=300, height=320, title=f"laws fitted at gamma = {FITTED}")


ERROR_FIGURES = [
    Figure("Errors", "Rich networks' test errors against the symbols, beside Eq. 3 and three laws", "docs/science/findings.md",
           ("eq3",), _draw),
]  # fmt: skip
