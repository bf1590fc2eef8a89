"""Comparison of a sweep's rich networks with the theory, by `analysis` in a process of its own: no theory is known here."""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.code import ROOT
from orchestrator.grid.load import PlannedCell
from store.files import ResultsError
from trainables.cell import Cell
from trainables.networks import TwoLayer
from trainables.training import SGD


def started(words: Sequence[str]) -> "subprocess.Popen[str]":
    """Start the command; its output is kept."""
    return subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _is_rich(cell: Cell) -> bool:
    """True if theory may apply to the cell: a rich network of [Tong25] under SGD. Analysis then decides for each network."""
    return type(cell.network) is TwoLayer and type(cell.training) is SGD and cell.network.gamma >= 1


@dataclass(frozen=True)
class BesideTheory:
    """The comparison to come. Its process starts as soon as training ends, and answers while Ray closes."""

    process: "subprocess.Popen[str] | None"
    """None if the theory applies to no network of the sweep, so that there is nothing to compare."""

    @classmethod
    def ask(cls, sweep: str, results: str, planned: Sequence[PlannedCell]) -> "BesideTheory":
        """Start the process that compares the sweep, which has these cells, with the theory."""
        if not any(_is_rich(p.cell) for p in planned):
            return cls(None)
        words = [sys.executable, "-m", "analysis.outcome", "--sweep", sweep, "--results", results]
        return cls(started(words))

    def records(self) -> list[dict[str, Any]]:
        """One record per point, for `console.outcome_table`; none if no theory applies. ResultsError if the process failed."""
        if self.process is None:
            return []
        out, err = self.process.communicate()
        if self.process.returncode:
            said = (err.strip().splitlines() or [f"it ended with {self.process.returncode}"])[-1]
            raise ResultsError(f"the networks could not be compared with the theory: {said}")
        found: list[dict[str, Any]] = json.loads(out)
        return found
