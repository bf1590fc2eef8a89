"""The two-layer network in scaled changes [Tong25 Eq. 1, App. F, G.1], so that gamma -> 0 keeps its digits in float32.

x      input (n, D)                 W0, a0   initial weights (D, m) and readouts (m,), both N(0, 1/m)
eps    gamma s (Cell.epsilon)       U, b     scaled changes: w = w0 + eps u, a = a0 + eps b
h0     x W0, the initial preactivations; q = x U their scaled change; h = h0 + eps q

The centred output f(x; theta) - f(x; theta_0) = 1/eps sum_i [a_i relu(h_i) - a0_i relu(h0_i)]
is computed as sum_i b_i relu(h_i) + a0_i D_i, D = (relu(h) - relu(h0))/eps, no term of which is a small difference:
D = q + min(h0, 0)/eps where h > 0, and -max(h0, 0)/eps where it is not.
"""

import torch
from torch import Tensor

from trainables.cell import Cell
from trainables.streams import initial_parameters
from trainables.tasks.base import Array


def draw_initial(cell: Cell) -> tuple[Array, Array]:
    """W0 (D, m) and a0 (m,) of the cell, float32."""
    drawn = initial_parameters(cell)
    return drawn["w"], drawn["a"]


def centred_output(h0: Tensor, q: Tensor, a0: Tensor, b: Tensor, eps: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Centred output f (..., n), relu(h) and the mask h > 0 (..., n, m).

    Takes h0, q (..., n, m); a0, b (..., m); eps (..., 1, 1).
    """
    h = torch.addcmul(h0, eps, q)
    on = h > 0
    change = torch.where(on, q + h0.clamp(max=0) / eps, -h0.clamp(min=0) / eps)
    relu = h.clamp_(min=0)
    f = (relu @ b.unsqueeze(-1) + change @ a0.unsqueeze(-1)).squeeze(-1)
    return f, relu, on


def compared_halves(weights: Tensor) -> Tensor:
    """v1.v2/(|v1||v2|) and min(|v1|, |v2|)/max(|v1|, |v2|) of each neuron's two halves [Tong25 Fig. 1a, Theorem 1], (2, ..., m)
    for weights (..., 2d, m)."""
    v1, v2 = weights.chunk(2, dim=-2)
    norm1, norm2 = v1.norm(dim=-2), v2.norm(dim=-2)
    return torch.stack([(v1 * v2).sum(-2) / (norm1 * norm2), torch.minimum(norm1, norm2) / torch.maximum(norm1, norm2)])
