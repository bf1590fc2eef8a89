"""Outputs and gradients of any network, from its `apply` alone."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.func import vmap

from trainables.networks.base import Network, Parameters

if TYPE_CHECKING:
    from trainables.cell import Cell


class Traced:
    """`apply` of C networks of one shape under torch.func.vmap, and autograd; implements Passes."""

    def __init__(self, network: Network, cell: "Cell") -> None:
        self.apply = vmap(lambda parameters, x: network.apply(parameters, x, cell))
        self.parameters: Parameters = {}
        self.g: Tensor | None = None

    def arranged(self, parameters: Parameters) -> Parameters:
        return parameters

    def outputs(self, parameters: Parameters, x: Tensor) -> Tensor:
        self.parameters = {name: theta.detach().requires_grad_() for name, theta in parameters.items()}
        with torch.enable_grad():
            self.g = self.apply(self.parameters, x)
        return self.g.detach()

    def gradients(self, slopes: Tensor) -> Iterator[tuple[str, Tensor]]:
        assert self.g is not None
        found = torch.autograd.grad(self.g, list(self.parameters.values()), slopes, materialize_grads=True)
        self.g = None
        yield from zip(self.parameters, found, strict=True)
