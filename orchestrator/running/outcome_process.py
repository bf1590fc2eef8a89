"""The means of a sweep's configurations, by `analysis` in a process of its own: no statistics and no theory are known here."""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.grid.planned import PlannedCell
from sweepkit import FOLDER
from sweepkit.store.files import ResultsError
from trainables.metrics import requested_metric, requested_names

MOST_ASKED = 3
"""Most metrics that a grid asks for by `save:` whose means end a sweep: of more, none is the one that the grid is about."""


def started(words: Sequence[str]) -> "subprocess.Popen[str]":
    """Start the command; its output is kept."""
    return subprocess.Popen(words, cwd=FOLDER, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def headlines(planned: Sequence[PlannedCell]) -> list[str]:
    """The metrics by which these cells are judged first, each once."""
    kinds = {(type(p.cell.training), type(p.cell.task)) for p in planned}
    return sorted({training.headline_of(task)[0] for training, task in kinds})


def asked_for(planned: Sequence[PlannedCell]) -> list[str]:
    """The metrics that these cells save one number of, if they are few."""
    saved, known = frozenset[str]().union(*(p.save for p in planned)), requested_names()
    found = [name for name in sorted(saved) if name in known and requested_metric(name).metric.per == "network"]
    return found if len(found) <= MOST_ASKED else []


@dataclass(frozen=True)
class BesideTheory:
    """The answer to come. Its process starts as soon as training ends, and computes while Ray closes."""

    process: "subprocess.Popen[str]"

    @classmethod
    def ask(cls, sweep: str, results: str, planned: Sequence[PlannedCell]) -> "BesideTheory":
        """Start the process that averages the sweep, which has these cells, and compares it with the theory."""
        words = [sys.executable, "-m", "analysis.outcome", "--sweep", sweep, "--results", results]
        measures = [*headlines(planned), *asked_for(planned)]  # what the grid is about stands last, next to the prompt
        return cls(started([*words, *(word for name in measures for word in ("--measure", name))]))

    def answer(self) -> dict[str, Any]:
        """The `keys` that vary, the `theory` and `tables` that `running.outcome_table` prints, the `figures` and `pages`
        that show them. ResultsError if the process failed."""
        out, err = self.process.communicate()
        if self.process.returncode:
            said = (err.strip().splitlines() or [f"it ended with {self.process.returncode}"])[-1]
            raise ResultsError(f"the networks could not be averaged and compared with the theory: {said}")
        found: dict[str, Any] = json.loads(out)
        return found
