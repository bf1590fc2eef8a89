"""Multilayer perceptrons; notation of trainables.networks.layered.

h_0 = x, and each layer sums over all of the one before: n_l is input_dim, then width
"""

from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

from trainables.networks.base import Passes
from trainables.networks.layered import Layered

if TYPE_CHECKING:
    from torch import Tensor

    from trainables.cell import Cell


class MLP(Layered):
    """`depth` hidden layers of `width` neurons; weights w1, w2, ... (fan-in, fan-out), biases b1, b2, ..., the readout's last."""

    name: ClassVar[str] = "mlp"

    def fans(self, cell: "Cell") -> list[tuple[int, int]]:
        sizes = [cell.task.input_dim, *[self.width] * self.depth, cell.task.n_outputs]
        return list(pairwise(sizes))

    def features(self, parameters: "dict[str, Tensor]", x: "Tensor", cell: "Cell") -> "Tensor":
        for layer in range(1, self.depth + 1):
            x = self.phi(self.layer(parameters, x, layer, cell))
        return x

    def n_activations(self, cell: "Cell") -> int:
        return self.depth * self.width

    def passes(self, cell: "Cell") -> Passes:
        from trainables.networks.layers import Layers

        return Layers(self, cell)
