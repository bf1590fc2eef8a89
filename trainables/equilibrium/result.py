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

    Curves have one entry an evaluation; `curve_alignment` and `curve_train_mse` one row a chain, first the half that
    started from the prior, then the half that started specialised.
    """

    alignment_f: float
    """Mean of A_f over chains and samples."""
    alignment_f_se: float
    """Its Monte-Carlo standard error; the posterior's own draw of data is not in it."""
    test_mse: float
    """Of the posterior mean predictor: the output averaged over readouts, samples and chains, on fresh inputs."""
    train_mse: float
    """Mean square of y - f on the training set, f of one sample; NaN for P = 0."""
    r_hat: float
    """The larger of those of A_f and of the energy U."""
    ess: float
    """The smaller of the bulk ESS of A_f and of U."""
    acceptance: float
    n_specialised: tuple[float, ...]
    """Mean number of specialised neurons, of each hidden layer."""
    overlap: Array
    """Mean number of first-layer neurons in each bin of measures.OVERLAP_EDGES."""
    step: Array
    curve_alignment: Array
    curve_train_mse: Array
    seconds: float

    @property
    def mixed(self) -> bool:
        """Whether the chains agree, and say enough to tell."""
        return self.r_hat <= MOST_R_HAT and self.ess >= LEAST_ESS

    def summary(self) -> dict[str, float | bool | str | None]:
        """The columns of the summary row; None where there is nothing to report."""
        numbers = ("alignment_f", "alignment_f_se", "test_mse", "train_mse", "r_hat", "ess", "acceptance")
        row: dict[str, float | bool | str | None] = {k: x if isfinite(x := getattr(self, k)) else None for k in numbers}
        row |= {f"n_specialised_{k + 1}": n for k, n in enumerate(self.n_specialised)}
        reason = None if self.mixed else f"did not mix: R-hat {self.r_hat:.3g}, ESS {self.ess:.0f}"
        return row | {"status": "ok", "reason": reason, "mixed": self.mixed, "seconds": self.seconds}

    def lists(self, save: Collection[str]) -> dict[str, list[float]]:
        """The list columns of the row, of what is saved; curves are means over the chains."""
        found: dict[str, list[float]] = {}
        if "curves" in save:
            found = {"curve_step": self.step.tolist(), "curve_train_mse": self.curve_train_mse.mean(0).tolist()}
            found |= {"curve_alignment_f": self.curve_alignment.mean(0).tolist()}
        if "neurons" in save:
            found |= {"overlap": self.overlap.tolist()}
        return found
