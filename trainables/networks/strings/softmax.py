"""Attention of strings as an operation of PyTorch; notation of trainables.kernels.softmax.

For short strings on a CPU it is the compiled kernel of that module, with first derivatives by torch.autograd and a rule under
torch.func.vmap, no more; elsewhere it is written with PyTorch's products.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

SHORT = 64
"""Longest string, in tokens, for which the kernel is used. The kernel runs on one core; PyTorch's products run on all, which pays
for longer strings."""


def attention(q: Tensor, k: Tensor, v: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    """A v (N, L, H, h), and A = softmax(q.k/sqrt(h) + bias) (N, H, L, L), for q, k, v (N, L, H, h)."""
    if q.is_cpu and k.shape[1] <= SHORT:
        found: tuple[Tensor, Tensor] = _attend(q, k, v, bias)
        return found
    q, k, v = (part.transpose(1, 2) for part in (q, k, v))
    masses = (q @ k.transpose(2, 3) * q.shape[-1] ** -0.5 + bias).softmax(-1)
    return (masses @ v).transpose(1, 2), masses


def mixed(u: Tensor, y: Tensor) -> Tensor:
    """z (H, N, d) = softmax(u.y) y: a token's heads u (H, N, d) see the tokens y (N, L, d) themselves."""
    if u.is_cpu and y.shape[1] <= SHORT:
        found: Tensor = _mix(u, y)[0]
        return found
    return (u[..., None, :] @ y.transpose(1, 2)).softmax(-1).matmul(y).squeeze(-2)


def as_array(tensor: Tensor) -> Any:
    """The tensor's numbers, in a row in memory."""
    return tensor.detach().contiguous().numpy()


def scale_of(q: Any) -> Any:
    """Factor of the scores of queries (..., h): 1/sqrt(h), in their precision."""
    return q.dtype.type(q.shape[-1] ** -0.5)


def _in_rows(*tensors: Tensor) -> list[Any]:
    """The rows (N, L), each token its own, and tensors (N, L, H, h) as arrays (N L, H, h)."""
    n, length = tensors[0].shape[:2]
    return [np.arange(n * length).reshape(n, length), *(as_array(tensor.flatten(0, 1)) for tensor in tensors)]


@torch.library.custom_op("trainables::attend", mutates_args=())
def _attend(q: Tensor, k: Tensor, v: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    from trainables.kernels.softmax import attend

    rows, queries, keys, values = _in_rows(q, k, v)
    out, masses = attend(queries, keys, values, rows, as_array(bias), scale_of(queries))
    return torch.from_numpy(out), torch.from_numpy(masses)


@torch.library.custom_op("trainables::attend_back", mutates_args=())
def _attend_back(
    q: Tensor, k: Tensor, v: Tensor, masses: Tensor, d_out: Tensor, d_masses: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    from trainables.kernels.softmax import attend_back

    rows, *qkv = _in_rows(q, k, v)
    *d_qkv, d_bias = attend_back(*qkv, rows, *map(as_array, (masses, d_out, d_masses)), scale_of(qkv[0]))
    d_q, d_k, d_v = (torch.from_numpy(one).view(q.shape) for one in d_qkv)
    return d_q, d_k, d_v, torch.from_numpy(d_bias)


def _keep(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, Tensor]) -> None:
    q, k, v, _ = inputs
    ctx.save_for_backward(q, k, v, output[1])


def _gradients(ctx: Any, d_out: Tensor, d_masses: Tensor) -> tuple[Tensor, ...]:
    found: tuple[Tensor, ...] = _attend_back(*ctx.saved_tensors, d_out, d_masses)
    return found


def _of_all(info: Any, in_dims: tuple[int | None, ...], tensors: tuple[Tensor, ...]) -> list[Tensor]:
    """Each tensor with the networks as its first axis."""
    return [
        tensor.expand(info.batch_size, *tensor.shape) if dim is None else tensor.movedim(dim, 0)
        for tensor, dim in zip(tensors, in_dims, strict=True)
    ]


def _attend_for_all(info: Any, in_dims: tuple[int | None, ...], *tensors: Tensor) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
    found = _attend(*(tensor.flatten(0, 1) for tensor in _of_all(info, in_dims, tensors)))  # the strings of all in one axis
    return tuple(one.unflatten(0, (info.batch_size, -1)) for one in found), (0, 0)


_attend.register_autograd(_gradients, setup_context=_keep)
_attend.register_vmap(_attend_for_all)


@torch.library.custom_op("trainables::mix", mutates_args=())
def _mix(u: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    from trainables.kernels.softmax import mix

    z, masses = mix(as_array(u), as_array(y))
    return torch.from_numpy(z), torch.from_numpy(masses)


@torch.library.custom_op("trainables::mix_back", mutates_args=())
def _mix_back(u: Tensor, y: Tensor, masses: Tensor, d_z: Tensor) -> tuple[Tensor, Tensor]:
    from trainables.kernels.softmax import mix_back

    d_u, d_y = map(torch.from_numpy, mix_back(*map(as_array, (u, y, masses, d_z))))
    return d_u, d_y


def _keep_all(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, Tensor]) -> None:
    ctx.save_for_backward(*inputs, output[1])


def _mix_gradients(ctx: Any, d_z: Tensor, _: Tensor) -> tuple[Tensor, ...]:
    found: tuple[Tensor, ...] = _mix_back(*ctx.saved_tensors, d_z)
    return found


def _mix_for_all(info: Any, in_dims: tuple[int | None, ...], *tensors: Tensor) -> tuple[tuple[Tensor, Tensor], tuple[int, int]]:
    u, y = _of_all(info, in_dims, tensors)
    z, masses = _mix(u.transpose(0, 1).flatten(1, 2), y.flatten(0, 1))
    return (z.unflatten(1, (info.batch_size, -1)), masses.unflatten(1, (info.batch_size, -1))), (1, 1)


_mix.register_autograd(_mix_gradients, setup_context=_keep_all)
_mix.register_vmap(_mix_for_all)
