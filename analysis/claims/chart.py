"""A chart of the measured intervals of claims beside the expected values, each in units of its own tolerance."""

from collections.abc import Iterable

import altair as alt
import numpy as np
import pandas as pd

from analysis.charts.curves import styled
from analysis.claims.verdict import VERDICTS, Checked, Measured

EDGE = 4.0
"""Where the axis ends; the expected region is -1 to 1."""
_SHADES = ("#1b7f4d", "#8a6d1a", "#c0392b", "#a0622d", "#8a8a8a", "#6b7a99", "#6b7a99", "#6b7a99", "#3f6f8f")
COLOURS = dict(zip(VERDICTS, _SHADES, strict=True))


def positions(checked: Iterable[Checked]) -> pd.DataFrame:
    """One row per measured claim: value, low, high and the expected region, on an axis where the region of `equal` is -1 to 1.

    A claim with one bound has it at -1 (`at_least`) or 1 (`at_most`), and the farthest finite end of the measurement one unit
    away. So the side of the bound and the share of the interval on each side are to scale; distances are not.
    """
    rows = []
    for one in checked:
        if not isinstance(one.measured, Measured) or one.claim.expected is None:
            continue
        interval, (least, most) = one.measured.interval, one.claim.expected.region
        numbers = np.array([interval.value, *(interval.value if np.isnan(b) else b for b in (interval.low, interval.high))])
        if np.isfinite(least) and np.isfinite(most):
            middle, unit = (least + most) / 2, (most - least) / 2
        else:
            bound, sign = (least, -1) if np.isfinite(least) else (most, 1)
            unit = np.abs(numbers[np.isfinite(numbers)] - bound).max(initial=0.0) or 1.0
            middle = bound - sign * unit
        at, low, high = (numbers - middle) / unit
        region = [(end - middle) / unit if np.isfinite(end) else EDGE * np.sign(end) for end in (least, most)]
        rows.append(
            {"id": one.claim.id, "topic": one.claim.topic, "verdict": one.verdict, "at": at, "low": low, "high": high,
             "region_low": region[0], "region_high": region[1], "expected": str(one.claim.expected),
             "middle": middle, "unit": unit,
             "measured": f"{interval.value:.4g} ({interval.low:.4g} to {interval.high:.4g})"}
        )  # fmt: skip
    return pd.DataFrame(rows)


def claims_chart(checked: Iterable[Checked], width: int = 560) -> alt.TopLevelMixin | None:
    """A chart with one row per claim; None if no claim is measured."""
    data = positions(checked)
    if data.empty:
        return None
    for name in ("at", "low", "high"):
        data[name] = data[name].clip(-EDGE, EDGE)
    scale = alt.Scale(domain=[-EDGE, EDGE], nice=False)
    axis = _axis_of_one(data) if len(data) == 1 else _common_axis()
    y = alt.Y("id:N", title=None, sort=data["id"].tolist(), axis=alt.Axis(labelLimit=260, grid=False))
    used = [v for v in VERDICTS if (data["verdict"] == v).any()]
    domain = alt.Scale(domain=used, range=[COLOURS[v] for v in used])
    colour = alt.Color("verdict:N", title="verdict", scale=domain)
    marks = {"confirmed": "circle", "contradicted": "cross", "not reproduced": "cross", "open": "diamond", "identity": "square"}
    shape = alt.Shape("verdict:N", title="verdict", scale=alt.Scale(domain=used, range=[marks[v] for v in used]))
    base = alt.Chart(data)
    layers = [
        base.mark_bar(color="#dcefe3", height=14).encode(
            x=alt.X("region_low:Q", scale=scale, axis=axis), x2="region_high:Q", y=y),
        base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", scale=scale), x2="high:Q", y=y, color=colour),
        base.mark_point(filled=True, size=70, opacity=1).encode(
            x=alt.X("at:Q", scale=scale), y=y, color=colour, shape=shape, tooltip=["id", "verdict", "measured", "expected"]),
    ]  # fmt: skip
    return styled(alt.layer(*layers).properties(width=width, height=alt.Step(20)))


def _common_axis() -> alt.Axis:
    """The axis of several claims, each of which has a unit of its own."""
    labels = "datum.value == -1 ? 'expected from' : datum.value == 1 ? 'to' : ''"
    return alt.Axis(values=[-1, 0, 1], labelExpr=labels, grid=True, title=None)


def _axis_of_one(data: pd.DataFrame) -> alt.Axis:
    """The axis of a single claim, in the numbers that were measured."""
    (one,) = data.to_dict("records")
    numbers = {at: f"{one['middle'] + at * one['unit']:.4g}" for at in range(-int(EDGE), int(EDGE) + 1)}
    labels = " : ".join(f"datum.value == {at} ? '{number}'" for at, number in numbers.items())
    return alt.Axis(
        values=list(numbers), labelExpr=f"{labels} : ''", grid=True, title=f"measured; expected: {one['expected']} (green)"
    )
