"""One hidden layer: fully connected, or a CNN whose patches do not overlap [Rubin25 App. E.1].

x      inputs (P, d) in S patches of k = d/S; fully connected is S = 1
w      u/sqrt(k), (B, k, N): the same weights for every patch
phi    act(w . patch), (B, P, S N) with the channels of a patch together: a readout for each channel and patch
u      the weights, followed by the readouts b if they are sampled
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from trainables.engines.langevin.energies.activations import Activation
from trainables.engines.langevin.energies.readout import Alternatives, Readout


@dataclass(frozen=True)
class TwoLayer:
    """The posterior of a network with one hidden layer; implements Posterior."""

    x: Tensor
    readout: Readout
    directions: Tensor
    """e (K, k)."""
    width: int
    activation: Activation

    @property
    def n_weights(self) -> int:
        """k N, plus S N if readouts are sampled."""
        return self._n_hidden + self.readout.n_sampled(self._n_patches * self.width)

    def to(self, dtype: torch.dtype) -> "TwoLayer":
        """This posterior in another precision."""
        return replace(self, x=self.x.to(dtype), readout=self.readout.to(dtype), directions=self.directions.to(dtype))

    def energy(self, u: Tensor) -> Tensor:
        """U (B,); infinite or NaN where the computation overflows."""
        return self.readout.energy(self.features(u, self.x), self.readouts(u))

    def gradient(self, u: Tensor) -> Tensor:
        """dU/du, shaped and typed as u; computed in the precision of x."""
        patches, exact = self._patches(self.x), u.dtype
        u = u.to(patches.dtype)
        h = patches @ self._matrix(u)
        back, of_b = self.readout.gradient(self._by_example(self.activation.of(h), len(self.x)), self.readouts(u))
        back = back.view(h.shape).mul_(self.activation.slope(h))
        return torch.cat([(patches.T @ back).flatten(1), of_b], dim=1).to(exact)

    def features(self, u: Tensor, x: Tensor) -> Tensor:
        """phi (B, n, S N) of inputs (n, d)."""
        return self._by_example(self.activation.of(self._patches(x) @ self._matrix(u)), len(x))

    def layers(self, u: Tensor) -> list[tuple[Tensor, Tensor]]:
        """The one matrix (B, k, N), a view of u, and e (B, K, k)."""
        return [(self._matrix(u), self.directions.expand(len(u), -1, -1))]

    def readouts(self, u: Tensor) -> Tensor:
        """b, a view of u."""
        return u[:, self._n_hidden :]

    def alternatives(
        self, u: Tensor, layer: int, neuron: Tensor, candidates: Tensor, special: Tensor, rng: np.random.Generator
    ) -> Alternatives:
        """The alternatives to one neuron (B,) of the one hidden layer: `candidates` (B, k, C)."""
        own = neuron.unsqueeze(1) + self.width * torch.arange(self._n_patches)
        h = self._patches(self.x) @ candidates
        features = self.activation.of(h).view(len(u), len(self.x), self._n_patches, candidates.shape[2]).mT
        return self.readout.alternatives(self.features(u, self.x), self.readouts(u), own, features, special, rng)

    @property
    def _n_patches(self) -> int:
        return self.x.shape[1] // self.directions.shape[1]

    @property
    def _n_hidden(self) -> int:
        return self.directions.shape[1] * self.width

    def _matrix(self, u: Tensor) -> Tensor:
        return u[:, : self._n_hidden].view(len(u), -1, self.width)

    def _patches(self, x: Tensor) -> Tensor:
        """(n S, k), scaled so that w . patch is patches @ u."""
        k = self.directions.shape[1]
        return x.view(len(x) * self._n_patches, k) * k**-0.5

    def _by_example(self, phi: Tensor, n: int) -> Tensor:
        """(B, n S, N) as (B, n, S N)."""
        return phi.view(len(phi), n, self._n_patches * self.width)
