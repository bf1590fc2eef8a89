"""Two hidden layers of erf neurons, fully connected [Rubin25 Sec. 6.1].

h1     x w1, w1 = u1/sqrt(d), u1 (B, d, N1)
h2     erf(h1) w2, w2 = u2/sqrt(N1), u2 (B, N1, N2); phi = erf(h2) (B, P, N2)
u      u1, u2, followed by the readouts b if they are sampled
e1     w* of the target, or its K directions
e2     direction in the first layer along which h2 is closest to linear in w*.x. erf(h1) roughly follows h1 = x w1, so e2
       solves w1 e2 ~ w*; the ridge keeps e2 from growing along directions that a narrow first layer hardly has
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from trainables.engines.langevin.energies.activations import ERF
from trainables.engines.langevin.energies.readout import Alternatives, Readout

RIDGE = 0.1
"""Ridge of the solution e2, relative to w1 w1^T of a wide first layer."""


@dataclass(frozen=True)
class ThreeLayer:
    """The posterior of a three-layer network; implements Posterior."""

    x: Tensor
    readout: Readout
    directions: Tensor
    """e1 (K, d)."""
    width1: int
    width: int

    @property
    def n_weights(self) -> int:
        """d N1 + N1 N2, plus N2 if readouts are sampled."""
        return self._n_hidden + self.readout.n_sampled(self.width)

    def to(self, dtype: torch.dtype) -> "ThreeLayer":
        """This posterior in another precision."""
        return replace(self, x=self.x.to(dtype), readout=self.readout.to(dtype), directions=self.directions.to(dtype))

    def energy(self, u: Tensor) -> Tensor:
        """U (B,); infinite or NaN where the computation overflows."""
        return self.readout.energy(self.features(u, self.x), self.readouts(u))

    def gradient(self, u: Tensor) -> Tensor:
        """dU/du, shaped and typed as u; computed in the precision of x."""
        x, exact = self.x * self.x.shape[1] ** -0.5, u.dtype
        u = u.to(x.dtype)
        u1, u2 = self._matrices(u)
        h1 = x @ u1
        first = ERF.of(h1) * self.width1**-0.5
        h2 = first @ u2
        back2, of_b = self.readout.gradient(ERF.of(h2), self.readouts(u))
        back2 = back2.mul_(ERF.slope(h2))
        back1 = (back2 @ u2.mT).mul_(ERF.slope(h1)) * self.width1**-0.5
        return torch.cat([(x.T @ back1).flatten(1), (first.mT @ back2).flatten(1), of_b], dim=1).to(exact)

    def features(self, u: Tensor, x: Tensor) -> Tensor:
        """phi (B, n, N2) of inputs (n, d)."""
        u1, u2 = self._matrices(u)
        return ERF.of(self._first(u1, x) @ u2)

    def layers(self, u: Tensor) -> list[tuple[Tensor, Tensor]]:
        """u1 with e1 (B, K, d), and u2 with e2 (B, K, N1); the matrices are views of u."""
        u1, u2 = self._matrices(u)
        gram = u1 @ u1.mT
        gram.diagonal(dim1=1, dim2=2).add_(RIDGE * self.width1)
        e1 = self.directions.expand(len(u), -1, -1)
        e2 = (u1.mT @ torch.linalg.solve(gram, e1.mT)).mT
        return [(u1, e1), (u2, e2 / e2.norm(dim=2, keepdim=True))]

    def readouts(self, u: Tensor) -> Tensor:
        """b, a view of u."""
        return u[:, self._n_hidden :]

    def alternatives(
        self, u: Tensor, layer: int, neuron: Tensor, candidates: Tensor, special: Tensor, rng: np.random.Generator
    ) -> Alternatives:
        """The alternatives to one neuron (B,): `candidates` (B, d, C) of the first layer, or (B, N1, C) of the second."""
        if layer == 0:
            return self._alternatives_below(u, neuron, candidates)
        u1, u2 = self._matrices(u)
        first = self._first(u1, self.x)
        own, features = neuron.unsqueeze(1), ERF.of(first @ candidates).unsqueeze(-1)
        return self.readout.alternatives(ERF.of(first @ u2), self.readouts(u), own, features, special, rng)

    def _alternatives_below(self, u: Tensor, neuron: Tensor, candidates: Tensor) -> Alternatives:
        """A neuron of the first layer adds one product of a column and a row to h2; everything above it is computed anew."""
        u1, u2 = self._matrices(u)
        chain, first = torch.arange(len(u)), self._first(u1, self.x)
        row = u2[chain, neuron].unsqueeze(1)
        rest = first @ u2 - first[chain, :, neuron].unsqueeze(2) * row
        columns = self._first(candidates, self.x)
        h2 = (rest + columns[:, :, k : k + 1] * row for k in range(candidates.shape[2]))  # one by one, to hold no more at a time
        energies = torch.stack([self.readout.energy(ERF.of(h), self.readouts(u)) for h in h2], dim=1)
        return Alternatives(energies, u[:, :0], torch.zeros_like(energies))

    @property
    def _n_hidden(self) -> int:
        return self.width1 * (self.x.shape[1] + self.width)

    def _matrices(self, u: Tensor) -> tuple[Tensor, Tensor]:
        n1 = self.x.shape[1] * self.width1
        u1, u2 = u[:, :n1], u[:, n1 : self._n_hidden]
        return u1.view(len(u), -1, self.width1), u2.view(len(u), self.width1, self.width)

    def _first(self, u1: Tensor, x: Tensor) -> Tensor:
        """erf(h1)/sqrt(N1) (B, n, N1)."""
        return ERF.of((x * x.shape[1] ** -0.5) @ u1) * self.width1**-0.5
