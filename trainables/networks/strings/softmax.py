"""Attention of strings as an operation of PyTorch; notation of trainables.kernels.softmax.

For short strings on a CPU it is the compiled kernel of that module, with its own gradient and its own rule under torch.func.vmap;
elsewhere it is written with PyTorch's products.
"""

from typing import Any

import torch
from torch import Tensor

SHORT = 64
"""Longest string, in tokens, for which the kernel is used. The kernel runs on one core; PyTorch's products run on all, which pays
for longer strings."""


def attention(q: Tensor, k: Tensor, v: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    """A v (N, R, H, h), and A = softmax(q.k/sqrt(h) + bias) (N, H, R, L)."""
    if q.is_cpu and k.shape[1] <= SHORT:
        found: tuple[Tensor, Tensor] = _attend(q, k, v, bias)
        return found
    q, k, v = (part.transpose(1, 2) for part in (q, k, v))
    masses = (q @ k.transpose(2, 3) * q.shape[-1] ** -0.5 + bias).softmax(-1)
    return (masses @ v).transpose(1, 2), masses


def _arrays(*tensors: Tensor) -> list[Any]:
    return [tensor.detach().contiguous().numpy() for tensor in tensors]


def _scale(q: Any) -> Any:
    return q.dtype.type(q.shape[-1] ** -0.5)


@torch.library.custom_op("trainables::attend", mutates_args=())
def _attend(q: Tensor, k: Tensor, v: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    from trainables.kernels.softmax import attend

    arrays = _arrays(q, k, v, bias)
    out, masses = attend(*arrays, _scale(arrays[0]))
    return torch.from_numpy(out), torch.from_numpy(masses)


@torch.library.custom_op("trainables::attend_back", mutates_args=())
def _attend_back(
    q: Tensor, k: Tensor, v: Tensor, masses: Tensor, d_out: Tensor, d_masses: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    from trainables.kernels.softmax import attend_back

    arrays = _arrays(q, k, v, masses, d_out, d_masses)
    d_q, d_k, d_v, d_bias = map(torch.from_numpy, attend_back(*arrays, _scale(arrays[0])))
    return d_q, d_k, d_v, d_bias


def _keep(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, Tensor]) -> None:
    q, k, v, _ = inputs
    ctx.save_for_backward(q, k, v, output[1])


def _gradients(ctx: Any, d_out: Tensor, d_masses: Tensor) -> tuple[Tensor, ...]:
    found: tuple[Tensor, ...] = _attend_back(*ctx.saved_tensors, d_out, d_masses)
    return found


def _for_all(info: Any, in_dims: tuple[int | None, ...], *tensors: Tensor) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
    """The strings of all networks one after the other."""
    parts = [
        tensor.expand(info.batch_size, *tensor.shape) if dim is None else tensor.movedim(dim, 0)
        for tensor, dim in zip(tensors, in_dims, strict=True)
    ]
    found = _attend(*(part.flatten(0, 1) for part in parts))
    return tuple(one.unflatten(0, (info.batch_size, -1)) for one in found), (0, 0)


_attend.register_autograd(_gradients, setup_context=_keep)
_attend.register_vmap(_for_all)
