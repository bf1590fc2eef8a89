"""Outputs and gradients of many perceptrons at once, by batched products into reused arrays.

Notation of trainables.networks.layered.

h_l and dL/dz_l are (C, n, fan-out), c the factor of a layer:
z_l = c h_{l-1} W_l + b_l, dL/dW_l = c h_{l-1}^T dL/dz_l, dL/db_l = sum over n of dL/dz_l, dL/dh_{l-1} = c dL/dz_l W_l^T

Every second layer, the last hidden one among them, is turned: its h, dL/dz and weights lie in memory column by column. If all
arrays lay row by row, every step would contain a product A B^T, which libraries compute up to twice as slowly as A B.
"""

from collections.abc import Iterator
from math import pi, sqrt
from typing import TYPE_CHECKING, assert_never

import torch
from torch import Tensor

from trainables.networks.base import Parameters

if TYPE_CHECKING:
    from trainables.networks.layered import Layered
    from trainables.spec import CellSpec


FEW = 16
"""A product a b with fewer columns than this is computed as b^T a^T if a^T lies row by row: up to five times faster."""


class Layers:
    """C networks of one shape; implements Passes."""

    def __init__(self, network: "Layered", cell: "CellSpec") -> None:
        self.network, self.cell = network, cell
        self.activation, self.has_bias, self.factors = network.activation, network.bias, network.factors(cell)
        self.squeezed = cell.task.n_outputs == 1
        hidden = len(self.factors) - 1
        self.turned = [layer % 2 == hidden % 2 and layer > 0 for layer in range(hidden + 1)] + [False]
        """For h_0, h_1, ... and the output: True if it lies column by column."""
        self.parameters: Parameters = {}
        self.h: list[Tensor] = []
        """Inputs of each layer, h_0 first."""
        self.z: list[Tensor] = []
        """z_1, z_2, ... if the activation's derivative needs them; else the same arrays hold h_1, h_2, ..."""
        self.kept: dict[tuple[object, ...], Tensor] = {}

    def arranged(self, parameters: Parameters) -> Parameters:
        is_turned = {f"w{layer}" for layer, turned in enumerate(self.turned) if turned}
        return {name: theta.mT.contiguous().mT if name in is_turned else theta for name, theta in parameters.items()}

    def outputs(self, parameters: Parameters, x: Tensor) -> Tensor:
        self.parameters, self.h, self.z = parameters, [x], []
        for layer in range(1, len(self.factors)):
            self._activate(self._weighted(layer, "z"), layer)
        outputs = self._weighted(len(self.factors), "z")
        return outputs[..., 0] if self.squeezed else outputs

    def alone(self, parameters: Parameters, x: Tensor) -> Tensor:
        return self.network.apply(parameters, x, self.cell)

    def gradients(self, slopes: Tensor) -> Iterator[tuple[str, Tensor]]:
        dz = slopes[..., None] if self.squeezed else slopes
        for layer in range(len(self.factors), 0, -1):
            h, w = self.h[layer - 1], self.parameters[f"w{layer}"]
            if layer > 1:  # before the caller changes w
                dh = self._product(dz, w.mT, self.factors[layer - 1], (layer % 2, "dh"), self.turned[layer - 1])
            yield f"w{layer}", self._product(h.mT, dz, self.factors[layer - 1], ("dw",), self.turned[layer])
            if self.has_bias:
                yield f"b{layer}", dz.sum(1)
            if layer > 1:
                dz = self._back(dh, layer - 1)

    def _weighted(self, layer: int, name: str) -> Tensor:
        z = self._product(self.h[-1], self.parameters[f"w{layer}"], self.factors[layer - 1], (layer, name), self.turned[layer])
        return z.add_(self.parameters[f"b{layer}"][:, None]) if self.has_bias else z

    def _activate(self, z: Tensor, layer: int) -> None:
        """Append phi(z) to h; phi(z) overwrites z if the derivative needs only phi(z)."""
        self.z.append(z)
        match self.activation:
            case "relu":
                z.relu_()
            case "tanh":
                z.tanh_()
            case "erf":
                z = torch.erf(z, out=self._room(z.shape, z, (layer, "h"), self.turned[layer]))
            case "quadratic":
                z = torch.square(z, out=self._room(z.shape, z, (layer, "h"), self.turned[layer]))
            case "linear":
                pass
            case _:
                assert_never(self.activation)
        self.h.append(z)

    def _back(self, dh: Tensor, layer: int) -> Tensor:
        """dL/dz_l from dL/dh_l, in the same array."""
        z = self.z[layer - 1]
        match self.activation:
            case "relu":
                return torch.ops.aten.threshold_backward.grad_input(dh, z, 0, grad_input=dh)
            case "tanh":
                return torch.ops.aten.tanh_backward.grad_input(dh, z, grad_input=dh)
            case "erf":
                return dh.mul_(z.square_().neg_().exp_()).mul_(2 / sqrt(pi))
            case "quadratic":
                return dh.mul_(z).mul_(2)
            case "linear":
                return dh
            case _:
                assert_never(self.activation)

    def _product(self, a: Tensor, b: Tensor, factor: float, name: tuple[object, ...], turned: bool) -> Tensor:
        """factor a b, in the reused array of this name."""
        if turned or (b.shape[-1] < FEW <= a.shape[-2] and a.stride(-1) != 1):
            return self._product(b.mT, a.mT, factor, (*name, "turned"), False).mT
        out = self._room((*a.shape[:-1], b.shape[-1]), a, name)
        if a.shape[-1] == 1:
            return torch.mul(a, b if factor == 1 else factor * b, out=out)
        if factor == 1:
            return torch.bmm(a, b, out=out)
        return torch.baddbmm(out, a, b, beta=0, alpha=factor, out=out)

    def _room(self, shape: tuple[int, ...], like: Tensor, name: tuple[object, ...], turned: bool = False) -> Tensor:
        """An array of that name and shape, made once and reused: new megabytes would be mapped page by page at every step."""
        if (key := (*name, *shape)) not in self.kept:
            *first, rows, columns = shape
            self.kept[key] = like.new_empty(*first, columns, rows).mT if turned else like.new_empty(shape)
        return self.kept[key]
