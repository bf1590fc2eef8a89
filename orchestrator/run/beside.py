"""Rich networks of a sweep beside the theory, asked of analysis in a process of its own: here nothing knows theory."""

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
    """The command, running; its output is kept."""
    return subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _is_rich(cell: Cell) -> bool:
    """Whether theory may speak of it: a rich network of [Tong25] under SGD. Of which of these it does, analysis says."""
    return type(cell.network) is TwoLayer and type(cell.training) is SGD and cell.network.gamma >= 1


@dataclass(frozen=True)
class BesideTheory:
    """The answer to come: asked as soon as training ends, it is there when Ray has closed."""

    process: "subprocess.Popen[str] | None"
    """None where no network of the sweep is a rich one that theory may speak of, so that there is nothing to ask."""

    @classmethod
    def ask(cls, sweep: str, results: str, planned: Sequence[PlannedCell]) -> "BesideTheory":
        """Start the process that answers, for the sweep of these cells."""
        if not any(_is_rich(p.cell) for p in planned):
            return cls(None)
        words = [sys.executable, "-m", "analysis.outcome", "--sweep", sweep, "--results", results]
        return cls(started(words))

    def records(self) -> list[dict[str, Any]]:
        """A record per point, for `console.outcome_table`; none where theory is silent. ResultsError where there is no answer."""
        if self.process is None:
            return []
        out, err = self.process.communicate()
        if self.process.returncode:
            said = (err.strip().splitlines() or [f"it ended with {self.process.returncode}"])[-1]
            raise ResultsError(f"the networks could not be set beside the theory: {said}")
        found: list[dict[str, Any]] = json.loads(out)
        return found
