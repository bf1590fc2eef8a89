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
OF_PATCHES = ("cnn", "attention")
"""Networks that look at each patch, or token, of an input."""
SOFTMAX = 50
"""Cost of one weight of a softmax, in products."""
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
        """N, the neurons of the last hidden layer, the channels of a CNN, or the heads of attention."""
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
    def jumps(self) -> int:
        """Jumps after each trajectory in the last hidden layer. A jump of a head costs as much as several trajectories, by which
        heads specialise, too."""
        return 1 if self.network == "attention" else JUMPS

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
        """Length of the task's patches, or tokens; None for a task without them."""
        return self.task.patch_length

    @property
    def n_patches(self) -> int:
        """Patches, or tokens, that a network which looks at each of them sees; 1 for a network on whole inputs."""
        return 1 if self.patch is None or self.network not in OF_PATCHES else self.task.input_dim // self.patch

    @property
    def n_readouts(self) -> int:
        """Numbers of a neuron that the readout sees: 1, for a CNN one per patch, for attention the length of a token."""
        return self.fan_in if self.network == "attention" else self.n_patches

    @property
    def n_features(self) -> int:
        """Number of features that the readout sees."""
        return self.width * self.n_readouts

    @property
    def fan_in(self) -> int:
        """Length of the inputs, or of the patches or tokens that the network looks at."""
        return self.task.input_dim // self.n_patches

    @property
    def n_hidden_weights(self) -> int:
        """Hidden weights of one chain."""
        if self.width1 is not None:
            return self.width1 * (self.task.input_dim + self.width)
        return self.fan_in * self.width * (self.fan_in if self.network == "attention" else 1)

    @property
    def forward_products(self) -> int:
        """Products of one example on its way through the hidden layers."""
        scores = self.n_patches**2 * self.width * (self.fan_in + SOFTMAX) if self.network == "attention" else 0
        return self.n_hidden_weights * self.n_patches + scores

    @property
    def readout_variance(self) -> float:
        """v of the readouts' prior N(0, v). Where a neuron has several readouts, v is divided by their number."""
        v = self.width**-1.0 if self.langevin.scaling == "standard" else self.width**-2.0
        if self.n_readouts == 1:
            return v
        return v / self.fan_in if self.network == "attention" else v * self.fan_in / self.task.input_dim  # stored digits
