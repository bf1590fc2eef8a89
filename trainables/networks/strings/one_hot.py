"""Perceptrons on strings of tokens, each token as a one-hot vector [Boix23 Sec. 1.1, Theorem I.2, Fig. 24].

k, V    tokens of a string x_1 .. x_k, and different tokens
input   the k one-hot vectors one after the other (k V,), and with `equalities` the k^2 numbers 1(x_i = x_j) behind them
z_l = h_{l-1} W_l + b_l, h_l = relu(z_l) for l = 1 .. depth, g = h_depth W + b with l = depth + 1

Weights and biases are uniform in +-1/sqrt(fan-in), as in PyTorch's linear layers: the fan-in of the first is k V, or k V + k^2.
Without `equalities`, outputs at strings of unseen tokens have one law for all templates without regular tokens [Boix23
Theorem I.2]. The paper does not say how wide its networks are.
"""

from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from trainables.networks.base import Array, Network, answered
from trainables.networks.strings.uniform import uniform

if TYPE_CHECKING:
    from torch import Tensor

    from trainables.spec import CellSpec


class OneHot(Network):
    """`depth` hidden ReLU layers of `width` neurons on the one-hot vectors of a string's tokens, one after the other."""

    name: ClassVar[str] = "one_hot"
    takes: ClassVar[tuple[str, ...]] = ("tokens",)

    width: Annotated[int, Field(ge=1)] = 256
    depth: Annotated[int, Field(ge=1, le=6, title="hidden layers")] = 2
    equalities: Annotated[bool, Field(title="equalities of tokens as inputs")] = False
    """The k^2 numbers 1(x_i = x_j) are inputs as well, the paper's MLP + X X^T."""

    def init(self, rng: np.random.Generator, cell: "CellSpec") -> dict[str, Array]:
        """w1 (k V, width), w2, ... (fan-in, fan-out), the readout's last; b1, ...; w_equal (k^2, width) for equalities."""
        k, m = cell.task.input_dim, self.width
        n_tokens, n_equal = k * cell.task.n_tokens, k * k * self.equalities
        drawn = {"w1": uniform(rng, n_tokens + n_equal, n_tokens, m), "b1": uniform(rng, n_tokens + n_equal, m)}
        for layer in range(2, self.depth + 2):
            fan_out = m if layer <= self.depth else cell.task.n_outputs
            drawn[f"w{layer}"], drawn[f"b{layer}"] = uniform(rng, m, m, fan_out), uniform(rng, m, fan_out)
        if self.equalities:  # last, so that a seed draws all others as it does without them
            drawn["w_equal"] = uniform(rng, n_tokens + n_equal, n_equal, m)
        return drawn

    def apply(self, parameters: "dict[str, Tensor]", x: "Tensor", cell: "CellSpec") -> "Tensor":
        last = self.depth + 1
        outputs = self.features(parameters, x, cell) @ parameters[f"w{last}"] + parameters[f"b{last}"]
        return answered(outputs, cell.task)

    def features(self, parameters: "dict[str, Tensor]", x: "Tensor", cell: "CellSpec") -> "Tensor":
        """h_depth (n, width)."""
        from torch import arange

        n, k = x.shape
        rows = x + arange(k, device=x.device) * cell.task.n_tokens
        z = parameters["w1"][rows].sum(1) + parameters["b1"]  # the product of a one-hot vector and W is a row of W
        if self.equalities:
            equal = (x[:, :, None] == x[:, None, :]).reshape(n, k * k)
            z = z + equal.to(z.dtype) @ parameters["w_equal"]
        h = z.relu()
        for layer in range(2, self.depth + 1):
            h = (h @ parameters[f"w{layer}"] + parameters[f"b{layer}"]).relu()
        return h

    def n_parameters(self, cell: "CellSpec") -> int:
        k, m = cell.task.input_dim, self.width
        first = k * cell.task.n_tokens + k * k * self.equalities + 1
        return first * m + (self.depth - 1) * (m + 1) * m + (m + 1) * cell.task.n_outputs

    def n_products(self, cell: "CellSpec") -> int:
        k, m = cell.task.input_dim, self.width
        return (k + k * k * self.equalities) * m + (self.depth - 1) * m * m + m * cell.task.n_outputs

    def n_activations(self, cell: "CellSpec") -> int:
        k = cell.task.input_dim
        return (k + 2 * self.depth) * self.width + k * k * self.equalities
