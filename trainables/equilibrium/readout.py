"""The last layer integrated out: the evidence of features under a Gaussian readout and likelihood [Rubin25 Eq. 31].

phi    features of the P training examples (B, P, M), one set a chain; f = phi a, a ~ N(0, v I_M)
y      targets (P,), y ~ N(0, K) with K = v phi phi^T + kappa I, the readout integrated out
A      kappa I + v phi^T phi (M, M): the same determinant up to kappa^(P - M), taken where it is the smaller of the two
U      -log p(y | phi), less P log(2 pi) / 2
m      mean readout given phi, v phi^T K^-1 y = v A^-1 phi^T y
r      residual y - phi m = kappa K^-1 y
"""

from dataclasses import dataclass
from math import log

import torch
from torch import Tensor


@dataclass(frozen=True)
class Readout:
    """What is asked of features phi, given y, v and kappa; all in the precision of y. P = 0 leaves the prior."""

    y: Tensor
    v: float
    kappa: float

    def to(self, dtype: torch.dtype) -> "Readout":
        """The same in another precision."""
        return Readout(self.y.to(dtype), self.v, self.kappa)

    def energy(self, phi: Tensor) -> Tensor:
        """U (B,); infinite or NaN where phi left what numbers can hold."""
        n, m = phi.shape[-2:]
        root = self._root(phi)
        log_det = 2 * root.diagonal(dim1=-2, dim2=-1).log().sum(-1) + max(n - m, 0) * log(self.kappa)
        return (log_det + self._residual(phi, self._mean(phi, root)).squeeze(-1) @ self.y / self.kappa) / 2

    def gradient(self, phi: Tensor) -> Tensor:
        """dU/dphi = v K^-1 phi - K^-1 y m^T, (B, P, M)."""
        root = self._root(phi)
        mean = self._mean(phi, root)
        inverse = torch.cholesky_inverse(root)
        spread = phi @ inverse if _tall(phi) else inverse @ phi
        return torch.baddbmm(spread, self._residual(phi, mean), mean.mT, beta=self.v, alpha=-1 / self.kappa)

    def mean(self, phi: Tensor) -> Tensor:
        """m (B, M)."""
        return self._mean(phi, self._root(phi)).squeeze(-1)

    def residual(self, phi: Tensor) -> Tensor:
        """r (B, P)."""
        return self._residual(phi, self._mean(phi, self._root(phi))).squeeze(-1)

    def column_energies(self, phi: Tensor, column: Tensor, candidates: Tensor) -> Tensor:
        """U (B, C), up to one constant a chain, with one column (B,) of phi replaced by each of the candidates (B, P, C).

        With K = K_- + v c c^T for a candidate c, s = c^T K_-^-1 c and q = c^T K_-^-1 y, the matrix determinant lemma and
        Sherman-Morrison give U = U_- + log(1 + v s)/2 - v q^2/(1 + v s)/2. Of A = R R^T, K^-1 is (1 - v phi A^-1 phi^T)/kappa.
        """
        rest = phi.clone()
        rest[torch.arange(len(phi)), :, column] = 0
        both = torch.cat([candidates, self.y.expand(len(phi), -1).unsqueeze(-1)], dim=-1)
        root = self._root(rest)
        half = torch.linalg.solve_triangular(root, rest.mT @ both if _tall(rest) else both, upper=False)
        s, q = half[..., :-1].square().sum(-2), (half[..., :-1] * half[..., -1:]).sum(-2)
        if _tall(rest):
            s = (candidates.square().sum(-2) - self.v * s) / self.kappa
            q = (self.y @ candidates - self.v * q) / self.kappa
        return (torch.log1p(self.v * s) - self.v * q**2 / (1 + self.v * s)) / 2

    def _root(self, phi: Tensor) -> Tensor:
        """Cholesky factor of A where M <= P, else of K. Where there is none, garbage: its chain's energy is then no number."""
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
