"""Langevin dynamics at equilibrium: samples of the Bayesian posterior, drawn by Hamiltonian Monte Carlo [Rubin25 Sec. 2].

posterior   prior x exp(-sum over the P training examples of (f - y)^2 / (2 kappa)); under `loss: cross_entropy` the sum is over
            log(1 + exp(-y f)) / kappa, with labels y = +1 and -1
prior       hidden weights N(0, 1/fan-in), readouts N(0, v), v = 1/N (standard scaling) or 1/N^2 (mean field)
steps       HMC trajectories of each chain; the first half is burn-in and enters no measure
"""

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from trainables.parts import NOT_SEARCHED
from trainables.training.base import Family, Loss, Precision, Training

if TYPE_CHECKING:
    from trainables.spec import CellSpec

EQUILIBRIUM_VERSION = "3"
"""Raised whenever the same cell would give other numbers: posterior, sampler, measures."""
LEAST_DRAWS = 4
"""Fewest samples per chain: R-hat compares the halves of a chain and needs the variance of each."""

Scaling = Literal["standard", "mean_field"]
Explored = Literal["last", "all"]


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
    explored: Annotated[
        Explored,
        Field(
            title="hidden layers whose neurons jump; with all, their counts and magnitudes are judged too",
            json_schema_extra=NOT_SEARCHED,
        ),
    ] = "last"
    """`all`: neurons of every hidden layer jump, chains start from every pattern of specialised layers, and R-hat and ESS also
    judge the counts and magnitudes of specialised neurons. `last`, the first stores' only way: neurons of the last layer jump,
    half of the chains start with every layer specialised, and A_f and the energy alone are judged."""

    @model_validator(mode="after")
    def _whole_evaluations(self) -> "Langevin":
        if self.steps % (2 * self.eval_every):
            raise ValueError(f"steps ({self.steps}) is not a multiple of twice eval_every ({self.eval_every}): half is burn-in")
        if self.burn_in // self.eval_every < LEAST_DRAWS:
            raise ValueError(
                f"steps ({self.steps}) leave {self.burn_in // self.eval_every} samples of each chain, every {self.eval_every} in "
                f"the second half; R-hat needs {LEAST_DRAWS} at least"
            )
        return self

    @property
    def burn_in(self) -> int:
        """Trajectories that adapt the step and enter no measure."""
        return self.steps // 2

    def check(self, cell: "CellSpec") -> None:
        if cell.task.n_train is None:
            hint = "; give P" if "P" in type(cell.task).model_fields else ""
            raise ValueError(f"training langevin takes a training set of P examples, and task {cell.task.name} has none{hint}")
        if cell.task.targets == "classes":
            raise ValueError(f"training langevin takes labels 0 and 1 or real targets, and those of {cell.task.name} are classes")
        if self.loss == "cross_entropy" and cell.task.targets != "binary":
            raise ValueError(f"loss cross_entropy needs labels, and the targets of {cell.task.name} are real numbers; take mse")
        self._check_starts(cell.network)

    def _check_starts(self, network: Any) -> None:
        """ValueError unless equally many chains of the network, a `trainables.networks.sampled.Sampled`, start in each way."""
        patterns = 2**network.n_hidden
        if self.explored == "last" and self.chains % 2:
            raise ValueError(f"chains ({self.chains}) must be even: half start from the prior, half with every layer specialised")
        if self.explored == "all" and self.chains % patterns:
            raise ValueError(
                f"chains ({self.chains}) must be a multiple of {patterns} under explored: all: equally many start from each "
                f"of the {patterns} patterns of specialised layers of {network.name}"
            )
