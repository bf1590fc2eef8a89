"""The result of sampling one posterior."""

from collections.abc import Collection
from dataclasses import dataclass
from math import isfinite

from trainables.basics import Array

MOST_R_HAT, LEAST_ESS = 1.05, 100
"""A cell is mixed if R-hat is at most the first and ESS at least the second. The halves of m = 4 chains, 2m means of ESS/(2m)
independent draws each, have R-hat sqrt(1 + 2m/ESS) = 1.04 at an ESS of 100 when nothing is wrong."""


@dataclass(frozen=True)
class EquilibriumResult:
    """Measures of one posterior over the second half of each chain, and curves over whole chains.

    Curves have one entry per evaluation and, except `step`, one row per chain: first the chains that started from the prior, then
    those in which a layer started specialised. A measure without meaning under this loss or these labels is NaN; such a curve is
    None.
    """

    alignment_f: float
    """Mean of A_f over chains and samples."""
    alignment_f_se: float
    """Monte-Carlo standard error of `alignment_f`, without the variation over draws of the training set."""
    test_mse: float
    """Error on fresh inputs of the posterior mean, the output averaged over readouts, samples and chains; squared loss only."""
    train_mse: float
    """Mean square of y - f on the training set, f of one sample, averaged over samples; NaN for P = 0; squared loss only."""
    train_loss: float
    """Mean cross entropy on the training set, f of one sample, averaged over samples, in nats; NaN for P = 0. Cross entropy
    only."""
    train_acc: float
    test_acc: float
    """`train_acc` and `test_acc`: share of training and fresh inputs on which f has the sign of the label, averaged over
    samples."""
    r_hat: float
    """The largest R-hat: of A_f, of the energy U and, if all layers are explored, of counts and |mu| of specialised neurons."""
    ess: float
    """The smallest bulk ESS of the same quantities."""
    acceptance: float
    n_specialised: tuple[float, ...]
    """Mean number of specialised neurons, of each hidden layer."""
    magnitude: tuple[float, ...]
    """|mu| = |w.e| of the specialised neurons of each hidden layer, with w of prior variance 1/fan-in
    (measures.Means.magnitudes); NaN if there are none."""
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
    """Chains never diverge: a trajectory whose energy overflows is rejected."""

    @property
    def mixed(self) -> bool:
        """Whether the chains agree, and hold enough independent draws to tell."""
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
        """The list columns of the row; `save` names the groups to keep: curves (means over the chains), neurons."""
        found: dict[str, list[float]] = {}
        if "curves" in save:
            curves = {"curve_alignment_f": self.curve_alignment, "curve_train_mse": self.curve_train_mse}
            curves |= {k: getattr(self, k) for k in ("curve_train_loss", "curve_train_acc", "curve_test_acc")}
            found = {k: curve.mean(0).tolist() for k, curve in curves.items() if curve is not None}
            found |= {"curve_step": self.step.tolist()}
        if "neurons" in save:
            found |= {"overlap": self.overlap.tolist()}
        return found
