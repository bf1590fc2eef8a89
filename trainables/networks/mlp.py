"""Multilayer perceptrons.

h_0 = x, z_l = c_l h_{l-1} W_l + b_l, h_l = phi(z_l) for l = 1 .. depth, g = c h_depth W + b with l = depth + 1
n_l  fan-in of layer l: input_dim, then width
s    `init_scale`; biases start at 0. No factor 2 is put in for ReLU: s = sqrt(2) is He's initialisation.

parametrisation   c_l            W_l ~ N(0, .)   readout W ~ N(0, .)   factors of the learning rate
standard          1              s^2/n_l         s^2/n_l               1
ntk               1/sqrt(n_l)    s^2             s^2                   1                            [Jacot18]
mup               1              s^2/n_l         s^2/n_l^2             SGD: width for input weights and
                                                                       hidden biases, 1/width for the readout; Adam: 1/width for
                                                                       hidden weights and the readout [Yang22, Table 3]
"""

from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, assert_never

import numpy as np
from pydantic import Field

from trainables.networks.base import Array, Network, Passes
from trainables.training.descent import Descent

if TYPE_CHECKING:
    from torch import Tensor

    from trainables.cell import Cell
    from trainables.training.base import Training

Activation = Literal["relu", "tanh", "erf", "linear", "quadratic"]


class MLP(Network):
    """`depth` hidden layers of `width` neurons; weights w1, w2, ... (fan-in, fan-out), biases b1, b2, ..., the readout's last."""

    name: ClassVar[str] = "mlp"
    takes: ClassVar[tuple[str, ...]] = ("vector",)
    free: ClassVar[tuple[str, ...]] = ("gamma", "init_scale")

    width: Annotated[int, Field(ge=1)]
    depth: Annotated[int, Field(ge=1, le=6, title="hidden layers")] = 2
    activation: Annotated[Activation, Field(title="activation")] = "relu"
    bias: Annotated[bool, Field(title="biases")] = False
    parametrisation: Annotated[Literal["standard", "ntk", "mup"], Field(title="parametrisation")] = "standard"
    init_scale: Annotated[float, Field(gt=0, title="initial scale s")] = 1.0
    gamma: Annotated[float, Field(gt=0)] = 1.0
    """The output is divided by gamma."""
    centred: Annotated[bool, Field(title="output less output at initialisation")] = False
    trained: Annotated[Literal["all", "last"], Field(title="trained layers")] = "all"
    """`last`: the hidden layers stay as they were drawn, so the features do not change."""

    def check(self, cell: "Cell") -> None:
        super().check(cell)
        if self.gamma_label(cell.task) == "lazy" and not self.centred:
            raise ValueError("gamma = lazy wants centred: true, else the output at initialisation, over gamma, drowns the rest")

    def fans(self, cell: "Cell") -> list[tuple[int, int]]:
        """(fan-in, fan-out) of each layer."""
        sizes = [cell.task.input_dim, *[self.width] * self.depth, cell.task.n_outputs]
        return list(pairwise(sizes))

    def factors(self, cell: "Cell") -> list[float]:
        """c_l of each layer."""
        return [fan_in**-0.5 if self.parametrisation == "ntk" else 1.0 for fan_in, _ in self.fans(cell)]

    def rates(self, training: "Training") -> dict[str, float]:
        hidden = range(1, self.depth + 1) if self.trained == "last" else ()
        held = {f"{name}{layer}": 0.0 for layer in hidden for name in ("wb" if self.bias else "w")}
        return self._rates(training) | held

    def _rates(self, training: "Training") -> dict[str, float]:
        """The factors that the parametrisation requires."""
        if self.parametrisation != "mup":
            return {}
        m, last = float(self.width), self.depth + 1
        if isinstance(training, Descent) and training.is_normalised:
            return {f"w{layer}": 1 / m for layer in range(2, last + 1)}
        return {"w1": m, f"w{last}": 1 / m, **({f"b{layer}": m for layer in range(1, last)} if self.bias else {})}

    def init(self, rng: np.random.Generator, cell: "Cell") -> dict[str, Array]:
        """w1 (input_dim, width), ..., the readout (width, n_outputs), and biases, float32."""
        from trainables.kernels.draws import standard_normal  # here, so that reading a grid does not wait for numba

        fans, drawn = self.fans(cell), {}
        for layer, (fan_in, fan_out) in enumerate(fans, 1):
            is_small = self.parametrisation == "mup" and layer == len(fans)
            size = 1.0 if self.parametrisation == "ntk" else 1 / fan_in if is_small else fan_in**-0.5
            drawn[f"w{layer}"] = standard_normal(rng, (fan_in, fan_out)) * np.float32(self.init_scale * size)
            if self.bias:
                drawn[f"b{layer}"] = np.zeros(fan_out, np.float32)
        return drawn

    def apply(self, parameters: "dict[str, Tensor]", x: "Tensor", cell: "Cell") -> "Tensor":
        outputs = self._layer(parameters, self.features(parameters, x, cell), self.depth + 1, cell)
        return outputs.squeeze(-1) if cell.task.n_outputs == 1 else outputs

    def features(self, parameters: "dict[str, Tensor]", x: "Tensor", cell: "Cell") -> "Tensor":
        for layer in range(1, self.depth + 1):
            z = self._layer(parameters, x, layer, cell)
            match self.activation:
                case "relu":
                    x = z.relu()
                case "tanh":
                    x = z.tanh()
                case "erf":
                    x = z.erf()
                case "quadratic":
                    x = z.square()
                case "linear":
                    x = z
                case _:
                    assert_never(self.activation)
        return x

    def _layer(self, parameters: "dict[str, Tensor]", x: "Tensor", layer: int, cell: "Cell") -> "Tensor":
        z = x @ parameters[f"w{layer}"]
        if self.parametrisation == "ntk":
            z = z * self.factors(cell)[layer - 1]
        return z + parameters[f"b{layer}"] if self.bias else z

    def n_parameters(self, cell: "Cell") -> int:
        return sum((fan_in + self.bias) * fan_out for fan_in, fan_out in self.fans(cell))

    def n_activations(self, cell: "Cell") -> int:
        return self.depth * self.width

    def passes(self, cell: "Cell") -> Passes:
        from trainables.networks.layers import Layers

        return Layers(self, cell)
