"""Recurrent networks that read a string token by token [Boix23 Fig. 21].

E (V, embedding) ~ N(0, 1) are the vectors of the tokens, e_t = E[x_t] for t = 1 .. k; h_0 = 0
h_t = relu([e_t, h_{t-1}] W + b), g = h_k W_out + b_out

Matrices and biases are uniform in +-1/sqrt(fan-in), as in PyTorch's linear layers; the fan-in of W is embedding + width. The
authors take one size for embedding and hidden state, and do not say which.
"""

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from trainables.networks.base import Array
from trainables.networks.strings.recurrent import Recurrent
from trainables.networks.strings.uniform import uniform

if TYPE_CHECKING:
    from torch import Tensor

    from trainables.spec import CellSpec


class RNN(Recurrent):
    """One recurrent layer of `width` ReLU neurons."""

    name: ClassVar[str] = "rnn"

    def init(self, rng: np.random.Generator, cell: "CellSpec") -> dict[str, Array]:
        """E; W as w_in (embedding, width) and w_h (width, width), with b; readout (width, n_outputs) and bias."""
        d, m, outputs = self.embedding, self.width, cell.task.n_outputs
        return {
            "E": rng.standard_normal((cell.task.n_tokens, d), dtype=np.float32),
            "w_in": uniform(rng, d + m, d, m),
            "w_h": uniform(rng, d + m, m, m),
            "b": uniform(rng, d + m, m),
            "readout": uniform(rng, m, m, outputs),
            "bias": uniform(rng, m, outputs),
        }

    def features(self, parameters: "dict[str, Tensor]", x: "Tensor", cell: "CellSpec") -> "Tensor":
        """h_k (n, width)."""
        of_tokens = parameters["E"][x] @ parameters["w_in"] + parameters["b"]
        h = of_tokens[:, 0].relu()
        for t in range(1, x.shape[1]):
            h = (of_tokens[:, t] + h @ parameters["w_h"]).relu()
        return h

    def n_parameters(self, cell: "CellSpec") -> int:
        d, m = self.embedding, self.width
        return cell.task.n_tokens * d + (d + m + 1) * m + (m + 1) * cell.task.n_outputs

    def n_products(self, cell: "CellSpec") -> int:
        return cell.task.input_dim * (self.embedding + self.width) * self.width + self.width * cell.task.n_outputs

    def n_activations(self, cell: "CellSpec") -> int:
        return cell.task.input_dim * (self.embedding + 3 * self.width)
