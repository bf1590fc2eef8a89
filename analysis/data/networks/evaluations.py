"""Metrics along the training of single networks, and the first evaluation at which they lie within bounds."""

from collections.abc import Iterable, Mapping
from operator import ge, le

import pandas as pd

from sweepkit.declarations.columns import Column, Metric
from sweepkit.store.sql import quoted
from sweepkit.store.views import run

STEP = "step"
HALFWAY = "halfway"
"""A bound: the middle between a metric's first and last value along the training of the same network."""
Bounds = Mapping[str, Mapping[str, float | str]]
"""The ends `at_least` and `at_most` of metrics along training, or of `step`: numbers or HALFWAY."""
_LOSSES = ("train_loss", "chain_train_mse")
"""Errors during training: of labels or targets, and of chains at equilibrium."""
_FIRST = ("test_acc", "eval_test_mse", "chain_alignment_f", *_LOSSES)
"""Metrics along training in the order in which they are shown; the others follow as declared."""
_ENDS = {"at_least": (ge, "≥"), "at_most": (le, "≤")}


def in_order_along(declared: Mapping[str, Column], there: Iterable[str]) -> dict[str, Metric]:
    """The metrics along training among these columns of `curves`, by name, in the order in which they are shown: the main one
    first."""
    names = {*there} - {STEP}
    along = {name: one for name, one in declared.items() if name in names and isinstance(one, Metric) and one.per == "evaluation"}
    return {name: along[name] for name in dict.fromkeys([*_FIRST, *along]) if name in along}


def main_and_loss(metrics: Mapping[str, Metric]) -> dict[str, Metric]:
    """The main one of some metrics in order, and the error during training where that is another and is there."""
    names = [*list(metrics)[:1], *[name for name in _LOSSES if name in metrics][:1]]
    return {name: metrics[name] for name in names}


def evaluations_of(results: str, metrics: Iterable[str], cells: str = "") -> tuple[pd.DataFrame, str]:
    """The evaluations at which all of these metrics have a value: `cell_id`, `step` and the metrics, in the order of the steps;
    and their SQL. `cells` is SQL for the ids of the networks, by default of all."""
    names = [name for name in dict.fromkeys(metrics) if name != STEP]
    conditions = [*(f"isfinite({quoted(name)})" for name in names), *([f"cell_id IN ({cells})"] if cells else [])]
    columns = ", ".join(map(quoted, ["cell_id", STEP, *names]))
    sql = f"SELECT {columns} FROM curves WHERE {' AND '.join(conditions) or 'true'} ORDER BY cell_id, step"
    return run(results, lambda connection: connection.execute(sql).df()), sql


def first_within(evaluations: pd.DataFrame, bounds: Bounds) -> pd.DataFrame:
    """The first evaluation of each network, by `cell_id`, at which all bounds hold; networks that have none are missing."""
    holds = pd.Series(True, evaluations.index)
    for name, ends in bounds.items():
        values = evaluations[name]
        along = values.groupby(evaluations["cell_id"])
        for end, value in ends.items():
            bound = (along.transform("first") + along.transform("last")) / 2 if value == HALFWAY else value
            holds &= _ENDS[end][0](values, bound)
    return evaluations[holds].drop_duplicates("cell_id").set_index("cell_id")


def crossings(evaluations: pd.DataFrame, metric: str, level: float) -> "pd.Series[float]":
    """The step at which a metric first reaches `level`, by `cell_id`: on the line through the evaluations before and at it.
    Networks that are there at their first evaluation, or never get there, are missing."""
    before = evaluations.groupby("cell_id")[[STEP, metric]].shift()
    # The first evaluation at the level decides, even if none before it tells where the level was crossed.
    there = evaluations[metric] >= level
    first = there & ~evaluations["cell_id"][there].duplicated().reindex(evaluations.index, fill_value=True)
    part = (level - before[metric]) / (evaluations[metric] - before[metric])
    steps = before[STEP] + part * (evaluations[STEP] - before[STEP])
    return steps[first].set_axis(evaluations.loc[first, "cell_id"]).dropna()


def in_words(bounds: Bounds) -> str:
    """The bounds as text: `train_acc ≥ 1 and test_acc ≤ 0.1`."""
    return " and ".join(
        f"{name} {_ENDS[end][1]} {value if isinstance(value, str) else f'{value:g}'}"
        for name, ends in bounds.items()
        for end, value in ends.items()
    )
