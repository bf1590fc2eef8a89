"""The span of the symbols, which both `gram` trainers share: batches as pairs of symbols, and U = Z^T omega."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from trainables.cell import Cell
from trainables.kernels.random import fill_batches
from trainables.kinds import NOISELESS_PAIRS, sees_noiseless_pairs
from trainables.streams import BLOCK_STEPS, stream_key
from trainables.tasks.base import Array
from trainables.trainers.ensemble import Ensemble
from trainables.trainers.products import product


def check_noiseless_pairs(cells: Sequence[Cell]) -> None:
    """ValueError unless each cell is the paper's network on noiseless pairs of training symbols."""
    if not all(map(sees_noiseless_pairs, cells)):
        raise ValueError(f"engine gram trains {NOISELESS_PAIRS}; take engine stacked, or auto")


class Span:
    """The L symbols Z of each group of an ensemble; omega (2, L, m) of a network gives its scaled weights U.

    Groups may differ in L and d.
    """

    def __init__(self, nets: Ensemble) -> None:
        self.nets = nets
        self.z = [nets.tensor(s) for s in nets.groups.symbols]  # (L, d) each
        self.n_symbols = [len(z) for z in self.z]

    def gram_matrix(self, g: int, padded: int) -> Tensor:
        """Z Z^T of a group in its precision, with zeros to (padded, padded)."""
        z = self.z[g].double()
        out = torch.zeros(2 * (padded,), dtype=self.nets.dtype, device=self.nets.device)
        out[: len(z), : len(z)] = z @ z.T
        return out

    def initial(self, g: int) -> Tensor:
        """Initial preactivations of a group's symbols, (2, L, m)."""
        return torch.stack([product(self.z[g], w) for w in self.nets.w0[g].chunk(2)])

    def codes(self, g: int, first_step: int, n_steps: int) -> Array:
        """u L + v (n_steps, B) of the pairs in the group's batches, sorted in each step: those of the task's `draw_pairs`."""
        cell, owner, n_symbols = self.nets.groups.cells[g], self.nets.groups.owners[g], self.n_symbols[g]
        codes = np.empty((n_steps, cell.batch), np.int32 if n_symbols < 2**15 else np.int64)
        fill_batches(*stream_key(owner, "batches"), n_symbols, BLOCK_STEPS, first_step, codes)
        return codes

    def changes(self, cells: Sequence[int], x: Tensor, omegas: Tensor) -> Tensor:
        """q = x U = sum_s (x_s Z^T) omega_s of some cells of a group, (k, n, m), without forming U.

        Takes omegas (k, 2, L', m), where L' >= L: the rows beyond L are zero.
        """
        z = self.z[self.nets.groups.group[cells[0]]]
        return weighted(torch.cat([product(half, z.T) for half in x.chunk(2, dim=1)], dim=1), omegas)

    def scaled_weights(self, c: int, omega: Tensor) -> Tensor:
        """U (2d, m) of a cell."""
        z = self.z[self.nets.groups.group[c]]
        return torch.cat([product(z.T, half) for half in omega])


def weighted(x: Tensor, weights: Tensor) -> Tensor:
    """x W of some cells, (k, n, m), for x (n, 2 K) and weights (k, 2, K', m), where K' >= K: the rows beyond K are zero."""
    beyond = weights.shape[2] - x.shape[1] // 2
    padded = torch.cat([pad(half, (0, beyond)) for half in x.chunk(2, dim=1)], dim=1) if beyond else x
    if len(weights) == 1:
        return product(padded, weights[0].flatten(0, 1))[None]
    return torch.matmul(padded, weights.flatten(1, 2))
