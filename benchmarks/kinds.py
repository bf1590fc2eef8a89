"""A network of every kind that the grids train, for `first_contact kinds`: few steps, and all metrics asked of its kind."""

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from orchestrator.grid.load import load_grid
from orchestrator.grid.syntax.problems import GridError
from sweepkit.console.words import in_a_line
from sweepkit.shipped import grids
from trainables.cell import Cell
from trainables.engines.base import Run
from trainables.metrics.base import requested_names
from trainables.streams import BLOCK_STEPS


def kinds_of_grids(whole: bool) -> Iterator[tuple[str, Cell, list[str]]]:
    """The first cell of every kind of task, network and training in the project's grids that learns by descent, with one
    evaluation after few steps, and the metrics on request of all such cells. Grids that need data are left out without them."""
    first: dict[tuple[str, ...], Cell] = {}
    asked: dict[tuple[str, ...], set[str]] = {}
    for file in grids().values():
        try:
            grid = load_grid(file)
        except GridError as error:
            print(f"{file.name} is left out: {in_a_line(error)[:200]}", file=sys.stderr)
            continue
        for planned in grid.cells:
            cell = planned.cell
            if cell.training.family == "descent":
                kind = tuple(part.name for part in (cell.task, cell.network, cell.training))
                first.setdefault(kind, cell)
                asked.setdefault(kind, set()).update(planned.save.intersection(requested_names()))
    for kind, cell in first.items():
        steps = 2 * BLOCK_STEPS if whole else BLOCK_STEPS
        training = cell.training.model_copy(update={"steps": steps, "eval_every": steps, "dtype": "float32"})
        yield " ".join(kind), cell.model_copy(update={"training": training}), sorted(asked[kind])


def trained(run: Run, asked: Sequence[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Numbers of the one network of a run that is trained to its end, by name, and what could not be measured."""
    run.watch([asked])
    while not run.done:
        run.advance(60)
    result = run.results()[0]
    values, lacking = run.measured(0, asked)
    numbers = {key: value for key, value in {**result.summary(), **result.lists({"curves"}), **values}.items()
               if "seconds" not in key and not isinstance(value, str) and value is not None}  # fmt: skip
    return numbers, lacking


def apart(ours: Any, theirs: Any) -> float:
    """The largest difference of two numbers or lists, divided by one plus their size; infinite where NaN stands in one alone."""
    a, b = np.asarray(ours, float), np.asarray(theirs, float)
    with np.errstate(invalid="ignore"):
        far = np.where(np.isnan(a) & np.isnan(b), 0.0, np.abs(a - b) / (1 + np.abs(b)))
    return float(np.nan_to_num(far, nan=np.inf).max(initial=0.0))
