"""One pack of cells that are trained by ridge regression: solved in turn, each by itself."""

import time
from collections.abc import Collection, Sequence
from copy import deepcopy
from typing import Any

import numpy as np

from sweepkit.strings.ridge import coefficients
from trainables.basics import Array
from trainables.cell import Cell
from trainables.metrics.base import Probe, Probed, is_per_evaluation
from trainables.metrics.measuring import Value, values_at
from trainables.networks.solved.kernels import LastLayer
from trainables.result import CellResult
from trainables.streams import stream, stream_owner, tests_of, weights_owner
from trainables.training.ridge import Ridge


class Solved:
    """One cell: its examples, which are those of networks that learn by descent, and its last layer once it is solved."""

    def __init__(self, cell: Cell) -> None:
        if not isinstance(cell.network, LastLayer) or not isinstance(cell.training, Ridge):
            raise TypeError(f"{cell.describe()} is not trained by ridge regression")
        self.cell, self.network, self.ridge = cell, cell.network, cell.training.ridge
        self.coefficients: Array | None = None
        self.losses = np.full(2, np.nan)
        self.seconds, self.reason = 0.0, ""

    @property
    def done(self) -> bool:
        return self.coefficients is not None or bool(self.reason)

    def training_set(self) -> tuple[Array, Array]:
        """Inputs (P, k) and their targets."""
        owner, task = stream_owner(self.cell), self.cell.task
        return task.train_set(stream(owner, "batches"), task.draw_symbols(stream(owner, "symbols")), task.n_train or 0)

    def test_set(self) -> tuple[Array, Array]:
        """The test examples of the one step."""
        owner, task = stream_owner(self.cell), self.cell.task
        return tests_of(owner, task, task.draw_symbols(stream(owner, "symbols")), 1, self.cell.test_size)

    def solve(self) -> None:
        """Train the last layer and evaluate it. A system that is singular in float64 is told as a divergence."""
        started = time.perf_counter()
        (x, y), (unseen, targets) = self.training_set(), self.test_set()
        within, across = self._matrices(x, unseen)
        y, targets = np.asarray(y, np.float64), np.asarray(targets, np.float64)
        try:
            few = self.network.few(self.cell)
            found = coefficients(within.T @ within, within.T @ y, self.ridge) if few else coefficients(within, y, self.ridge)
        except np.linalg.LinAlgError:
            self.reason = f"the kernel's matrix plus ridge = {self.ridge:g} is not positive definite in float64"
        else:
            self.coefficients = found
            self.losses = np.array([_mse(within @ found, y), _mse(across @ found, targets)])
        self.seconds += time.perf_counter() - started

    def outputs(self, x: Array) -> Probed:
        """The trained network at inputs x (n, k)."""
        assert self.coefficients is not None
        return Probed(self._matrices(self.training_set()[0], x)[1] @ self.coefficients, None, {})

    def result(self) -> CellResult:
        """The result of a cell that is done; its curves have the one evaluation, and none if the system is singular."""
        kept = np.array([not self.reason])
        return CellResult(
            status="diverged" if self.reason else "ok",
            reason=self.reason,
            step=np.array([1])[kept],
            train_loss=self.losses[:1][kept],
            train_acc=np.array([np.nan])[kept],
            scores={"mse": self.losses[1:][kept]},
            last={"mse": float(self.losses[1])},
            readout=None,
            alignment=None,
            half_norms=None,
            activation_change=None,
            seconds=self.seconds,
        )

    def _matrices(self, x: Array, others: Array) -> tuple[Array, Array]:
        """The rows that the coefficients multiply, at training inputs and at others: what the last layer sees, or its kernel."""
        rows = self.network.seen_of if self.network.few(self.cell) else self.network.grams
        return rows(x, others, self.cell, stream(weights_owner(self.cell), "weights"))


class RidgeRun:
    """Cells that are solved one after the other. Call `advance` until `done`, then `results`; `state` and `load` carry the run to
    another process."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        self.solved = [Solved(cell) for cell in cells]

    @property
    def step(self) -> int:
        """1 once all cells are solved."""
        return int(self.done)

    @property
    def n_steps(self) -> int:
        return 1

    @property
    def seconds(self) -> float:
        """Seconds of all cells together."""
        return sum(solved.seconds for solved in self.solved)

    @property
    def done(self) -> bool:
        return all(solved.done for solved in self.solved)

    def watch(self, names: Sequence[Collection[str]]) -> None:
        """Nothing is measured on the way: the one evaluation is that of `measured`."""

    def measured(self, c: int, names: Sequence[str]) -> tuple[dict[str, Value], dict[str, str]]:
        """Values of these metrics of solved cell c at its test examples, and the errors of those that failed, each by the
        metric's name. A metric per evaluation has one value."""
        solved = self.solved[c]
        values, failures = values_at(lambda: Probe(solved.cell, solved.test_set, solved.outputs, lambda x: None), names)
        along = {name: [value] for name, value in values.items() if is_per_evaluation(name) and not isinstance(value, list)}
        return values | along, failures

    def advance(self, seconds: float) -> None:
        """Solve for about this long, at least one cell."""
        until = time.perf_counter() + seconds
        for solved in self.solved:
            if not solved.done:
                solved.solve()
                if time.perf_counter() >= until:
                    break

    def results(self) -> list[CellResult]:
        """One result per cell, in the pack's order."""
        return [solved.result() for solved in self.solved]

    def state(self, copied: bool = True) -> dict[str, Any]:
        """Arrays and numbers from which another process can continue. Nothing changes them later, copied or not."""
        names = ("coefficients", "losses", "seconds", "reason")
        return {"solved": [{name: deepcopy(getattr(solved, name)) for name in names} for solved in self.solved]}

    def load(self, state: dict[str, Any]) -> None:
        """Continue from a value that `state` returned."""
        for solved, own in zip(self.solved, state["solved"], strict=True):
            for name, value in own.items():
                setattr(solved, name, deepcopy(value))


def _mse(outputs: Array, targets: Array) -> float:
    """Mean over examples of |f - y|^2, summed over components as the losses of descent."""
    return float(((outputs - targets) ** 2).reshape(len(targets), -1).sum(1).mean())
