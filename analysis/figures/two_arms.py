"""The figure `compare` of anyone's own sweep: the difference or the ratio of two arms."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from analysis.asked_chart import asked_points
from analysis.charts.captions import joined, setting_told
from analysis.charts.curves import Look, curves_chart
from analysis.data.choosing import is_number, matching, suits_log
from analysis.data.keys import spoken, value_of
from analysis.data.source import ResultsError, declared
from analysis.figures.drawn import Titled
from analysis.two_arms import AskedArms
from sweepkit.console.words import counted
from sweepkit.declarations.columns import Metric
from sweepkit.stats.rounding import in_digits


def comparison(asked: AskedArms, x: str, size: dict[str, Any] | None = None) -> Titled:
    """The figure `compare`: the difference of two arms, or the ratio of them or of their thresholds, against `x`, with intervals
    over pairs. `asked.by` begins with `x`; a second name tells curves apart."""
    table = asked.table()
    axes = asked.arms.axes
    kind = "ratio" if "ratio" in table else "difference"
    drawn = table.rename(columns={kind: "mean"}).dropna(subset=["mean"])
    if drawn.empty:
        why = f"the level {asked.level:g} is nowhere reached by both arms" if asked.of else "no mean is positive"
        raise ResultsError(f"nothing to draw: {why}")
    known = declared(asked.results)
    drawn = drawn.assign(n=drawn["seeds"], median=drawn["mean"], sd=0.0, diverged=0)
    one, other = asked.names
    if "gamma_label" in axes:
        drawn["gamma"] = pd.to_numeric(drawn["gamma_label"].replace("lazy", 0))
    if axes[0] == "gamma_label":
        drawn, axes = drawn[drawn["gamma"] > 0], ["gamma", *axes[1:]]
    if not is_number(drawn[axes[0]]):
        raise ResultsError(f"x = {spoken(axes[0])}: must be a parameter that is a number")
    what = f"threshold {asked.of}*" if asked.of else asked.measure.title
    title = f"{what}: {one} {'over' if kind == 'ratio' else 'minus'} {other}"
    whole = title.replace(" = ", "\u00a0=\u00a0")  # an axis breaks its title between words
    look = Look(axes[0], next(iter(axes[1:]), None), log_x=suits_log(drawn[axes[0]]), log_y=kind == "ratio",
                level=1.0 if kind == "ratio" else 0.0, declared=known, **dict(size or {}))  # fmt: skip
    metric = Metric("mean", whole, "number")
    told = [*_held(asked, axes), *asked.told, f"{kind} with 95% intervals over seeds"]
    if asked.of:
        told.append(f"{asked.of}*: mean {asked.measure.short} {asked.level:g}")
        for _, row in asked.exponents(axes[0]).iterrows() if len(drawn) > 2 else ():
            told.append(_exponent_told(row, axes, asked))
    lost = table[table[kind].isna()]
    unmeasured = int(lost[["first", "second"]].isna().any(axis=1).sum())
    why = "an arm does not reach the level, or reaches it at its smallest value" if asked.of else "a mean is not positive"
    for n, reason in ((unmeasured, "an arm has no curve"), (len(lost) - unmeasured, why)):
        told += [f"{counted(n, 'place')} without a {kind}, where {reason}"] if n else []
    bare = int((table[kind].notna() & table["low"].isna()).sum())
    told += [f"{counted(bare, 'point')} without an interval, for lack of seeds"] if bare else []
    return Titled(title, joined(told), curves_chart(drawn, metric, look), table, f"{asked.sweep or 'all'}-compare-{x}")


def _held(asked: AskedArms, axes: Sequence[str]) -> list[str]:
    """Words for what all networks of both arms have in common; what they have by default is left out."""
    points = asked_points(asked.results, asked.selection, asked.measure.name)
    setting = {key: value for key, value in asked.arms.setting.items() if key in points.frame and key not in asked.arms.along}
    frame = points.frame[matching(points.frame, setting)]
    apart = [asked.column, *asked.arms.along, *([asked.of] if asked.of else []), *axes]
    return setting_told(points, frame, {}, apart, asked.selection)[0]


def _exponent_told(row: pd.Series, axes: Sequence[str], asked: AskedArms) -> str:
    at = f" at {spoken(axes[1])} = {value_of(axes[1], row[axes[1]])}" if axes[1:] else ""
    if pd.isna(row["difference"]):
        return f"no exponents{at}: both arms reach the level at {int(row['thresholds'])} sizes"
    difference = in_digits(row["difference"], row["low"], row["high"])
    over = f"{int(row['thresholds'])} sizes, {int(row['seeds'])} seeds"
    return f"exponents in {spoken(axes[0])}{at} {row['first']:.3g} and {row['second']:.3g}, difference {difference}, {over}"
