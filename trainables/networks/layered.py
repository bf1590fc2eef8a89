"""Keys, initial weights and rates that networks of successive layers share; `mlp` and `conv` say what a layer does.

z_l = c_l h_{l-1} W_l + b_l, h_l = phi(z_l) for l = 1 .. depth, g = c h_depth W + b with l = depth + 1
n_l  fan-in of layer l: how many numbers of h_{l-1} one number of z_l is a sum of
s    `init_scale`. No factor 2 is put in for ReLU: s = sqrt(2) is He's initialisation.
b_l  hidden biases ~ N(0, `bias_scale`^2), the readout's 0. Without a spread, neurons lack Hermite components: ReLU odd ones from
     the third on, erf and tanh all even ones.

parametrisation   c_l            W_l ~ N(0, .)   readout W ~ N(0, .)   factors of the learning rate
standard          1              s^2/n_l         s^2/n_l               1
ntk               1/sqrt(n_l)    s^2             s^2                   1                            [Jacot18]
mup               1              s^2/n_l         s^2/n_l^2             SGD: width for input weights, hidden
                                                                       biases and gains, 1/width for the readout; Adam: 1/width
                                                                       for hidden weights and the readout [Yang22, Table 3]
"""

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, assert_never

import numpy as np
from pydantic import Field

from trainables.networks.base import Array, Network, answered
from trainables.training.descent import Descent

if TYPE_CHECKING:
    from torch import Tensor

    from trainables.spec import CellSpec
    from trainables.training.base import Training

Activation = Literal["relu", "tanh", "erf", "linear", "quadratic"]


class Layered(Network):
    """`depth` hidden layers and a readout; weights w1, w2, ... (fan-in, fan-out), biases b1, b2, ..., the readout's last."""

    takes: ClassVar[tuple[str, ...]] = ("vector",)
    free: ClassVar[tuple[str, ...]] = ("gamma", "init_scale", "bias_scale")

    width: Annotated[int, Field(ge=1)]
    depth: Annotated[int, Field(ge=1, le=6, title="hidden layers")] = 2
    activation: Annotated[Activation, Field(title="activation")] = "relu"
    bias: Annotated[bool, Field(title="biases")] = False
    parametrisation: Annotated[Literal["standard", "ntk", "mup"], Field(title="parametrisation")] = "standard"
    init_scale: Annotated[float, Field(gt=0, title="initial scale s")] = 1.0
    bias_scale: Annotated[float, Field(ge=0, title="initial scale of hidden biases")] = 0.0
    gamma: Annotated[float, Field(gt=0)] = 1.0
    """The output is divided by gamma."""
    centred: Annotated[bool, Field(title="output less output at initialisation")] = False
    trained: Annotated[Literal["all", "last"], Field(title="trained layers")] = "all"
    """`last`: the hidden layers stay as they were drawn, so the features do not change."""

    def check(self, cell: "CellSpec") -> None:
        super().check(cell)
        if self.bias_scale and not self.bias:
            raise ValueError(f"bias_scale = {self.bias_scale:g} wants bias: true; without it there are no biases")

    def fans(self, cell: "CellSpec") -> list[tuple[int, int]]:
        """(fan-in, fan-out) of each layer."""
        raise NotImplementedError

    def vectors(self, layer: int) -> dict[str, float]:
        """Initial values of a layer's parameters besides its weights by their names, such as b; each has a number per neuron."""
        return {"b": 0.0} if self.bias else {}

    def factors(self, cell: "CellSpec") -> list[float]:
        """c_l of each layer."""
        return [fan_in**-0.5 if self.parametrisation == "ntk" else 1.0 for fan_in, _ in self.fans(cell)]

    def rates(self, training: "Training") -> dict[str, float]:
        hidden = range(1, self.depth + 1) if self.trained == "last" else ()
        held = {f"{name}{layer}": 0.0 for layer in hidden for name in ("w", *self.vectors(layer))}
        return self._rates(training) | held

    def _rates(self, training: "Training") -> dict[str, float]:
        """The factors that the parametrisation requires."""
        if self.parametrisation != "mup":
            return {}
        m, last = float(self.width), self.depth + 1
        if isinstance(training, Descent) and training.is_normalised:
            return {f"w{layer}": 1 / m for layer in range(2, last + 1)}
        return {"w1": m, f"w{last}": 1 / m, **{f"{name}{layer}": m for layer in range(1, last) for name in self.vectors(layer)}}

    def init(self, rng: np.random.Generator, cell: "CellSpec") -> dict[str, Array]:
        """w1, w2, ... (fan-in, fan-out), the readout's last, and the vectors of each layer (fan-out,), float32."""
        from trainables.kernels.draws import standard_normal  # here, so that reading a grid does not wait for numba

        fans, drawn = self.fans(cell), {}
        for layer, (fan_in, fan_out) in enumerate(fans, 1):
            is_small = self.parametrisation == "mup" and layer == len(fans)
            size = 1.0 if self.parametrisation == "ntk" else 1 / fan_in if is_small else fan_in**-0.5
            drawn[f"w{layer}"] = standard_normal(rng, (fan_in, fan_out)) * np.float32(self.init_scale * size)
            for name, value in self.vectors(layer).items():
                drawn[f"{name}{layer}"] = np.full(fan_out, value, np.float32)
            if self.bias_scale and layer <= self.depth:
                drawn[f"b{layer}"] = standard_normal(rng, (fan_out,)) * np.float32(self.bias_scale)
        return drawn

    def apply(self, parameters: "dict[str, Tensor]", x: "Tensor", cell: "CellSpec") -> "Tensor":
        h = self.features(parameters, x, cell)
        assert h is not None
        return answered(self.layer(parameters, h, self.depth + 1, cell), cell.task)

    def layer(self, parameters: "dict[str, Tensor]", h: "Tensor", layer: int, cell: "CellSpec") -> "Tensor":
        """z_l (n, fan-out) of a layer that sums over all numbers of h (n, fan-in)."""
        z = h @ parameters[f"w{layer}"]
        if self.parametrisation == "ntk":
            z = z * self.factors(cell)[layer - 1]
        return z + parameters[f"b{layer}"] if self.bias else z

    def phi(self, z: "Tensor") -> "Tensor":
        match self.activation:
            case "relu":
                return z.relu()
            case "tanh":
                return z.tanh()
            case "erf":
                return z.erf()
            case "quadratic":
                return z.square()
            case "linear":
                return z
            case _:
                assert_never(self.activation)

    def n_parameters(self, cell: "CellSpec") -> int:
        return sum((fan_in + len(self.vectors(layer))) * fan_out for layer, (fan_in, fan_out) in enumerate(self.fans(cell), 1))
