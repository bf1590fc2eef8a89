"""One pack in training: the loop that all trainers share, with its curves, divergence, checkpoint and results."""

import time
from bisect import bisect_right
from collections.abc import Collection, Sequence
from copy import copy
from typing import Any

import numpy as np

from trainables.cell import Cell
from trainables.metrics.base import is_per_evaluation
from trainables.metrics.measuring import Value, measured, values_of
from trainables.result import ERRORS, VALIDATION, CellResult, scores_of
from trainables.streams import BLOCK_STEPS
from trainables.tasks.base import Array
from trainables.trainers.base import Trainer


class PackRun:
    """Cells of one shape on one trainer. Call `advance` until `done`, then `results`; `state` and `load` carry the run to
    another process.

    Training pauses at evaluations and when the time asked for is over; where it pauses changes no number.
    """

    def __init__(self, cells: Sequence[Cell], trainer: Trainer) -> None:
        self.cells, self.trainer = list(cells), trainer
        self.step, self.seconds = 0, 0.0
        self.pace = 0.0  # steps a second at last, 0 before any
        self.diverged_at = np.zeros(len(self.cells), dtype=np.int64)  # 0: not diverged
        self.evaluations = cells[0].evaluations
        self.names = scores_of(cells[0].task)
        # Mean loss, training accuracy and scores at each evaluation.
        self.curves = np.full((2 + len(self.names), len(self.cells), len(self.evaluations)), np.nan)
        self._watched: tuple[tuple[str, ...], ...] = ((),) * len(self.cells)
        self._seen: dict[str, Array] = {}  # metric: (C, K)
        self._unseen: dict[tuple[str, int], str] = {}  # metric and cell: the first error
        # Loss and right predictions of each step since the last evaluation: summed at once, so that pauses change no digit.
        self._steps = np.zeros((2, len(self.cells), cells[0].eval_every))

    @property
    def n_steps(self) -> int:
        return self.cells[0].steps

    @property
    def done(self) -> bool:
        return self.step >= self.n_steps or bool(self.diverged_at.all())

    def watch(self, names: Sequence[Collection[str]]) -> None:
        """Measure those of these metrics that are per evaluation at each evaluation to come; names of each cell, in the pack's
        order."""
        self._watched = tuple(tuple(sorted(filter(is_per_evaluation, of_cell))) for of_cell in names)
        shape = (len(self.cells), len(self.evaluations))
        self._seen = {name: np.full(shape, np.nan) for of_cell in self._watched for name in of_cell}

    def watched(self, c: int) -> dict[str, tuple[Array, str]]:
        """The watched metrics of cell c by name: values (K,) at each evaluation, and the error that ended their measurement."""
        return {name: (self._seen[name][c], self._unseen.get((name, c), "")) for name in self._watched[c]}

    def measured(self, c: int, names: Sequence[str]) -> tuple[dict[str, Value], dict[str, str]]:
        """Values of these metrics of trained cell c, and the errors of those that failed, each by the metric's name."""
        return measured(self, c, names)

    def advance(self, seconds: float) -> None:
        """Train for about this long, at least one block of steps. What is compiled meanwhile is charged to no pack."""
        from trainables.kernels.compiled import compiling  # loads numba, for which readers of results need not wait

        started = time.perf_counter()
        with compiling() as spent:
            self._advance(started, seconds)
        self.seconds += time.perf_counter() - started - sum(spent)

    def _advance(self, started: float, seconds: float) -> None:
        fitting = self.pace * seconds if self.pace else BLOCK_STEPS
        while not self.done:
            n = max(int(min(fitting, self.n_steps)) // BLOCK_STEPS, 1) * BLOCK_STEPS
            slice_started = time.perf_counter()
            taken = self._train(n - self.step % BLOCK_STEPS)
            now = time.perf_counter()
            self.pace = taken / max(now - slice_started, 1e-6)
            left = seconds - (now - started)
            if left <= 0:
                break
            fitting = min(self.pace * left, 8 * n)

    def _train(self, n: int) -> int:
        """Take n steps, but no more than to the next evaluation. Returns the number of steps taken."""
        k = bisect_right(self.evaluations, self.step)
        last, after = self.evaluations[k - 1] if k else 0, self.evaluations[k]
        n = min(n, after - self.step)
        loss, right = self.trainer.train(self.step, n)
        self._note_divergence(loss)
        at = self.step - last
        self._steps[:, :, at : at + n] = loss, right
        self.step += n
        if self.step == after:
            loss_mean, right_mean = self._steps[:, :, : after - last].mean(2)
            train_acc = right_mean / (self.cells[0].batch * self.cells[0].updates * self.cells[0].task.n_answers)
            scores = self.trainer.evaluate(self.step, self.cells[0].test_size)
            self.curves[:, :, k] = [loss_mean, train_acc, *scores]
            self._note_infinite(scores)
            self._watch(k)
        return n

    def _watch(self, k: int) -> None:
        """Measure what is watched at evaluation k. A metric that failed for a cell is not tried again for it."""
        for c, names in enumerate(self._watched):
            wanted = [name for name in names if (name, c) not in self._unseen and not self.diverged_at[c]]
            values, failures = values_of(self, c, wanted)
            for name, value in values.items():
                self._seen[name][c, k] = np.nan if value is None else value
            self._unseen |= {(name, c): error for name, error in failures.items()}

    def _note_divergence(self, loss: Array) -> None:
        """A NaN or infinite loss ends its cell alone: the pack trains on and that cell's further numbers are dropped."""
        bad = ~np.isfinite(loss)
        new = bad.any(1) & (self.diverged_at == 0)
        self.diverged_at[new] = self.step + 1 + bad.argmax(1)[new]

    def _note_infinite(self, scores: Array) -> None:
        """An error on other examples that is NaN or infinite ends its cell too: the last update may be the one that diverged, and
        the mean over a batch may be finite where that over more examples is not. `scores`: (S, C)."""
        errors = scores[[name in ERRORS for name in self.names]]
        self.diverged_at[~np.isfinite(errors).all(0) & (self.diverged_at == 0)] = self.step

    def results(self) -> list[CellResult]:
        """One result per cell, in the pack's order."""
        measures = self.trainer.measures(self.step)
        steps = np.array(self.evaluations)
        larger = self.cells[0].last_test_size
        ends = self.trainer.evaluate(self.step, larger) if larger != self.cells[0].test_size else self.curves[2:, :, -1]
        self._note_infinite(ends)
        out = []
        for c in range(len(self.cells)):
            at = int(self.diverged_at[c])
            kept = steps < at if at else steps > 0
            loss, train_acc, *scores = self.curves[:, c, kept]
            what = "error on test examples" if np.isfinite(self.curves[0, c, steps == at]).any() else "loss"
            # A network that diverged trains on with its pack, so its final state is not a result.
            readout, alignment, half_norms, change = (
                None if m is None else np.full_like(m[c], np.nan) if at else m[c] for m in measures
            )
            ended = [values[-1] if len(values) else np.nan for values in scores] if at else ends[:, c]
            out.append(
                CellResult(
                    status="diverged" if at else "ok",
                    reason=f"{what} became NaN or infinite at step {at}" if at else "",
                    step=steps[kept],
                    train_loss=loss,
                    train_acc=train_acc,
                    scores=dict(zip(self.names, scores, strict=True)),
                    last=dict(zip(self.names, ended, strict=True)),
                    readout=readout,
                    alignment=alignment,
                    half_norms=half_norms,
                    activation_change=None if change is None else float(change),
                    seconds=self.seconds / len(self.cells),
                )
            )
        return out

    def so_far(self) -> list[dict[str, list[float | None]]]:
        """The curve of each cell up to now, in the pack's order: `step`, `train_loss`, `train_acc`, and the scores on test
        examples such as `test_acc`. None stands for no number."""
        n = bisect_right(self.evaluations, self.step)
        names = ("train_loss", "train_acc", *(name if name == VALIDATION else f"test_{name}" for name in self.names))
        found: list[dict[str, list[float | None]]] = []
        for c in range(len(self.cells)):
            of_cell = self.curves[:, c, :n].tolist()
            numbers = {name: [v if np.isfinite(v) else None for v in row] for name, row in zip(names, of_cell, strict=True)}
            found.append({"step": [float(step) for step in self.evaluations[:n]], **numbers})
        return found

    def state(self, copied: bool = True) -> dict[str, Any]:
        """Arrays and numbers from which another process can continue. With copied=False they are the trainer's own arrays, which
        later steps change."""
        own = {k: copy(getattr(self, k)) for k in ("step", "seconds", "diverged_at", "curves", "_steps", "_unseen")}
        own["_seen"] = {name: values.copy() for name, values in self._seen.items()}
        return {**own, "trainer": {k: v.copy() if copied else v for k, v in self.trainer.state().items()}}

    def load(self, state: dict[str, Any]) -> None:
        """Continue from a value that `state` returned."""
        for k, v in state.items():
            if k == "trainer":
                self.trainer.load(v)
            else:
                setattr(self, k, copy(v))
