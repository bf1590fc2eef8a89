"""One block of softmax attention, each head with one matrix in place of queries and keys [Rubin25 Sec. 6.2, App. E.3; the prior's
scales are restored, see docs/science/curse-of-detail.md].

x      inputs (P, Lc d): Lc tokens x_1, ..., x_Lc of dimension d, one after the other
A_h    u_h/sqrt(d), (d, d), entries N(0, 1/d) under the prior: one matrix for each of H heads
s      x_a'A_h x_b/sqrt(d): score of token b at token a, of variance 1; p_ab = softmax of s over b
phi_h  Lc^(-1/2) sum_ab p_ab x_b, (B, P, d); f = sum_h phi_h.v_h with readouts v_h ~ N(0, 1/(H d)), so that f is of order 1
u      the weights (B, d^2 H), one column per head: a neuron of the sampler is a head. Readouts follow if they are sampled
e      w w'/|w|^2 as a vector (d^2,): a head specialises by a spike of A_h along w* on both sides
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from trainables.engines.langevin.energies.readout import Alternatives, Readout

MOST_SCORES = 2**17
"""Scores s that are held at a time outside of gradients, 1 MiB: more would leave the cache."""


@dataclass(frozen=True)
class Attention:
    """The posterior of an attention block; implements Posterior."""

    x: Tensor
    readout: Readout
    directions: Tensor
    """w* (K, d)."""
    width: int
    """H, the number of heads."""

    @property
    def n_weights(self) -> int:
        """d^2 H, plus d H if readouts are sampled."""
        return self._n_hidden + self.readout.n_sampled(self._d * self.width)

    def to(self, dtype: torch.dtype) -> "Attention":
        """This posterior in another precision."""
        return replace(self, x=self.x.to(dtype), readout=self.readout.to(dtype), directions=self.directions.to(dtype))

    def energy(self, u: Tensor) -> Tensor:
        """U (B,); infinite or NaN where the computation overflows."""
        return self.readout.energy(self.features(u, self.x), self.readouts(u))

    def gradient(self, u: Tensor) -> Tensor:
        """dU/du, shaped and typed as u; computed in the precision of x."""
        exact, n_chains, d = u.dtype, len(u), self._d
        x = self._tokens(self.x)
        n, length, _ = x.shape
        u = u.to(x.dtype)
        heads = self._columns(self._matrix(u))
        k = heads.shape[1] // d
        e, z = _exponentials(x, heads)
        back, of_b = self.readout.gradient(self._of_chains(_attended(x, e, z), n_chains), self.readouts(u))
        back = back.reshape(n_chains, n, self.width, d).transpose(0, 1).reshape(n, k, d)
        of_p = (back @ x.mT).unsqueeze(-1) * length**-0.5  # (n, k, Lc, 1): the same at every token a
        mean = (e.mT @ of_p).mT / z
        of_s = e.mul_(of_p - mean).div_(z)  # (n, k, b, a)
        turned = (of_s.view(n, k * length, length) @ x).view(n, k, length, d).transpose(1, 2).reshape(n * length, k * d)
        of_u = (x.reshape(-1, d).T @ turned).mul_(1 / d).view(d, n_chains, self.width, d)  # (j, B, H, i)
        return torch.cat([of_u.permute(1, 3, 0, 2).reshape(n_chains, -1), of_b], dim=1).to(exact)

    def features(self, u: Tensor, x: Tensor) -> Tensor:
        """phi (B, n, H d) of inputs (n, Lc d), the numbers of a head together."""
        return self._of_chains(self._heads(self._columns(self._matrix(u)), x), len(u))

    def layers(self, u: Tensor) -> list[tuple[Tensor, Tensor]]:
        """The one matrix (B, d^2, H), a view of u, and e (B, K, d^2)."""
        e = (self.directions.unsqueeze(2) * self.directions.unsqueeze(1)).flatten(1)
        return [(self._matrix(u), (e / e.norm(dim=1, keepdim=True)).expand(len(u), -1, -1))]

    def readouts(self, u: Tensor) -> Tensor:
        """b, a view of u."""
        return u[:, self._n_hidden :]

    def alternatives(
        self, u: Tensor, layer: int, neuron: Tensor, candidates: Tensor, special: Tensor, rng: np.random.Generator
    ) -> Alternatives:
        """The alternatives to one head (B,): `candidates` (B, d^2, C)."""
        d = self._d
        own = neuron.unsqueeze(1) * d + torch.arange(d)
        n_chains, _, n_candidates = candidates.shape
        of_each = self._heads(self._columns(candidates), self.x).view(-1, n_chains, n_candidates, d).transpose(0, 1)
        return self.readout.alternatives(self.features(u, self.x), self.readouts(u), own, of_each, special, rng)

    @property
    def _d(self) -> int:
        return self.directions.shape[1]

    @property
    def _n_hidden(self) -> int:
        return self._d**2 * self.width

    def _matrix(self, u: Tensor) -> Tensor:
        return u[:, : self._n_hidden].view(len(u), -1, self.width)

    def _columns(self, matrices: Tensor) -> Tensor:
        """Matrices (B, d^2, H) side by side, turned: (d, B H d), scaled so that s is x_b' of it x_a."""
        d = self._d
        return matrices.view(len(matrices), d, d, -1).permute(2, 0, 3, 1).reshape(d, -1) * (1 / d)

    def _tokens(self, x: Tensor) -> Tensor:
        """(n, Lc, d)"""
        return x.view(len(x), x.shape[1] // self._d, self._d)

    def _heads(self, heads: Tensor, x: Tensor) -> Tensor:
        """phi (n, k, d) of heads (d, k d) at inputs (n, Lc d), a few examples at a time."""
        k = heads.shape[1] // self._d
        at_once = max(1, MOST_SCORES // (k * (x.shape[1] // self._d) ** 2))
        return torch.cat([_attended(part, *_exponentials(part, heads)) for part in torch.split(self._tokens(x), at_once)])

    def _of_chains(self, phi: Tensor, n_chains: int) -> Tensor:
        """(n, B H, d) as (B, n, H d)."""
        return phi.view(len(phi), n_chains, self.width * self._d).transpose(0, 1).contiguous()


def _exponentials(x: Tensor, heads: Tensor) -> tuple[Tensor, Tensor]:
    """exp s (n, k, b, a), up to a factor of each a, and their sums z (n, k, 1, a) over b; x (n, Lc, d), heads (d, k d).

    Token a comes last, as sums along a row of few numbers are slow.
    """
    n, length, d = x.shape
    k = heads.shape[1] // d
    turned = (x.reshape(-1, d) @ heads).view(n, length, k, d).transpose(1, 2).reshape(n, k * length, d)
    s = (turned @ x.mT).view(n, k, length, length)
    e = s.sub_(s.detach().amax(2, keepdim=True)).exp_()
    return e, e.sum(2, keepdim=True)


def _attended(x: Tensor, e: Tensor, z: Tensor) -> Tensor:
    """phi (n, k, d): token b has the weight sum_a e/z."""
    weights = (e @ z.reciprocal().mT).squeeze(-1)
    return weights @ x * x.shape[1] ** -0.5
