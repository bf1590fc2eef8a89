"""LSTMs that read a string token by token, one layer as torch.nn.LSTM computes it [Boix23 Fig. 21].

E (V, embedding) ~ N(0, 1) are the vectors of the tokens, e_t = E[x_t] for t = 1 .. k; h_0 = c_0 = 0
i, f, g, o = e_t W + b + h_{t-1} W_h + b_h, `width` numbers each: input gate, forget gate, candidate, output gate
c_t = sigmoid(f) c_{t-1} + sigmoid(i) tanh(g), h_t = sigmoid(o) tanh(c_t); the output is h_k W_out + b_out

All but E is uniform in +-1/sqrt(width), as in PyTorch. The authors draw h_0 and c_0 from N(0, 1) anew at every pass, in
evaluation too; here they are 0, because a result must depend on its cell alone. They take one size for embedding and hidden
state, and do not say which.
"""

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from trainables.networks.base import Array
from trainables.networks.strings.recurrent import Recurrent
from trainables.networks.strings.uniform import uniform

if TYPE_CHECKING:
    from torch import Tensor

    from trainables.spec import CellSpec


class LSTM(Recurrent):
    """One LSTM layer of `width` cells."""

    name: ClassVar[str] = "lstm"

    def init(self, rng: np.random.Generator, cell: "CellSpec") -> dict[str, Array]:
        """E; w_in (embedding, 4 width) with b_in, w_h (width, 4 width) with b_h; readout (width, n_outputs) and bias."""
        d, m, outputs = self.embedding, self.width, cell.task.n_outputs
        return {
            "E": rng.standard_normal((cell.task.n_tokens, d), dtype=np.float32),
            "w_in": uniform(rng, m, d, 4 * m),
            "b_in": uniform(rng, m, 4 * m),
            "w_h": uniform(rng, m, m, 4 * m),
            "b_h": uniform(rng, m, 4 * m),
            "readout": uniform(rng, m, m, outputs),
            "bias": uniform(rng, m, outputs),
        }

    def features(self, parameters: "dict[str, Tensor]", x: "Tensor", cell: "CellSpec") -> "Tensor":
        """h_k (n, width)."""
        of_tokens = parameters["E"][x] @ parameters["w_in"] + parameters["b_in"]
        h = c = of_tokens.new_zeros(len(x), self.width)
        for t in range(x.shape[1]):
            i, f, g, o = (of_tokens[:, t] + h @ parameters["w_h"] + parameters["b_h"]).chunk(4, dim=1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
        return h

    def n_parameters(self, cell: "CellSpec") -> int:
        d, m = self.embedding, self.width
        return cell.task.n_tokens * d + (d + m + 2) * 4 * m + (m + 1) * cell.task.n_outputs

    def n_products(self, cell: "CellSpec") -> int:
        return cell.task.input_dim * (self.embedding + self.width) * 4 * self.width + self.width * cell.task.n_outputs

    def n_activations(self, cell: "CellSpec") -> int:
        return cell.task.input_dim * (self.embedding + 16 * self.width)
