"""Figures of the structure of hidden weights: 1a, 1d and C2."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import pandas as pd

from analysis.charts.networks.neurons import neurons_of, structure_chart
from analysis.data.keys import captioned
from analysis.data.networks.listing import network
from analysis.data.points import described
from analysis.data.selection import SEED, grid_keys
from analysis.figures.drawn import Drawn, Figure, Missing
from sweepkit.store.sql import literal
from sweepkit.store.views import declared, run

SAVING = ("grid.yaml", "quick")
"""Grids that save neurons."""


class Chosen(NamedTuple):
    """A network, and the query that chose it."""

    cell_id: str
    sql: str


def with_neurons(results: str, sweep: str | None, gamma_label: str, of: str, layer: str | None = None) -> Chosen | None:
    """One network of this gamma whose neurons were saved, if possible on features of this layer. `of`: a condition as SQL."""
    # Only stores with CIFAR-100 have the column.
    near = f"layer IS NOT DISTINCT FROM {literal(layer)} DESC, " if layer and "layer" in grid_keys(results) else ""
    joined = "" if sweep is None else " JOIN plans USING (cell_id)"
    limit = "" if sweep is None else f" AND sweep = {literal(sweep)}"
    sql = f"""SELECT cell_id FROM cells{joined}
WHERE {of} AND gamma_label = {literal(gamma_label)} AND status = 'ok'
  AND cell_id IN (SELECT cell_id FROM internal.rows WHERE holds_neurons){limit}
ORDER BY {near}L = 32 DESC, width DESC, d DESC, L, seed, cell_id LIMIT 1"""
    found = run(results, lambda connection: connection.execute(sql).fetchone())
    return None if found is None else Chosen(found[0], sql)


def scatter(results: str, sweep: str | None, gamma_label: str, of: str) -> Drawn | Missing:
    """Alignment against readout in one network of this gamma; `of` is a condition on the network, as SQL."""
    chosen = with_neurons(results, sweep, gamma_label, of)
    if chosen is None:
        return Missing("no such network whose neurons were saved (`save: [curves, neurons]`)")
    return scatter_of(results, chosen, structure_chart)


def scatter_of(results: str, chosen: Chosen, chart: Callable[[pd.DataFrame], Any]) -> Drawn:
    """The scatter of a chosen network, drawn by `chart`."""
    cell = network(results, chosen.cell_id)
    assert cell is not None  # it was just found
    pos, neg, ratio = (
        math.nan if cell[key] is None else cell[key] for key in ("alignment_pos", "alignment_neg", "readout_ratio")
    )
    told = captioned([*grid_keys(results), SEED], declared(results))
    caption = (
        f"One network: {described(cell, told)}; one point per hidden neuron. "
        f"Mean alignment {pos:+.2f} where a > 0 and {neg:+.2f} where a < 0; |mean a-| / |mean a+| = {ratio:.2f}."
    )
    neurons = neurons_of(results, chosen.cell_id)
    return Drawn(chart(neurons), neurons, caption, chosen.sql)


SYMBOLS = "task = 'same_different' AND coalesce(sigma2, 0) = 0 AND"

STRUCTURE_FIGURES = [
    Figure("1a", "Rich networks: alignment of hidden weights against readouts", "[Tong25 Fig. 1a]", SAVING,
           lambda results, sweep: scatter(results, sweep, "1", f"{SYMBOLS} L >= 3")),
    Figure("1d", "Lazy networks: alignment of hidden weights against readouts", "[Tong25 Fig. 1d]", SAVING,
           lambda results, sweep: scatter(results, sweep, "lazy", f"{SYMBOLS} L >= 3")),
    Figure("C2", "Rich networks of two symbols: alignment against readouts", "[Tong25 Fig. C2]", SAVING,
           lambda results, sweep: scatter(results, sweep, "1", f"{SYMBOLS} L = 2")),
]  # fmt: skip
