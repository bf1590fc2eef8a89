"""The training of a single network beside its other seeds, and chains at equilibrium."""

from collections.abc import Collection, Sequence
from typing import Any

import altair as alt
import pandas as pd

from analysis.charts.curves import styled
from analysis.overlays.expected import Expected

EXTENT = 45
"""Pixels for the labels of a vertical axis, so that panels line up."""

SERIES = {
    "test_acc": ("test accuracy", "#277f8e"),
    "train_acc": ("training accuracy", "#d9a500"),
    "test_auc": ("test AUC", "#46327e"),
}
"""Curves between 0 and 1: their words and colours. Older networks, and tasks of more labels, have no AUC."""


_HOVER = ("seed:Q", "step:Q")


def training_chart(
    curves: pd.DataFrame,
    cell_id: str,
    theory: Expected | None = None,
    loss: str | None = None,
    log_step: bool = False,
    log_loss: bool = True,
    width: int = 520,
) -> alt.TopLevelMixin:
    """Accuracies and AUC (for real targets the test error) above, loss below; this network strong, other seeds thin.

    `loss` is that of the network's row, None if it is the default of its task."""
    step = alt.X("step:Q", title="training step", scale=alt.Scale(type="log" if log_step else "linear", nice=False),
                 axis=alt.Axis(grid=False, format="~s"))  # fmt: skip
    if log_step:
        curves = curves[curves["step"] > 0]
    has_labels = bool(curves[["test_acc", "train_acc"]].notna().any(axis=None))
    panels = []
    if has_labels:
        above = _accuracies(curves, cell_id, step.title(None), theory)
        panels.append(alt.layer(*above).properties(width=width, height=220))
    elif curves["eval_test_mse"].notna().any():
        above = _positive(curves, cell_id, step.title(None), "eval_test_mse", "test mean squared error", log_loss, "#277f8e")
        panels.append(alt.layer(*above).properties(width=width, height=220))
    unit = " (nats)" if has_labels and loss != "mse" else ""
    under = _positive(curves, cell_id, step, "train_loss", f"loss{unit}", log_loss, "#46327e")
    panels.append(alt.layer(*under).properties(width=width, height=130))
    return styled(alt.vconcat(*panels, spacing=8))


def _accuracies(curves: pd.DataFrame, cell_id: str, x: Any, theory: Expected | None) -> list[Any]:
    there = [name for name in SERIES if curves[name].notna().any()]
    words, colours = map(list, zip(*(SERIES[name] for name in there), strict=True))
    long = curves.melt(["cell_id", "seed", "step"], there, "series", "accuracy").dropna(subset=["accuracy"])
    long = long.replace({"series": dict(zip(there, words, strict=True))})
    low = min(0.45, float(long["accuracy"].min()))
    y = alt.Y(
        "accuracy:Q",
        title="accuracy, AUC" if "test_auc" in there else "accuracy",
        scale=alt.Scale(domain=[low, 1.0], nice=False),
        axis=alt.Axis(minExtent=EXTENT),
    )
    colour = worded("series", words, colours)
    layers = seed_lines(long, [cell_id], x, y, [*_HOVER, "series", alt.Tooltip("accuracy:Q", format=".4g")], colour)
    if theory is not None:
        value = pd.DataFrame({"accuracy": [theory.value], "theory": [theory.source]})
        rule = alt.Chart(value).mark_rule(color="black", strokeDash=[5, 3])
        layers.append(rule.encode(y=y, tooltip=["theory", alt.Tooltip("accuracy:Q", format=".4f")]))
    return layers


def _positive(curves: pd.DataFrame, cell_id: str, x: Any, value: str, title: str, log: bool, colour: str) -> list[Any]:
    """Lines of a number that is above 0, as losses and errors are."""
    y = alt.Y(f"{value}:Q", title=title, scale=alt.Scale(type="log" if log else "linear"),
              axis=alt.Axis(format="~g", tickCount=4, minExtent=EXTENT))  # fmt: skip
    hover = [*_HOVER, alt.Tooltip(f"{value}:Q", format=".4g")]
    return seed_lines(curves[curves[value] > 0] if log else curves, [cell_id], x, y, hover, alt.value(colour))


def chains_chart(curves: pd.DataFrame, cell_id: str, width: int = 520) -> alt.TopLevelMixin:
    """Curves of a network at equilibrium along its chains, with other seeds in thin lines.

    The alignment is above. Below is the error in its likelihood: mean squared training error, or cross entropy.
    """
    panels: list[Any] = []
    squares = ("chain_train_mse", "training error", 130)
    under = squares if curves["chain_train_mse"].notna().any() else ("train_loss", "training loss (nats)", 130)
    for value, title, height in (("chain_alignment_f", "alignment A_f", 220), under):
        x = alt.X("step:Q", title="trajectory" if panels else None, axis=alt.Axis(grid=False, format="~s"))
        y = alt.Y(f"{value}:Q", title=title, scale=alt.Scale(zero=False), axis=alt.Axis(minExtent=EXTENT, tickCount=5))
        hover = [*_HOVER, alt.Tooltip(f"{value}:Q", format=".4g")]
        layers = seed_lines(curves, [cell_id], x, y, hover, alt.value("#277f8e"))
        panels.append(alt.layer(*layers).properties(width=width, height=height))
    return styled(alt.vconcat(*panels, spacing=8))


def worded(field: str, words: Sequence[str], colours: Sequence[str]) -> alt.Color:
    """The encoding of a field of words as colours, with the legend above the chart."""
    legend = alt.Legend(orient="top", direction="horizontal")
    return alt.Color(f"{field}:N", title=None, sort=list(words), scale=alt.Scale(domain=words, range=colours), legend=legend)


def seed_lines(frame: pd.DataFrame, strong: Collection[str], x: Any, y: Any, hover: Sequence[Any], color: Any) -> list[Any]:
    """Layers with the lines of the networks `strong`, by cell_id, and thin ones of the others in the frame."""
    here = frame["cell_id"].isin(list(strong))
    layers = []
    if (~here).any():
        others = alt.Chart(frame[~here]).mark_line(strokeWidth=0.7, opacity=0.45, clip=True)
        layers.append(others.encode(x=x, y=y, color=color, detail="cell_id:N", tooltip=hover))
    drawn = alt.Chart(frame[here]).mark_line(strokeWidth=2, point=alt.OverlayMarkDef(size=18))
    layers.append(drawn.encode(x=x, y=y, color=color, tooltip=hover))
    return layers
