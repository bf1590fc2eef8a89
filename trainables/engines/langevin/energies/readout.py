"""The last layer under squared loss, integrated out: the evidence of features under a Gaussian readout [Rubin25 Eq. 31].

phi    features of the P training examples (B, P, M), one set per chain; f = phi a, a ~ N(0, v I_M)
b      readouts a/sqrt(v) that are sampled with the hidden weights: (B, M), or (B, 0) where a is integrated out, as here
y      targets (P,), y ~ N(0, K) with K = v phi phi^T + kappa I, the readout integrated out
A      kappa I + v phi^T phi (M, M): its determinant is K's up to kappa^(P - M); used instead of K unless A is larger
U      -log p(y | phi) - P log(2 pi) / 2
m      mean readout given phi, v phi^T K^-1 y = v A^-1 phi^T y
r      residual y - phi m = kappa K^-1 y
"""

from dataclasses import dataclass, replace
from math import log
from typing import NamedTuple, Protocol, Self

import numpy as np
import torch
from torch import Tensor


class Alternatives(NamedTuple):
    """C candidates for one neuron of each chain; the first is the neuron as it is now."""

    energies: Tensor
    """U (B, C), up to one constant per chain."""
    b: Tensor
    """Readout of each candidate (B, C); (B, 0) if the readout is integrated out."""
    log_ratio: Tensor
    """log of the density from which b of special candidates is drawn, minus log of the prior's density (B, C)."""


