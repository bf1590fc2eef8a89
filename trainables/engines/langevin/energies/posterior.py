"""The posterior as the sampler sees it: numbers u to move, and their energy U(u) on the training set [Rubin25 Eq. 2, Sec. 6.1,
App. E.1].

x      inputs (P, d)
u      sampled numbers (B, n), N(0, 1) under the prior, one row per chain: hidden weights w = u/sqrt(fan-in), followed by the
       readouts b = a/sqrt(v) if the loss does not make them Gaussian
U(u)   -log p(y | u), under squared loss with the readout integrated out: the posterior of u is exp(-U(u)) N(u; 0, 1)
layer  matrix (B, D, N) of u, one column per neuron; a jump moves one column. A feature depends on one column of the last layer
e      directions (B, K, D) in a layer on which neurons specialise, |e| = 1, fixed by the layers below; the overlap c = e.u of a
       neuron is N(0, 1) under the prior. K = 1 unless the target has several directions
"""

from typing import Protocol, Self

import numpy as np
import torch
from torch import Tensor

from trainables.cell import Cell
from trainables.engines.langevin.energies.activations import ERF, LINEAR, RELU
from trainables.engines.langevin.energies.attention import Attention
from trainables.engines.langevin.energies.logistic import LogisticReadout
from trainables.engines.langevin.energies.readout import Alternatives, IntegratedReadout, Readout
from trainables.engines.langevin.energies.three_layer import ThreeLayer
from trainables.engines.langevin.energies.two_layer import TwoLayer
from trainables.engines.langevin.setting import OF_PATCHES, Setting


class Posterior(Protocol):
    """The posterior of a network given its training set, for B chains."""

    @property
    def x(self) -> Tensor:
        """Inputs (P, d) of the training set."""

    @property
    def readout(self) -> Readout:
        """The last layer and its loss, as functions of the features phi."""

    @property
    def n_weights(self) -> int:
        """n, the length of a row of u."""

    def to(self, dtype: torch.dtype) -> Self:
        """This posterior in another precision."""

    def energy(self, u: Tensor) -> Tensor:
        """U (B,); infinite or NaN where the computation overflows."""

    def gradient(self, u: Tensor) -> Tensor:
        """dU/du, shaped and typed as u, computed in the precision of x."""

    def features(self, u: Tensor, x: Tensor) -> Tensor:
        """phi (B, n, M) of inputs (n, d): f = phi a."""

    def layers(self, u: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Matrix (B, D, N), a view of u, and directions e (B, K, D) of each hidden layer, from the first to the last."""

    def readouts(self, u: Tensor) -> Tensor:
        """b, a view of u: (B, M), or (B, 0) where the readout is integrated out."""

    def alternatives(
        self, u: Tensor, layer: int, neuron: Tensor, candidates: Tensor, special: Tensor, rng: np.random.Generator
    ) -> Alternatives:
        """The alternatives to one neuron (B,) of a hidden layer, counted from 0: candidates (B, D, C), the first the neuron
        itself; see `Readout`. Below the last layer a neuron has no readout, so b is (B, 0)."""


ACTIVATIONS = {"erf2": ERF, "relu2": RELU, "linear2": LINEAR, "cnn": ERF}


def make_posterior(of: Cell, x: Tensor, y: Tensor, directions: Tensor) -> Posterior:
    """The cell's posterior on its training set x (P, d), y (P,). The target depends on `directions` (K, d) only. All float64."""
    cell = Setting(of)
    of_loss = IntegratedReadout if cell.loss == "mse" else LogisticReadout
    readout: Readout = of_loss(y, cell.readout_variance, cell.kappa)
    if cell.width1 is not None:
        return ThreeLayer(x, readout, directions, cell.width1, cell.width)
    if cell.patch is not None and cell.network in OF_PATCHES:  # the direction of w* that patches share, or the foremost of them
        directions = torch.linalg.svd(directions.view(-1, cell.patch)).Vh[:1]
    if cell.network == "attention":
        return Attention(x, readout, directions, cell.width)
    return TwoLayer(x, readout, directions, cell.width, ACTIVATIONS[cell.network])


def evaluate(posterior: Posterior, u: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """f on inputs (n, d) and on the training set, (B, n) and (B, P), averaged over the readout if it is integrated out."""
    mean, on_training = _fit(posterior, u)
    return _outputs(posterior.features(u, x), mean), on_training


def outputs_and_features(posterior: Posterior, u: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """f (B, n) as `evaluate` gives it, and phi (B, n, M), on inputs (n, d)."""
    features = posterior.features(u, x)
    return _outputs(features, _fit(posterior, u)[0]), features


def _fit(posterior: Posterior, u: Tensor) -> tuple[Tensor, Tensor]:
    return posterior.readout.fit(posterior.features(u, posterior.x), posterior.readouts(u))


def _outputs(features: Tensor, readout: Tensor) -> Tensor:
    return (features @ readout.unsqueeze(-1)).squeeze(-1)
