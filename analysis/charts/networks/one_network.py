"""Single networks: their list, and for one of them the theory's values, its training curve and its origin."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import altair as alt
import numpy as np
import pandas as pd

from analysis.charts.curves import styled
from analysis.data.networks.saved import HOLDING, Saved
from analysis.data.points import sorting
from analysis.data.selection import SEED, Selection, Value, grid_keys
from analysis.overlays.of_same_different import AT_INITIAL_WEIGHTS, RICH, of_initial_weights, of_rich
from declarations.column import Column
from declarations.keys import KEYS
from store.database import of_cells
from store.sql import literal, quoted
from store.views import declared, run

MOST_SEEDS = 30
"""Most training curves in one chart, the network's own among them."""

ORIGIN = ("cell_id", "seed", "status", "reason", "engine", "device", "host", "seconds", "git_sha", "science_version", "pack_id",
          "finished_at", "log_path")  # fmt: skip
"""Columns that say where the numbers of a network come from."""


class Networks(NamedTuple):
    """One row per setting, for networks that differ in their seed only: its keys, `n`, and the lists `seeds` and `cells`, both in
    the order of seeds."""

    frame: pd.DataFrame
    keys: list[str]
    declared: Mapping[str, Column] = KEYS
    """The columns of their store."""


def networks(results: str, selection: Selection, saved: Saved | None = None) -> Networks:
    """The selected networks that finished, diverged ones included; `saved` keeps those that have saved this."""
    keys = grid_keys(results)
    names = ", ".join(map(quoted, keys))
    limit = f" AND cell_id IN ({HOLDING[saved]})" if saved else ""
    sql = (
        f"SELECT {names}, count(*) AS n, list({SEED} ORDER BY {SEED}) AS seeds, list(cell_id ORDER BY {SEED}) AS cells "
        f"FROM {selection.source} WHERE {selection.condition} AND status <> 'failed'{limit} GROUP BY {names}"
    )
    frame = run(results, lambda connection: connection.execute(sql).df())
    keys = [key for key in keys if frame[key].notna().any()]
    frame = frame[[*keys, "n", "seeds", "cells"]].sort_values(sorting(keys))
    return Networks(frame.reset_index(drop=True), keys, declared(results))


def setting_of(results: str, cell_id: str) -> dict[str, Value] | None:
    """The keys of a network, `seed` among them; None if no network has this id."""
    cell = network(results, cell_id)
    keys = [*grid_keys(results), SEED]
    return None if cell is None else {key: cell[key] for key in keys}


def network(results: str, cell_id: str) -> dict[str, Any] | None:
    """The row of a network in `cells`; None if no network has this id."""

    def work(connection: Any) -> dict[str, Any] | None:
        found = connection.execute("SELECT * FROM cells WHERE cell_id = ?", [cell_id])
        names = [name for name, *_ in found.description]
        row = found.fetchone()
        return None if row is None else dict(zip(names, row, strict=True))

    return run(results, work)


def neurons_sql(cell_id: str) -> str:
    """The query for the hidden neurons of a network."""
    return f"SELECT * FROM neurons WHERE cell_id = {literal(cell_id)} ORDER BY neuron"


def training_sql(cell_ids: Iterable[str]) -> str:
    """The query for the evaluations of networks."""
    ids = ", ".join(map(literal, cell_ids))
    return f"""SELECT cell_id, seed, curves.* EXCLUDE (cell_id)
FROM curves JOIN cells USING (cell_id)
WHERE cell_id IN ({ids})
ORDER BY seed, step"""


def training(results: str, cell_ids: Iterable[str]) -> pd.DataFrame:
    """Evaluations of the first MOST_SEEDS networks: cell_id, seed, step, train_loss, train_acc, test_acc, test_auc.

    For real targets also eval_test_mse; at equilibrium also chain_alignment_f and chain_train_mse, means over the chains."""
    ids = list(cell_ids)[:MOST_SEEDS]
    return run(results, lambda connection: connection.execute(training_sql(ids)).df(), of_cells(ids))


class Expected(NamedTuple):
    """The theory's value for a measure of a network, and its source."""

    value: float
    source: str


def expected(cell: Mapping[str, Any]) -> dict[str, Expected]:
    """The theory's values for a network, by measure; empty if no theory applies to it."""
    if AT_INITIAL_WEIGHTS.is_one(cell):
        found = of_initial_weights()
    elif RICH.is_one(cell):
        ratio = cell.get("readout_ratio")
        found = of_rich(int(cell["L"]), ratio if ratio is not None and np.isfinite(ratio) else None)
    else:
        found = {}
    return {measure: Expected(value, source) for measure, (value, source) in found.items()}


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
