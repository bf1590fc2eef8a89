"""What training one cell yields."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from trainables.tasks.base import Array


@dataclass(frozen=True)
class CellResult:
    """Measures of one trained network. After a divergence the curve ends before it and the rest may be NaN.

    Curves have one entry an evaluation; `readout` and `alignment` one a hidden neuron.
    """

    status: Literal["ok", "diverged"]
    reason: str
    step: Array
    train_loss: Array
    train_acc: Array
    test_acc: Array
    readout: Array
    alignment: Array
    activation_change: float
    seconds: float

    def summary(self) -> dict[str, float | str | None]:
        """The columns of the summary row; None where there is nothing to report."""
        positive, negative = self.readout > 0, self.readout < 0
        return {
            "status": self.status,
            "reason": self.reason or None,
            "best_test_acc": _number(self.test_acc.max(initial=-np.inf)),
            "final_test_acc": _last(self.test_acc),
            "final_train_acc": _last(self.train_acc),
            "final_train_loss": _last(self.train_loss),
            "readout_ratio": _number(-_mean(self.readout[negative]) / _mean(self.readout[positive])),
            "alignment_pos": _number(_mean(self.alignment[positive])),
            "alignment_neg": _number(_mean(self.alignment[negative])),
            "activation_change": _number(self.activation_change),
            "seconds": self.seconds,
        }

    def lists(self, save: Collection[str]) -> dict[str, list[float]]:
        """The list columns of the row, of what is saved."""
        found: dict[str, list[float]] = {}
        if "curves" in save:
            found |= {f"curve_{k}": getattr(self, k).tolist() for k in ("step", "train_loss", "train_acc", "test_acc")}
        if "neurons" in save:
            found |= {"neuron_readout": self.readout.tolist(), "neuron_alignment": self.alignment.tolist()}
        return found


def _mean(x: Array) -> float:
    return float(x.mean(dtype=np.float64)) if len(x) else np.nan


def _last(x: Array) -> float | None:
    return _number(x[-1]) if len(x) else None


def _number(x: Any) -> float | None:
    return float(x) if np.isfinite(x) else None
