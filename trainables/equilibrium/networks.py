"""Hidden weights as what a sampler moves, and the energy of the training set over them [Rubin25 Eq. 2, App. E.1].

x      inputs (P, d)
u      (B, d, N) ~ N(0, 1) under the prior, one matrix a chain; w = u/sqrt(d), preactivations h = x w, features phi = act(h)
w*     the teacher's direction (d,); the overlap c = w*.u of a neuron is N(0, 1) under the prior, and w.w* = c/sqrt(d)
U(u)   -log p(y | u) with the readout integrated out: the posterior of u is exp(-U(u)) N(u; 0, 1)
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import pi, sqrt
from typing import NamedTuple

import torch
from torch import Tensor

from trainables.equilibrium.readout import Readout


class Activation(NamedTuple):
    """A function of the preactivations, and its derivative."""

    of: Callable[[Tensor], Tensor]
    slope: Callable[[Tensor], Tensor]


ACTIVATIONS = {
    "erf2": Activation(torch.erf, lambda h: torch.exp(-h * h) * (2 / sqrt(pi))),
    "relu2": Activation(torch.relu, lambda h: (h > 0).to(h.dtype)),
    "linear2": Activation(lambda h: h, torch.ones_like),
}


@dataclass(frozen=True)
class TwoLayer:
    """A two-layer network of which the hidden layer is sampled."""

    x: Tensor
    readout: Readout
    direction: Tensor
    width: int
    activation: Activation

    @property
    def shape(self) -> tuple[int, int]:
        """(d, N) of u."""
        return self.x.shape[1], self.width

    def to(self, dtype: torch.dtype) -> "TwoLayer":
        """The same in another precision."""
        return TwoLayer(self.x.to(dtype), self.readout.to(dtype), self.direction.to(dtype), self.width, self.activation)

    def energy(self, u: Tensor) -> Tensor:
        """U (B,); infinite or NaN where u left what numbers can hold."""
        return self.readout.energy(self._features(u, self.x))

    def gradient(self, u: Tensor) -> Tensor:
        """dU/du, shaped and typed as u; computed in the precision of x."""
        x = self.x * self.x.shape[1] ** -0.5
        h = x @ u.to(x.dtype)
        back = self.readout.gradient(self.activation.of(h)).mul_(self.activation.slope(h))
        return (x.T @ back).to(u.dtype)

    def outputs(self, u: Tensor, x: Tensor) -> Tensor:
        """f (B, n) on inputs (n, d), averaged over the readout given the hidden weights."""
        mean = self.readout.mean(self._features(u, self.x))
        return (self._features(u, x) @ mean.unsqueeze(-1)).squeeze(-1)

    def residual(self, u: Tensor) -> Tensor:
        """y - f (B, P) on the training set, f averaged as in `outputs`."""
        return self.readout.residual(self._features(u, self.x))

    def overlaps(self, u: Tensor) -> Tensor:
        """c (B, N) of the neurons, in standard deviations of the prior."""
        return self.direction @ u

    def energies_of_neuron(self, u: Tensor, neuron: Tensor, candidates: Tensor) -> Tensor:
        """U (B, C), up to one constant a chain, with one neuron (B,) of each chain replaced by each of `candidates` (B, d, C)."""
        return self.readout.column_energies(self._features(u, self.x), neuron, self._features(candidates, self.x))

    def _features(self, u: Tensor, x: Tensor) -> Tensor:
        """phi (B, n, N) of inputs (n, d)."""
        return self.activation.of((x * x.shape[1] ** -0.5) @ u)
