"""Hidden weights as what a sampler moves, and the energy of the training set over them [Rubin25 Eq. 2, Sec. 6.1, App. E.1].

x      inputs (P, d)
u      hidden weights (B, n) ~ N(0, 1) under the prior, one row a chain; w = u/sqrt(fan-in)
U(u)   -log p(y | u) with the readout integrated out: the posterior of u is exp(-U(u)) N(u; 0, 1)
layer  matrix (B, D, N) of u whose neurons jump: the last hidden one, of which the features are a function column by column
e      direction (B, D) in that layer on which neurons specialise, |e| = 1, fixed by what lies below; the overlap c = e.u of a
       neuron is N(0, 1) under the prior
"""

from typing import Protocol, Self

import torch
from torch import Tensor

from trainables.equilibrium.activations import ERF, LINEAR, RELU
from trainables.equilibrium.cell import EquilibriumCell
from trainables.equilibrium.readout import Readout
from trainables.equilibrium.three_layer import ThreeLayer
from trainables.equilibrium.two_layer import TwoLayer


class Posterior(Protocol):
    """A network with its training set; B chains."""

    @property
    def x(self) -> Tensor:
        """Of the training set."""

    @property
    def readout(self) -> Readout:
        """What is known of a, given phi."""

    @property
    def n_weights(self) -> int:
        """n of u."""

    def to(self, dtype: torch.dtype) -> Self:
        """The same in another precision."""

    def energy(self, u: Tensor) -> Tensor:
        """U (B,); infinite or NaN where u left what numbers can hold."""

    def gradient(self, u: Tensor) -> Tensor:
        """dU/du, shaped and typed as u, computed in the precision of x."""

    def features(self, u: Tensor, x: Tensor) -> Tensor:
        """phi (B, n, M) of inputs (n, d): f = phi a."""

    def layers(self, u: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Matrix (B, D, N), a view of u, and direction e (B, D) of each hidden layer, the first one first."""

    def energies_of_neuron(self, u: Tensor, neuron: Tensor, candidates: Tensor) -> Tensor:
        """U (B, C), up to one constant a chain, with one neuron (B,) of the last layer replaced by each candidate (B, D, C)."""


ACTIVATIONS = {"erf2": ERF, "relu2": RELU, "linear2": LINEAR, "cnn": ERF}


def make_posterior(cell: EquilibriumCell, x: Tensor, y: Tensor, target: Tensor) -> Posterior:
    """The cell's network on its training set x (P, d), y (P,), of the teacher w* = `target` (d,); all float64."""
    readout = Readout(y, cell.readout_variance, cell.kappa)
    if cell.width1 is not None:
        return ThreeLayer(x, readout, target, cell.width1, cell.width)
    if cell.network == "cnn" and cell.patch is not None:
        target = torch.linalg.svd(target.view(-1, cell.patch)).Vh[0]
    return TwoLayer(x, readout, target, cell.width, ACTIVATIONS[cell.network])


def evaluate(posterior: Posterior, u: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """f (B, n) on inputs (n, d) and y - f (B, P) on the training set, both averaged over the readout given the hidden weights."""
    mean, residual = posterior.readout.fit(posterior.features(u, posterior.x))
    return (posterior.features(u, x) @ mean.unsqueeze(-1)).squeeze(-1), residual
