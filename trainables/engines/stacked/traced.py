"""Outputs and gradients of any network, from its `apply` alone."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.func import vmap

from trainables.networks.base import Network, Parameters, held

if TYPE_CHECKING:
    from trainables.cell import Cell


class Traced:
    """`apply` of C networks of one shape, and autograd; implements Passes.

    The networks are computed together under torch.func.vmap, or one after the other on a CPU if the network wants that.
    """

    def __init__(self, cells: "Sequence[Cell]") -> None:
        cell, network = cells[0], cells[0].network
        self.alone = partial(_applied, network, cell)
        self.together = vmap(self.alone)
        self.in_turn_on_cpu = network.in_turn_on_cpu
        self.held = held(cells)
        """They have no gradient, and what depends on them alone is not traced."""
        self.parameters: Parameters = {}
        self.g: Tensor | None = None

    def arranged(self, parameters: Parameters) -> Parameters:
        return parameters

    def outputs(self, parameters: Parameters, x: Tensor) -> Tensor:
        self.parameters = {name: theta.detach().requires_grad_(name not in self.held) for name, theta in parameters.items()}
        with torch.enable_grad():
            self.g = self._in_turn(x) if self.in_turn_on_cpu and x.is_cpu else self.together(self.parameters, x)
        return self.g.detach()

    def gradients(self, slopes: Tensor) -> Iterator[tuple[str, Tensor]]:
        assert self.g is not None
        trained = {name: theta for name, theta in self.parameters.items() if name not in self.held}
        found = torch.autograd.grad(self.g, list(trained.values()), slopes, materialize_grads=True)
        self.g = None
        yield from zip(trained, found, strict=True)

    def _in_turn(self, x: Tensor) -> Tensor:
        # unbind, because the gradient of theta[c] would be an array of all networks.
        names, each = list(self.parameters), zip(*(theta.unbind() for theta in self.parameters.values()), strict=True)
        return torch.stack([self.alone(dict(zip(names, own, strict=True)), inputs) for own, inputs in zip(each, x, strict=True)])


def _applied(network: Network, cell: "Cell", parameters: Parameters, x: Tensor) -> Tensor:
    return network.apply(parameters, x, cell)
