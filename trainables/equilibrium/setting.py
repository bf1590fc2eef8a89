"""A cell's settings for the sampler: one posterior, given by task, network, ridge and seed, and the chains [Rubin25 Sec. 2]."""

from dataclasses import dataclass

from trainables.cell import Cell
from trainables.networks.sampled import Sampled
from trainables.tasks import Task
from trainables.training.base import Loss
from trainables.training.langevin import Langevin

CANDIDATES = 24
"""Candidates per jump in the last hidden layer. Few candidates far away fit the data, and one more costs little beside the
products that all share."""
CANDIDATES_BELOW = 8
"""Candidates per jump in a layer below, where each costs an energy."""
JUMPS, JUMPS_BELOW = 4, 4
"""Jumps after each trajectory, in the last hidden layer and, if all are explored, in each layer below."""


@dataclass(frozen=True)
class Setting:
    """A cell that is sampled at equilibrium, with the numbers that follow from its parts. TypeError for any other cell."""

    cell: Cell

    def __post_init__(self) -> None:
        if not isinstance(self.cell.network, Sampled) or not isinstance(self.cell.training, Langevin):
            raise TypeError(f"{self.cell.describe()} is not sampled at equilibrium")

    @property
    def task(self) -> Task:
        return self.cell.task

    @property
    def sampled(self) -> Sampled:
        assert isinstance(self.cell.network, Sampled)
        return self.cell.network

    @property
    def langevin(self) -> Langevin:
        assert isinstance(self.cell.training, Langevin)
        return self.cell.training

    @property
    def network(self) -> str:
        return self.sampled.name

    @property
    def width(self) -> int:
        """N, the neurons of the last hidden layer, or the channels of a CNN."""
        return self.sampled.width

    @property
    def width1(self) -> int | None:
        """N1, the neurons of the first hidden layer; only three-layer networks have it."""
        return self.sampled.width1

    @property
    def kappa(self) -> float:
        return self.langevin.kappa

    @property
    def steps(self) -> int:
        """HMC trajectories of each chain."""
        return self.langevin.steps

    @property
    def eval_every(self) -> int:
        return self.langevin.eval_every

    @property
    def chains(self) -> int:
        return self.langevin.chains

    @property
    def test_size(self) -> int:
        return self.langevin.test_size

    @property
    def dtype(self) -> str:
        return self.langevin.dtype

    @property
    def explores_all(self) -> bool:
        """True if all hidden layers are explored, False if the last alone is."""
        return self.langevin.explored == "all"

    @property
    def burn_in(self) -> int:
        """Trajectories that adapt the step and enter no measure."""
        return self.langevin.burn_in

    @property
    def loss(self) -> Loss:
        return self.langevin.loss

    @property
    def cell_id(self) -> str:
        return self.cell.cell_id

    @property
    def n_train(self) -> int:
        """P, the number of training examples."""
        assert self.task.n_train is not None
        return self.task.n_train

    @property
    def classifies(self) -> bool:
        """Whether y is +1 or -1, so that there is an accuracy."""
        return self.task.targets == "binary"

    @property
    def patch(self) -> int | None:
        """Length of the task's patches; None for a task without patches."""
        return self.task.patch_length

    @property
    def n_features(self) -> int:
        """Number of features that the readout sees: N, for a CNN one per channel and patch."""
        return self.width if self.network != "cnn" or self.patch is None else self.width * self.task.input_dim // self.patch

    @property
    def n_hidden_weights(self) -> int:
        """Hidden weights of one chain."""
        if self.width1 is not None:
            return self.width1 * (self.task.input_dim + self.width)
        return (self.patch if self.network == "cnn" and self.patch else self.task.input_dim) * self.width

    @property
    def readout_variance(self) -> float:
        """v of the readouts' prior N(0, v). A CNN has a readout per channel and patch; its v is divided by the number of
        patches."""
        v = self.width**-1.0 if self.langevin.scaling == "standard" else self.width**-2.0
        return v if self.network != "cnn" or self.patch is None else v * self.patch / self.task.input_dim
