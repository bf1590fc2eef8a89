"""An equilibrium cell: one posterior, given by task, network, ridge and seed, and the chains that sample it [Rubin25 Sec. 2].

posterior   prior x exp(-sum over the P training examples of (f - y)^2 / (2 kappa)), or of log(1 + exp(-y f)) / kappa where the
            task, whose labels are then +1 and -1, says `loss: cross_entropy`
prior       hidden weights N(0, 1/fan-in), readouts N(0, v), v = 1/N (standard scaling) or 1/N^2 (mean field)
steps       HMC trajectories of each chain; the first half is burn-in and enters no measure
"""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, SerializeAsAny, model_validator

from trainables.cell import AnyCell, science_version
from trainables.tasks import Task
from trainables.tasks.teachers import Loss, Teacher

EQUILIBRIUM_VERSION = "3"
"""Raised whenever the same cell would give other numbers: posterior, sampler, measures."""

CANDIDATES = 24
"""Of a jump: few of those far away fit the data, and one more costs little beside the products that all share."""
LEAST_DRAWS = 4
"""Of each chain: R-hat compares its halves, of which each has a variance."""

Network = Literal["erf2", "relu2", "linear2", "erf3", "cnn"]
Scaling = Literal["standard", "mean_field"]


class EquilibriumCell(AnyCell):
    """One posterior to sample."""

    free: ClassVar[tuple[str, ...]] = ("seed", "kappa")
    headline: ClassVar[tuple[str, str]] = ("alignment_f", "alignment A_f")
    measures: ClassVar[tuple[str, ...]] = (
        "alignment_f", "final_test_acc", "final_train_acc", "test_mse", "train_mse", "final_train_loss",
        "n_specialised_1", "n_specialised_2", "magnitude_1", "magnitude_2",
    )  # fmt: skip
    telling: ClassVar[tuple[str, ...]] = ("network", "loss")

    task: SerializeAsAny[Task]
    network: Network
    width: Annotated[int, Field(ge=1)]
    """N of the last hidden layer; channels of a CNN."""
    width1: Annotated[int | None, Field(ge=2)] = None
    """N1, of a three-layer network alone."""
    scaling: Scaling = "standard"
    kappa: Annotated[float, Field(gt=0)]
    steps: Annotated[int, Field(ge=2)] = 1000
    eval_every: Annotated[int, Field(ge=1)] = 5
    chains: Annotated[int, Field(ge=2)] = 4
    test_size: Annotated[int, Field(ge=1)] = 4096
    seed: Annotated[int, Field(ge=0)]
    dtype: Literal["float32", "float64"] = "float64"
    """Of the forces; energies, which alone decide what is accepted, are always float64."""

    @model_validator(mode="after")
    def _whole_evaluations(self) -> "EquilibriumCell":
        if self.steps % (2 * self.eval_every):
            raise ValueError(f"steps ({self.steps}) is not a multiple of twice eval_every ({self.eval_every}): half is burn-in")
        if self.burn_in // self.eval_every < LEAST_DRAWS:
            raise ValueError(
                f"steps ({self.steps}) leave {self.burn_in // self.eval_every} samples of each chain, every {self.eval_every} in "
                f"the second half; R-hat needs {LEAST_DRAWS} at least"
            )
        if (self.width1 is None) == (self.network == "erf3"):
            lacking = "erf3 has two widths: width1, of its first layer, is missing"
            raise ValueError(lacking if self.network == "erf3" else "width1 is the first width of erf3, and of no other network")
        if self.network == "cnn" and self.patch is None:
            raise ValueError(f"a cnn needs a task with a patch; {self.task.name} has none here")
        if self.chains % 2:
            raise ValueError(f"chains ({self.chains}) must be even: half start from the prior, half specialised")
        if "P" not in self.task.identity():
            raise ValueError(f"task {self.task.name} has no training set of P examples")
        return self

    @property
    def n_train(self) -> int:
        """P."""
        return int(self.task.identity()["P"])

    @property
    def loss(self) -> Loss:
        """Of the task, as it is for its labels to say which are legal."""
        loss: Loss = self.task.identity().get("loss", "mse")
        return loss

    @property
    def classifies(self) -> bool:
        """Whether labels are +1 and -1, so that there is an accuracy."""
        return isinstance(self.task, Teacher) and self.task.labels_are_signs

    @property
    def patch(self) -> int | None:
        """Length of the task's patches; None where it has none."""
        patch: int | None = self.task.identity().get("patch")
        return patch

    @property
    def n_features(self) -> int:
        """Of an input that the readout sees: N, of a CNN one a channel and patch."""
        return self.width if self.network != "cnn" or self.patch is None else self.width * self.task.input_dim // self.patch

    @property
    def n_hidden_weights(self) -> int:
        """Of one chain."""
        if self.width1 is not None:
            return self.width1 * (self.task.input_dim + self.width)
        return (self.patch if self.network == "cnn" and self.patch else self.task.input_dim) * self.width

    @property
    def burn_in(self) -> int:
        """Trajectories that adapt the step and enter no measure."""
        return self.steps // 2

    @property
    def readout_variance(self) -> float:
        """v of the readouts' prior N(0, v); a CNN has one a channel and patch, and v is shared by the patches of the input."""
        v = self.width**-1.0 if self.scaling == "standard" else self.width**-2.0
        return v if self.network != "cnn" or self.patch is None else v * self.patch / self.task.input_dim

    @property
    def data_owner(self) -> str:
        """Owner of the data's random streams: networks of one seed, d and P see the same teacher and examples, whatever their
        width, scaling or kappa, so that these can be compared network by network; across P nothing is shared."""
        keys = {k: v for k, v in self.task.identity().items() if k not in self.task.shared_across}
        pairs = sorted((keys | {"seed": self.seed}).items())
        return "\n".join([self.task.name, self.task.source, *(f"{k}={v!r}" for k, v in pairs)])

    def describe(self) -> str:
        """The keys that tell cells of one sweep apart, for people: `he3 d=24 P=60 erf2 width=24 kappa=1 seed=0`."""
        task = " ".join(f"{k}={v}" for k, v in self.task.identity().items() if v is not None)
        widths = f"width={self.width}" if self.width1 is None else f"width1={self.width1} width={self.width}"
        return f"{self.task.name} {task} {self.network} {widths} {self.scaling} kappa={self.kappa:.6g} seed={self.seed}"

    @classmethod
    def measures_of(cls, task: type[Task], **keys: object) -> tuple[str, ...]:
        absent: tuple[str, ...] = () if getattr(task, "labels_are_signs", False) else ("_acc", "_loss")
        absent += () if keys.get("network", "erf3") == "erf3" else ("_2",)
        absent += {"mse": ("_loss",), "cross_entropy": ("_mse",)}.get(str(keys.get("loss")), ())
        return tuple(name for name in cls.measures if not name.endswith(absent))

    @classmethod
    def version_of(cls, task: Task) -> str:
        return f"langevin {EQUILIBRIUM_VERSION}, {science_version(task)}"
