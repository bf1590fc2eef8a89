"""Langevin dynamics at equilibrium: samples of the Bayesian posterior, drawn by Hamiltonian Monte Carlo [Rubin25 Sec. 2].

posterior   prior x exp(-sum over the P training examples of (f - y)^2 / (2 kappa)); under `loss: cross_entropy` the sum is over
            log(1 + exp(-y f)) / kappa, with labels y = +1 and -1
prior       hidden weights N(0, 1/fan-in), readouts N(0, v), v = 1/N (standard scaling) or 1/N^2 (mean field)
steps       HMC trajectories of each chain; the first half is burn-in and enters no measure
"""

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from trainables.training.base import Family, Loss, Precision, Training

if TYPE_CHECKING:
    from trainables.cell import Cell

EQUILIBRIUM_VERSION = "3"
"""Raised whenever the same cell would give other numbers: posterior, sampler, measures."""
LEAST_DRAWS = 4
"""Fewest samples per chain: R-hat compares the halves of a chain and needs the variance of each."""

Scaling = Literal["standard", "mean_field"]


class Langevin(Training):
    """One posterior to sample."""

    name: ClassVar[str] = "langevin"
    family: ClassVar[Family] = "sampling"
    version: ClassVar[str] = f"langevin {EQUILIBRIUM_VERSION}"
    headline: ClassVar[tuple[str, str]] = ("alignment_f", "alignment A_f")
    free: ClassVar[tuple[str, ...]] = ("kappa",)
    told: ClassVar[tuple[str, ...]] = ("scaling",)
    hashed_at_default: ClassVar[tuple[str, ...]] = (
        "scaling", "kappa", "steps", "eval_every", "chains", "test_size", "dtype",
    )  # fmt: skip

    scaling: Scaling = "standard"
    kappa: Annotated[float, Field(gt=0)]
    steps: Annotated[int, Field(ge=2)] = 1000
    eval_every: Annotated[int, Field(ge=1)] = 5
    chains: Annotated[int, Field(ge=2)] = 4
    test_size: Annotated[int, Field(ge=1)] = 4096
    dtype: Precision = "float64"
    """Precision of the forces. Energies, which alone decide whether a trajectory is accepted, are always float64."""
    loss: Loss = "mse"

    @model_validator(mode="after")
    def _whole_evaluations(self) -> "Langevin":
        if self.steps % (2 * self.eval_every):
            raise ValueError(f"steps ({self.steps}) is not a multiple of twice eval_every ({self.eval_every}): half is burn-in")
        if self.burn_in // self.eval_every < LEAST_DRAWS:
            raise ValueError(
                f"steps ({self.steps}) leave {self.burn_in // self.eval_every} samples of each chain, every {self.eval_every} in "
                f"the second half; R-hat needs {LEAST_DRAWS} at least"
            )
        if self.chains % 2:
            raise ValueError(f"chains ({self.chains}) must be even: half start from the prior, half specialised")
        return self

    @property
    def burn_in(self) -> int:
        """Trajectories that adapt the step and enter no measure."""
        return self.steps // 2

    def check(self, cell: "Cell") -> None:
        if cell.task.n_train is None:
            raise ValueError(f"task {cell.task.name} has no training set of P examples")
        if cell.task.targets == "classes":
            raise ValueError(f"training langevin takes labels 0 and 1 or real targets, and those of {cell.task.name} are classes")
        if self.loss == "cross_entropy" and cell.task.targets != "binary":
            raise ValueError(f"loss cross_entropy needs labels, and the targets of {cell.task.name} are real numbers; take mse")