class Readout(Protocol):
    """The last layer under a loss, as functions of features phi, given y, v and kappa; all in y's precision. P = 0 leaves the
    prior."""

    @property
    def y(self) -> Tensor:
        """Targets (P,)."""

    def to(self, dtype: torch.dtype) -> Self:
        """This readout in another precision."""

    def n_sampled(self, n_features: int) -> int:
        """Length of b: as many as features, or 0."""

    def spread(self, fan_in: int) -> float:
        """Variance of the overlaps of special candidates, in units of the prior's."""

    def energy(self, phi: Tensor, b: Tensor) -> Tensor:
        """U (B,); infinite or NaN where the computation overflows."""

    def gradient(self, phi: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        """dU/dphi (B, P, M) and dU/db."""

    def fit(self, phi: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        """a (B, M), or its mean given phi if it is integrated out; and f = phi a (B, P)."""

    def loss(self, f: Tensor) -> Tensor:
        """Mean loss (B,) of outputs (B, P) on the training set; NaN if P = 0."""

    def alternatives(
        self, phi: Tensor, b: Tensor, own: Tensor, candidates: Tensor, special: Tensor, rng: np.random.Generator
    ) -> Alternatives:
        """The alternatives to the S columns `own` (B, S) of phi: candidates (B, P, C, S), the first of which are the columns
        themselves.

        A sampled readout is drawn from the prior, that of `special` (B, C) candidates from a density close to its posterior.
        """


@dataclass(frozen=True)
class IntegratedReadout:
    """The last layer under squared loss: given phi, a is Gaussian and integrated out; implements Readout."""

    y: Tensor
    v: float
    kappa: float

    def to(self, dtype: torch.dtype) -> "IntegratedReadout":
        return replace(self, y=self.y.to(dtype))

    def n_sampled(self, n_features: int) -> int:
        return 0

    def spread(self, fan_in: int) -> float:
        return float(fan_in)  # w.w* = 1, from where on erf saturates

    def energy(self, phi: Tensor, b: Tensor) -> Tensor:
        """U (B,); infinite or NaN where the computation overflows."""
        n, m = phi.shape[-2:]
        root = self._root(phi)
        log_det = 2 * root.diagonal(dim1=-2, dim2=-1).log().sum(-1) + max(n - m, 0) * log(self.kappa)
        return (log_det + self._residual(phi, self._mean(phi, root)).squeeze(-1) @ self.y / self.kappa) / 2

    def gradient(self, phi: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        """dU/dphi = v K^-1 phi - K^-1 y m^T, (B, P, M); there is no b."""
        root = self._root(phi)
        mean = self._mean(phi, root)
        inverse = torch.cholesky_inverse(root)
        spread = phi @ inverse if _tall(phi) else inverse @ phi
        return torch.baddbmm(spread, self._residual(phi, mean), mean.mT, beta=self.v, alpha=-1 / self.kappa), b

    def fit(self, phi: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        """m (B, M) and phi m (B, P)."""
        mean = self._mean(phi, self._root(phi))
        return mean.squeeze(-1), (phi @ mean).squeeze(-1)

    def loss(self, f: Tensor) -> Tensor:
        """Mean of (y - f)^2."""
        return (self.y - f).square().mean(dim=1)

    def alternatives(
        self, phi: Tensor, b: Tensor, own: Tensor, candidates: Tensor, special: Tensor, rng: np.random.Generator
    ) -> Alternatives:
        energies = self._energies_without(phi, own, candidates)
        return Alternatives(energies, b, torch.zeros_like(energies))

    def _energies_without(self, phi: Tensor, own: Tensor, candidates: Tensor) -> Tensor:
        """U (B, C), up to one constant per chain.

        With K = K_- + v c c^T for a candidate c (P, S), s = c^T K_-^-1 c and q = c^T K_-^-1 y, the matrix determinant lemma and
        Woodbury give U = U_- + log det(1 + v s)/2 - v q^T (1 + v s)^-1 q/2. With A = R R^T, K^-1 is (1 - v phi A^-1 phi^T)/kappa.
        """
        n_chains, n, n_candidates, size = candidates.shape
        rest = phi.scatter(2, own.unsqueeze(1).expand(-1, n, -1), 0.0)
        flat = candidates.flatten(2)
        both = torch.cat([flat, self.y.expand(n_chains, -1).unsqueeze(-1)], dim=-1)
        root = self._root(rest)
        half = torch.linalg.solve_triangular(root, rest.mT @ both if _tall(rest) else both, upper=False)
        s, q = _grams(half[..., :-1], size), (half[..., :-1] * half[..., -1:]).sum(-2)
        if _tall(rest):
            s = (_grams(flat, size) - self.v * s) / self.kappa
            q = (self.y @ flat - self.v * q) / self.kappa
        q = q.view(n_chains, n_candidates, size)
        if size == 1:
            s, q = s[..., 0, 0], q[..., 0]
            return (torch.log1p(self.v * s) - self.v * q**2 / (1 + self.v * s)) / 2
        inner = torch.eye(size, dtype=s.dtype) + self.v * s
        gain = (q.unsqueeze(-2) @ torch.linalg.solve(inner, q.unsqueeze(-1)))[..., 0, 0]
        return (torch.linalg.slogdet(inner).logabsdet - self.v * gain) / 2

    def _root(self, phi: Tensor) -> Tensor:
        """Cholesky factor of A if M <= P, else of K. It is NaN where the factorisation fails, and so is the chain's energy."""
        gram = self.v * (phi.mT @ phi if _tall(phi) else phi @ phi.mT)
        gram.diagonal(dim1=-2, dim2=-1).add_(self.kappa)
        root, failed = torch.linalg.cholesky_ex(gram)
        return root.masked_fill_(failed.gt(0)[:, None, None], torch.nan) if failed.any() else root

    def _mean(self, phi: Tensor, root: Tensor) -> Tensor:
        """m (B, M, 1)."""
        y = self.y.expand(len(phi), -1).unsqueeze(-1)
        if _tall(phi):
            return self.v * torch.cholesky_solve(phi.mT @ y, root)
        return self.v * (phi.mT @ torch.cholesky_solve(y, root))

    def _residual(self, phi: Tensor, mean: Tensor) -> Tensor:
        return self.y.unsqueeze(-1) - phi @ mean


def _tall(phi: Tensor) -> bool:
    return phi.shape[-1] <= phi.shape[-2]


def _grams(x: Tensor, size: int) -> Tensor:
    """c^T c (B, C, S, S) of blocks c of `size` columns of x (B, n, C S)."""
    if size == 1:
        return x.square().sum(-2)[..., None, None]
    blocks = x.view(*x.shape[:-1], x.shape[-1] // size, size).movedim(-2, 1)
    return blocks.mT @ blocks
