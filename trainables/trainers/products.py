"""Matrix products on the CPU by oneDNN, which is part of torch. On AMD's AVX-512 MKL, which torch.mm calls, is half as fast.

benchmarks/engines.py prints the speed of both on this machine.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from trainables.kernels.sizes import PART


def _linear() -> Callable[..., Tensor] | None:
    """oneDNN's x W^T, the operation that torch.compile calls; None where this torch has none."""
    if not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return None
    return getattr(torch.ops.mkldnn, "_linear_pointwise", None)


_LINEAR = _linear()


def product(x: Tensor, w: Tensor) -> Tensor:
    """x w, (n, m) for x (n, k), w (k, m)."""
    if _LINEAR is None or x.dtype != torch.float32 or x.device.type != "cpu":
        return x @ w
    return _LINEAR(_dense(x), _dense(w).T, None, "none", [], "")


def add_product(u: Tensor, x: Tensor, g: Tensor) -> None:
    """u += x^T g in place, u (k, m) for x (n, k), g (n, m)."""
    rows = max(1, PART // u.shape[1])
    if rows >= len(u):
        u += product(x.T, g)
        return
    xt = x.T.contiguous()
    for start in range(0, len(u), rows):
        part = slice(start, start + rows)
        u[part] += product(xt[part], g)


def _dense(x: Tensor) -> Tensor:
    """A tensor whose rows or columns follow each other in memory; oneDNN is a thousand times slower on any other."""
    return x if x.is_contiguous() or x.T.is_contiguous() else x.contiguous()
