"""Single networks as the store has them: their list by settings, their training curves, and where their numbers come from."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import pandas as pd

from analysis.data.networks.listing import network
from analysis.data.networks.saved import HOLDING
from analysis.data.points import sorting
from analysis.data.selection import SEED, Selection, Value, grid_keys
from analysis.studies.page import Saved
from sweepkit.declarations.columns import Column
from sweepkit.declarations.keys import KEYS
from sweepkit.store.database import of_cells
from sweepkit.store.sql import literal, quoted
from sweepkit.store.views import declared, run

MOST_SEEDS = 30
"""Most networks whose training curves are read for one chart."""

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


def neurons_sql(cell_id: str) -> str:
    """The query for the hidden neurons of a network."""
    return f"SELECT * FROM neurons WHERE cell_id = {literal(cell_id)} ORDER BY neuron"


def lists_sql(view: str, cell_ids: Iterable[str], order: str) -> str:
    """The query for all rows that these networks have in a view with several rows for each, in the order of one column."""
    ids = ", ".join(map(literal, cell_ids))
    return f"""SELECT cell_id, seed, {view}.* EXCLUDE (cell_id)
FROM {view} JOIN cells USING (cell_id)
WHERE cell_id IN ({ids})
ORDER BY seed, cell_id, {order}"""


def training_sql(cell_ids: Iterable[str]) -> str:
    """The query for the evaluations of networks."""
    return lists_sql("curves", cell_ids, "step")


def training(results: str, cell_ids: Iterable[str]) -> pd.DataFrame:
    """Evaluations of the first MOST_SEEDS networks: cell_id, seed, step, train_loss, train_acc, test_acc, test_auc.

    For real targets also eval_test_mse; at equilibrium also chain_alignment_f and chain_train_mse, means over the chains."""
    ids = list(cell_ids)[:MOST_SEEDS]
    return run(results, lambda connection: connection.execute(training_sql(ids)).df(), of_cells(ids))
