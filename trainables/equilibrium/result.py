"""What sampling one posterior yields."""

from collections.abc import Collection
from dataclasses import dataclass
from math import isfinite

from trainables.basics import Array

MOST_R_HAT, LEAST_ESS = 1.05, 100
"""A cell is mixed where both hold. The halves of m = 4 chains, 2m means of ESS/(2m) independent draws each, have R-hat
sqrt(1 + 2m/ESS) = 1.04 at an ESS of 100 when nothing is wrong."""


@dataclass(frozen=True)
class EquilibriumResult:
    """Measures of one posterior, over the second half of the chains, and the curves of the whole of them.

    Curves have one entry an evaluation, and but for `step` one row a chain, first the half that started from the prior, then the
    half that started specialised. NaN, and None of curves, is what the loss or the labels leave without meaning.
    """

    alignment_f: float
    """Mean of A_f over chains and samples."""
    alignment_f_se: float
    """Its Monte-Carlo standard error; the posterior's own draw of data is not in it."""
    test_mse: float
    """Of the posterior mean predictor: output averaged over readouts, samples and chains, on fresh inputs; of squared loss."""
    train_mse: float
    """Mean square of y - f on the training set, f of one sample; NaN for P = 0; of squared loss."""
    train_loss: float
    """Mean cross entropy on the training set, of one sample, in nats; NaN for P = 0."""
    train_acc: float
    test_acc: float
    """Mean over samples of the share of (fresh) inputs on which f has the sign of the label."""
    r_hat: float
    """The larger of those of A_f and of the energy U."""
    ess: float
    """The smaller of the bulk ESS of A_f and of U."""
    acceptance: float
    n_specialised: tuple[float, ...]
    """Mean number of specialised neurons, of each hidden layer."""
    magnitude: tuple[float, ...]
    """Of these, |mu| = |w.e| with w of prior variance 1/fan-in (measures.Means.magnitudes); NaN where there is none."""
    overlap: Array
    """Mean number of first-layer neurons in each bin of measures.OVERLAP_EDGES."""
    step: Array
    curve_alignment: Array
    curve_train_mse: Array | None
    curve_train_loss: Array | None
    curve_train_acc: Array | None
    curve_test_acc: Array | None
    seconds: float
    status: str = "ok"
    """Chains never diverge: what leaves the numbers is rejected."""

    @property
    def mixed(self) -> bool:
        """Whether the chains agree, and say enough to tell."""
        return self.r_hat <= MOST_R_HAT and self.ess >= LEAST_ESS

    def summary(self) -> dict[str, float | bool | str | None]:
        """The columns of the summary row; None where there is nothing to report."""
        numbers = ("alignment_f", "alignment_f_se", "test_mse", "train_mse", "r_hat", "ess", "acceptance")
        found = {k: getattr(self, k) for k in numbers}
        found |= {"final_train_loss": self.train_loss, "final_train_acc": self.train_acc, "final_test_acc": self.test_acc}
        found |= {f"n_specialised_{k + 1}": n for k, n in enumerate(self.n_specialised)}
        found |= {f"magnitude_{k + 1}": mu for k, mu in enumerate(self.magnitude)}
        row: dict[str, float | bool | str | None] = {k: x if isfinite(x) else None for k, x in found.items()}
        reason = None if self.mixed else f"did not mix: R-hat {self.r_hat:.3g}, ESS {self.ess:.0f}"
        return row | {"status": self.status, "reason": reason, "mixed": self.mixed, "seconds": self.seconds}

    def lists(self, save: Collection[str]) -> dict[str, list[float]]:
        """The list columns of the row, of what is saved; curves are means over the chains."""
        found: dict[str, list[float]] = {}
        if "curves" in save:
            curves = {"curve_alignment_f": self.curve_alignment, "curve_train_mse": self.curve_train_mse}
            curves |= {k: getattr(self, k) for k in ("curve_train_loss", "curve_train_acc", "curve_test_acc")}
            found = {k: curve.mean(0).tolist() for k, curve in curves.items() if curve is not None}
            found |= {"curve_step": self.step.tolist()}
        if "neurons" in save:
            found |= {"overlap": self.overlap.tolist()}
        return found
