"""One hidden layer: fully connected, or a CNN whose patches do not overlap [Rubin25 App. E.1].

x      inputs (P, d) in S patches of k = d/S; fully connected is S = 1
w      u/sqrt(k), (B, k, N): the same weights for every patch
phi    act(w . patch), (B, P, S N) with the channels of a patch together: a readout for each channel and patch
e      direction of the target w* in a patch: of the S patches of w*, the one that they share, or the foremost of their span
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from trainables.equilibrium.activations import Activation
from trainables.equilibrium.readout import Readout


@dataclass(frozen=True)
class TwoLayer:
    """-log p(y | u) and what belongs to it."""

    x: Tensor
    readout: Readout
    direction: Tensor
    """e (k,)."""
    width: int
    activation: Activation

    @property
    def n_weights(self) -> int:
        """k N."""
        return len(self.direction) * self.width

    def to(self, dtype: torch.dtype) -> "TwoLayer":
        """The same in another precision."""
        return replace(self, x=self.x.to(dtype), readout=self.readout.to(dtype), direction=self.direction.to(dtype))

    def energy(self, u: Tensor) -> Tensor:
        """U (B,); infinite or NaN where u left what numbers can hold."""
        return self.readout.energy(self.features(u, self.x))

    def gradient(self, u: Tensor) -> Tensor:
        """dU/du, shaped and typed as u; computed in the precision of x."""
        patches = self._patches(self.x)
        h = patches @ self._matrix(u.to(patches.dtype))
        back = self.readout.gradient(self._by_example(self.activation.of(h), len(self.x))).view(h.shape)
        return (patches.T @ back.mul_(self.activation.slope(h))).to(u.dtype).flatten(1)

    def features(self, u: Tensor, x: Tensor) -> Tensor:
        """phi (B, n, S N) of inputs (n, d)."""
        return self._by_example(self.activation.of(self._patches(x) @ self._matrix(u)), len(x))

    def layers(self, u: Tensor) -> list[tuple[Tensor, Tensor]]:
        """The one matrix (B, k, N), a view of u, and e (B, k)."""
        return [(self._matrix(u), self.direction.expand(len(u), -1))]

    def energies_of_neuron(self, u: Tensor, neuron: Tensor, candidates: Tensor) -> Tensor:
        """U (B, C), up to one constant a chain, with one neuron (B,) replaced by each of `candidates` (B, k, C)."""
        n_patches = self.x.shape[1] // len(self.direction)
        own = neuron.unsqueeze(1) + self.width * torch.arange(n_patches)
        h = self._patches(self.x) @ candidates
        features = self.activation.of(h).view(len(u), len(self.x), n_patches, candidates.shape[2]).mT
        return self.readout.energies_without(self.features(u, self.x), own, features)

    def _matrix(self, u: Tensor) -> Tensor:
        return u.view(len(u), -1, self.width)

    def _patches(self, x: Tensor) -> Tensor:
        """(n S, k), scaled so that w . patch is patches @ u."""
        k = len(self.direction)
        return x.view(len(x) * (x.shape[1] // k), k) * k**-0.5

    def _by_example(self, phi: Tensor, n: int) -> Tensor:
        """(B, n S, N) as (B, n, S N)."""
        return phi.view(len(phi), n, self.x.shape[1] // len(self.direction) * self.width)
