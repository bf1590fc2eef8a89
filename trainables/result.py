"""The result of training one cell by gradient descent, or by ridge regression."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from trainables.tasks.base import Array, Targets, Task

SCORES: Mapping[Targets, tuple[str, ...]] = {
    "binary": ("acc", "auc", "acc_best_threshold", "acc_same", "acc_different"),
    "classes": ("acc",),
    "real": ("mse",),
}
"""The scores of a network on test examples, by the kind of its task's targets; see trainables.trainers.scores."""

VALIDATION = "val_loss"
"""The score of a network on validation examples: their mean loss. The evaluation where it is least is picked."""

ERRORS = ("mse", VALIDATION)
"""The scores that are losses: NaN or infinite ones are a divergence. An AUC may be NaN where all examples have one label."""

CURVES = {"acc": "curve_test_acc", "auc": "curve_test_auc", "mse": "curve_test_mse", VALIDATION: "curve_val_loss"}
"""The list columns of the scores that are kept at each evaluation."""


def scores_of(task: Task) -> tuple[str, ...]:
    """The scores of networks on this task, in the order of a trainer's `evaluate`."""
    return (*SCORES[task.targets], VALIDATION) if task.validates else SCORES[task.targets]


@dataclass(frozen=True)
class CellResult:
    """Metrics of one trained network. If it diverged, its curves end before the divergence and other metrics may be NaN.

    Curves have one entry per evaluation, K in all; `readout`, `alignment` and `half_norms` one per hidden neuron.
    """

    status: Literal["ok", "diverged"]
    reason: str
    step: Array
    train_loss: Array
    train_acc: Array
    scores: Mapping[str, Array]
    """Scores at each evaluation by name (trainables.trainers.scores), each (K,)."""
    last: Mapping[str, float]
    """The scores of the last evaluation; of a network that diverged, the last ones before."""
    readout: Array | None
    alignment: Array | None
    half_norms: Array | None
    activation_change: float | None
    seconds: float

    @property
    def test_acc(self) -> Array:
        """Test accuracy at each evaluation."""
        return self.scores["acc"]

    @property
    def has_labels(self) -> bool:
        """True if targets are labels, so that there are accuracies."""
        return "acc" in self.scores

    def summary(self) -> dict[str, float | str | None]:
        """The columns of the summary row; None where there is nothing to report."""
        found: dict[str, float | str | None] = {"status": self.status, "reason": self.reason or None}
        last = {name: number(value) for name, value in self.last.items() if name != VALIDATION}
        if self.has_labels:
            found |= {f"final_test_{name}": value for name, value in last.items()}
            found["final_train_acc"] = _last(self.train_acc)
        if self.picked is not None:
            found |= self._at_the_picked(self.picked, last)
        elif self.has_labels:
            found["best_test_acc"] = number(self.test_acc.max(initial=-np.inf))
        elif VALIDATION not in self.scores:
            found["test_mse"] = last["mse"]
        found["final_train_loss"] = _last(self.train_loss)
        if self.readout is not None and self.alignment is not None:
            positive, negative = self.readout > 0, self.readout < 0
            found |= {
                "readout_ratio": number(-_mean(self.readout[negative]) / _mean(self.readout[positive])),
                "alignment_pos": number(_mean(self.alignment[positive])),
                "alignment_neg": number(_mean(self.alignment[negative])),
                "alignment_correlation": number(_correlation(self.readout, self.alignment)),
            }
        if self.half_norms is not None:
            found["half_norm_ratio"] = number(_mean(self.half_norms))
        if self.activation_change is not None:
            found["activation_change"] = number(self.activation_change)
        return {**found, "seconds": self.seconds}

    @property
    def picked(self) -> int | None:
        """Index of the evaluation with the least validation loss; None without validation, or without such a loss."""
        losses = self.scores.get(VALIDATION, np.empty(0))
        # A network may break in the step before an evaluation, whose loss is then no number.
        return int(np.nanargmin(losses)) if np.isfinite(losses).any() else None

    def _at_the_picked(self, k: int, last: Mapping[str, float | None]) -> dict[str, float | str | None]:
        of_test: dict[str, float | str | None] = (
            {"picked_test_acc": number(self.test_acc[k])}
            if self.has_labels
            else {"test_mse": number(self.scores["mse"][k]), "final_test_mse": last["mse"]}
        )
        return {"picked_step": float(self.step[k]), "picked_val_loss": number(self.scores[VALIDATION][k]), **of_test}

    def lists(self, save: Collection[str]) -> dict[str, list[float]]:
        """The list columns of the row; `save` names the groups to keep: curves, neurons."""
        found: dict[str, list[float]] = {}
        if "curves" in save:
            found = {"curve_step": self.step.tolist(), "curve_train_loss": self.train_loss.tolist()}
            if self.has_labels:
                found["curve_train_acc"] = self.train_acc.tolist()
            found |= {CURVES[name]: values.tolist() for name, values in self.scores.items() if name in CURVES}
        if "neurons" in save and self.readout is not None and self.alignment is not None:
            found |= {"neuron_readout": self.readout.tolist(), "neuron_alignment": self.alignment.tolist()}
        return found


def _correlation(x: Array, y: Array) -> float:
    """Pearson's correlation; NaN if x or y is constant."""
    dx, dy = (v.astype(np.float64) - v.mean(dtype=np.float64) for v in (x, y))
    scale = np.sqrt((dx @ dx) * (dy @ dy))
    return float(dx @ dy / scale) if scale > 0 else np.nan


def _mean(x: Array) -> float:
    return float(x.mean(dtype=np.float64)) if len(x) else np.nan


def _last(x: Array) -> float | None:
    return number(x[-1]) if len(x) else None


def number(x: Any) -> float | None:
    """The value as a row holds it: a float, or None if it is not finite."""
    return float(x) if np.isfinite(x) else None
