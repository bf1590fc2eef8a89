"""One step of `batched` by all networks together: products, and two kernels for all that lies between them.

On a GPU these are six kernels (h0 = x W0, a copy of the inputs to each network, q = x U; `outputs`, `gradients`; U += x^T q), and
q is the only array of B x m numbers that a network has: it is written, read twice, overwritten by dloss/dh and read again.
"""

from typing import NamedTuple, Protocol

import torch
from torch import Tensor
from torch.nn.functional import softplus

from trainables.trainers.centred import centred_output
from trainables.trainers.ensemble import Ensemble


class Arrays(NamedTuple):
    """Arrays of the steps of C networks in S groups, at places that do not change: a CUDA graph holds their addresses."""

    x: Tensor
    """(C, B, D), each network's inputs."""
    h0: Tensor
    """(S, B, m)."""
    q: Tensor
    """(C, B, m): the scaled change of the preactivations, then minus the rate times dloss/dh."""
    a0: Tensor
    b: Tensor
    """(C, m) both."""
    eps: Tensor
    lr: Tensor
    """(C,) both."""
    group: Tensor
    """(C,), the group of each network."""
    f: Tensor
    df: Tensor
    """(C, B) both: the outputs, and minus the rate times the derivative of the mean loss by them."""
    loss: Tensor
    right: Tensor
    """(C, BLOCK_STEPS) both, in float64: mean loss and number of right predictions."""


class Kernels(Protocol):
    """The arithmetic between the products."""

    def outputs(self, t: Arrays, y: Tensor, step: int, /) -> None:
        """Compute f and df from h0 and q at a step of a block whose labels are y (S, BLOCK_STEPS, B)."""

    def gradients(self, t: Arrays, y: Tensor, step: int, /) -> None:
        """Replace q by minus the rate times dloss/dh, step b, and fill in the step's loss and right predictions."""


class Tensors:
    """The kernels as tensor operations, for a machine without Triton."""

    def outputs(self, t: Arrays, y: Tensor, step: int) -> None:
        t.f.copy_(centred_output(t.h0[t.group], t.q, t.a0, t.b, t.eps[:, None, None])[0])
        t.df.copy_((y[t.group, step] - torch.sigmoid(t.f)) * (t.lr[:, None] / y.shape[2]))

    def gradients(self, t: Arrays, y: Tensor, step: int) -> None:
        labels = y[t.group, step]
        t.loss[:, step] = (softplus(t.f) - labels * t.f).mean(1)
        t.right[:, step] = ((t.f > 0) == (labels > 0)).sum(1)
        h = torch.addcmul(t.h0[t.group], t.eps[:, None, None], t.q)
        a = torch.addcmul(t.a0, t.eps[:, None], t.b)
        t.q.copy_(torch.where(h > 0, t.df[..., None] * a[:, None], 0))
        t.b.add_(torch.bmm(t.df[:, None], h.clamp_(min=0))[:, 0])


class Fused:
    """Steps of an ensemble whose networks have one shape; w0 (S, D, m), scaled changes u (C, D, m)."""

    def __init__(self, nets: Ensemble, w0: Tensor, u: Tensor, curves: tuple[Tensor, Tensor], kernels: Kernels) -> None:
        self.w0, self.u, self.kernels = w0, u, kernels
        (n, d_in, width), batch = u.shape, nets.cells[0].batch

        def empty(*shape: int) -> Tensor:
            return torch.empty(shape, dtype=nets.dtype, device=nets.device)

        f, df = empty(2, n, batch)
        self.arrays = Arrays(
            x=empty(n, batch, d_in), h0=empty(len(w0), batch, width), q=empty(n, batch, width), a0=nets.a0, b=nets.b,
            eps=nets.eps.flatten(), lr=nets.lr.flatten(), group=torch.tensor(nets.groups.group, device=nets.device),
            f=f, df=df, loss=curves[0], right=curves[1],
        )  # fmt: skip

    def step(self, x: Tensor, y: Tensor, k: int) -> None:
        """Take step k of a block with inputs x (S, BLOCK_STEPS, B, D) and labels y (S, BLOCK_STEPS, B)."""
        t = self.arrays
        torch.bmm(x[:, k], self.w0, out=t.h0)
        torch.index_select(x[:, k], 0, t.group, out=t.x)
        torch.bmm(t.x, self.u, out=t.q)
        self.kernels.outputs(t, y, k)
        self.kernels.gradients(t, y, k)
        self.u.baddbmm_(t.x.mT, t.q)
