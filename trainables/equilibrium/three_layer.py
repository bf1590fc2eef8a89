"""Two hidden layers of erf neurons, fully connected [Rubin25 Sec. 6.1].

h1     x w1, w1 = u1/sqrt(d), u1 (B, d, N1)
h2     erf(h1) w2, w2 = u2/sqrt(N1), u2 (B, N1, N2); phi = erf(h2) (B, P, N2)
e1     w* of the target
e2     direction over the first layer whose h2 is nearest to linear in w*.x. erf(h1) follows h1 = x w1, so it solves w1 e2 ~ w*;
       the ridge keeps it from growing along directions that a narrow first layer hardly has
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from trainables.equilibrium.activations import ERF
from trainables.equilibrium.readout import Readout

RIDGE = 0.1
"""Of e2, relative to w1 w1^T of a wide first layer."""


@dataclass(frozen=True)
class ThreeLayer:
    """-log p(y | u) and what belongs to it; u is u1 followed by u2."""

    x: Tensor
    readout: Readout
    direction: Tensor
    """w* (d,)."""
    width1: int
    width: int

    @property
    def n_weights(self) -> int:
        """d N1 + N1 N2."""
        return self.width1 * (self.x.shape[1] + self.width)

    def to(self, dtype: torch.dtype) -> "ThreeLayer":
        """The same in another precision."""
        return replace(self, x=self.x.to(dtype), readout=self.readout.to(dtype), direction=self.direction.to(dtype))

    def energy(self, u: Tensor) -> Tensor:
        """U (B,); infinite or NaN where u left what numbers can hold."""
        return self.readout.energy(self.features(u, self.x))

    def gradient(self, u: Tensor) -> Tensor:
        """dU/du, shaped and typed as u; computed in the precision of x."""
        x = self.x * self.x.shape[1] ** -0.5
        u1, u2 = self._matrices(u.to(x.dtype))
        h1 = x @ u1
        first = ERF.of(h1) * self.width1**-0.5
        h2 = first @ u2
        back2 = self.readout.gradient(ERF.of(h2)).mul_(ERF.slope(h2))
        back1 = (back2 @ u2.mT).mul_(ERF.slope(h1)) * self.width1**-0.5
        return torch.cat([(x.T @ back1).flatten(1), (first.mT @ back2).flatten(1)], dim=1).to(u.dtype)

    def features(self, u: Tensor, x: Tensor) -> Tensor:
        """phi (B, n, N2) of inputs (n, d)."""
        u1, u2 = self._matrices(u)
        return ERF.of(self._first(u1, x) @ u2)

    def layers(self, u: Tensor) -> list[tuple[Tensor, Tensor]]:
        """u1 with e1 (B, d), and u2 with e2 (B, N1); the matrices are views of u."""
        u1, u2 = self._matrices(u)
        gram = u1 @ u1.mT
        gram.diagonal(dim1=1, dim2=2).add_(RIDGE * self.width1)
        e1 = self.direction.expand(len(u), -1)
        e2 = (u1.mT @ torch.linalg.solve(gram, e1.unsqueeze(-1))).squeeze(-1)
        return [(u1, e1), (u2, e2 / e2.norm(dim=1, keepdim=True))]

    def energies_of_neuron(self, u: Tensor, neuron: Tensor, candidates: Tensor) -> Tensor:
        """U (B, C), up to one constant a chain, with one neuron (B,) of the second layer replaced by each of (B, N1, C)."""
        u1, u2 = self._matrices(u)
        first = self._first(u1, self.x)
        return self.readout.energies_without(ERF.of(first @ u2), neuron.unsqueeze(1), ERF.of(first @ candidates).unsqueeze(-1))

    def _matrices(self, u: Tensor) -> tuple[Tensor, Tensor]:
        n1 = self.x.shape[1] * self.width1
        return u[:, :n1].view(len(u), -1, self.width1), u[:, n1:].view(len(u), self.width1, self.width)

    def _first(self, u1: Tensor, x: Tensor) -> Tensor:
        """erf(h1)/sqrt(N1) (B, n, N1)."""
        return ERF.of((x * x.shape[1] ** -0.5) @ u1) * self.width1**-0.5
