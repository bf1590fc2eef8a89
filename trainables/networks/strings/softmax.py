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


def mixed(u: Tensor, y: Tensor) -> Tensor:
    """z (N, H, d) = softmax(u.y) y: a token's heads u (N, H, d) see the tokens y (N, L, d) themselves."""
    if u.is_cpu and y.shape[1] <= SHORT:
        found: Tensor = _mix(u, y)
        return found
    return (u @ y.transpose(1, 2)).softmax(-1) @ y


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


def _one_after_the_other(info: Any, in_dims: tuple[int | None, ...], tensors: tuple[Tensor, ...]) -> list[Tensor]:
    """The strings of all networks in one axis."""
    parts = [
        tensor.expand(info.batch_size, *tensor.shape) if dim is None else tensor.movedim(dim, 0)
        for tensor, dim in zip(tensors, in_dims, strict=True)
    ]
    return [part.flatten(0, 1) for part in parts]


def _attend_for_all(info: Any, in_dims: tuple[int | None, ...], *tensors: Tensor) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
    found = _attend(*_one_after_the_other(info, in_dims, tensors))
    return tuple(one.unflatten(0, (info.batch_size, -1)) for one in found), (0, 0)


_attend.register_autograd(_gradients, setup_context=_keep)
_attend.register_vmap(_attend_for_all)


@torch.library.custom_op("trainables::mix", mutates_args=())
def _mix(u: Tensor, y: Tensor) -> Tensor:
    from trainables.kernels.softmax import mix

    return torch.from_numpy(mix(*_arrays(u, y)))


@torch.library.custom_op("trainables::mix_back", mutates_args=())
def _mix_back(u: Tensor, y: Tensor, d_z: Tensor) -> tuple[Tensor, Tensor]:
    from trainables.kernels.softmax import mix_back

    d_u, d_y = map(torch.from_numpy, mix_back(*_arrays(u, y, d_z)))
    return d_u, d_y


def _keep_inputs(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _mix_gradients(ctx: Any, d_z: Tensor) -> tuple[Tensor, ...]:
    found: tuple[Tensor, ...] = _mix_back(*ctx.saved_tensors, d_z)
    return found


def _mix_for_all(info: Any, in_dims: tuple[int | None, ...], *tensors: Tensor) -> tuple[Tensor, int]:
    return _mix(*_one_after_the_other(info, in_dims, tensors)).unflatten(0, (info.batch_size, -1)), 0


_mix.register_autograd(_mix_gradients, setup_context=_keep_inputs)
_mix.register_vmap(_mix_for_all)
