"""Convolutional networks, with or without batch norm; notation of trainables.networks.layered.

h_0        the image (channels, height, width); h_l has `width` channels, and a side of ceil(side of h_{l-1} / stride)
W_l        filters of `kernel_size` pixels a side, beyond the border zeros, at every `stride`-th pixel of a row and of a column
n_l        kernel_size^2 times the channels of h_{l-1}; in the readout all numbers of h_depth, which are the features
batch norm z_l = gain_l (c_l W_l h_{l-1} - mean)/sqrt(var + 1e-5) + b_l for each channel; gain_l starts at 1 [Ioffe15]

mean and var are over all positions of all examples: in training those of the batch; in evaluation 1024 training examples, the
first ones of a fixed set, else fresh ones (`trainables.streams.training_probe`). They pass the network as it is now, each layer
normalised before the next one is measured: precise batch norm [Wu21]. Running averages would belong to weights that are gone, and
would change the features of layers that do not train. As it is, the parameters are all that a network consists of.
"""

from math import prod
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field, field_validator

from trainables.networks.base import Parameters
from trainables.networks.layered import Layered
from trainables.parts import NOT_SEARCHED

if TYPE_CHECKING:
    from torch import Tensor

    from trainables.spec import CellSpec
    from trainables.tasks.base import Task

NORM_EPSILON = 1e-5
"""The number that a batch norm adds to a variance, as torch does."""


class Conv(Layered):
    """`depth` convolutional layers of `width` channels over an image, and a readout of all numbers of the last one."""

    name: ClassVar[str] = "conv"
    in_turn_on_cpu: ClassVar[bool] = True

    kernel_size: Annotated[int, Field(ge=1, le=15, title="pixels a side of a filter", json_schema_extra=NOT_SEARCHED)] = 3
    stride: Annotated[int, Field(ge=1, le=4, title="pixels from filter to filter", json_schema_extra=NOT_SEARCHED)] = 2
    batch_norm: Annotated[bool, Field(title="batch norm")] = False

    @field_validator("kernel_size")
    @classmethod
    def _has_a_middle(cls, kernel_size: int) -> int:
        if kernel_size % 2 == 0:
            raise ValueError(f"must be odd, so that a filter has a pixel in its middle, not {kernel_size}")
        return kernel_size

    def check(self, cell: "CellSpec") -> None:
        super().check(cell)
        if cell.task.image_shape is None:
            from trainables.tasks.base import names_of_images

            images = names_of_images()
            other = ", here with layer: id" if cell.task.name in images else f" ({', '.join(images)})"
            wanted = f"take a task of images{other}, or network mlp"
            raise ValueError(f"network conv takes images, and the inputs of task {cell.task.name} are no images; {wanted}")
        if self.batch_norm and cell.batch * prod(self.maps(cell.task)[-1]) < 2:
            raise ValueError("with batch_norm: true a batch must hold two numbers of a channel at least; take a larger batch")

    @property
    def mixes_examples(self) -> bool:
        return self.batch_norm

    def vectors(self, layer: int) -> dict[str, float]:
        return {"gain": 1.0, "b": 0.0} if self.batch_norm and layer <= self.depth else super().vectors(layer)

    def maps(self, task: "Task") -> list[tuple[int, int]]:
        """Height and width of h_0, h_1, ..."""
        assert task.image_shape is not None
        sides = [task.image_shape[1:]]
        for _ in range(self.depth):
            height, width = sides[-1]
            sides.append((-(-height // self.stride), -(-width // self.stride)))
        return sides

    def fans(self, cell: "CellSpec") -> list[tuple[int, int]]:
        assert cell.task.image_shape is not None
        height, width = self.maps(cell.task)[-1]
        channels = [cell.task.image_shape[0], *[self.width] * (self.depth - 1)]
        readout = height * width * self.width, cell.task.n_outputs
        return [*((self.kernel_size**2 * before, self.width) for before in channels), readout]

    def features(self, parameters: "dict[str, Tensor]", x: "Tensor", cell: "CellSpec") -> "Tensor":
        """(n, height x width x channels) of the last layer, the channels of a position side by side."""
        return self._hidden(parameters, x, cell).permute(0, 2, 3, 1).flatten(1)

    def settled(self, parameters: Parameters, x: "Tensor", cell: "CellSpec") -> Parameters:
        """The parameters, and `mean1`, `var1`, ... of each batch norm over inputs x."""
        measured: Parameters = {}
        if self.batch_norm:
            self._hidden(parameters, x, cell, measured)
        return parameters | measured

    def _hidden(self, parameters: Parameters, x: "Tensor", cell: "CellSpec", measured: Parameters | None = None) -> "Tensor":
        """h_depth (n, channels, height, width). A batch norm takes the statistics that `parameters` hold, else those of x; with
        `measured` those of x, which it notes there."""
        h = cell.task.as_images(x)
        for layer in range(1, self.depth + 1):
            z = self._filtered(parameters, h, layer, cell)
            if self.batch_norm:
                z = _normalised(parameters, z, layer, measured)
            elif self.bias:
                z = z + parameters[f"b{layer}"][:, None, None]
            h = self.phi(z)
        return h

    def _filtered(self, parameters: Parameters, h: "Tensor", layer: int, cell: "CellSpec") -> "Tensor":
        """c_l W_l h. Rows of W_l are in the order row, column, channel of a filter, so that the channels of a pixel lie side by
        side in memory: a CPU convolves such arrays the fastest."""
        from torch.nn.functional import conv2d

        w, k = parameters[f"w{layer}"], self.kernel_size
        filters = w.T.contiguous().view(self.width, k, k, h.shape[1]).permute(0, 3, 1, 2)
        z = conv2d(h, filters, stride=self.stride, padding=k // 2)
        return z * self.factors(cell)[layer - 1] if self.parametrisation == "ntk" else z

    def n_products(self, cell: "CellSpec") -> int:
        *filters, readout = self.fans(cell)
        positions = map(prod, self.maps(cell.task)[1:])
        return prod(readout) + sum(n * prod(fan) for n, fan in zip(positions, filters, strict=True))

    def n_activations(self, cell: "CellSpec") -> int:
        return self.width * sum(map(prod, self.maps(cell.task)[1:]))


def _normalised(parameters: Parameters, z: "Tensor", layer: int, measured: Parameters | None) -> "Tensor":
    from torch import var_mean
    from torch.nn.functional import batch_norm

    gain, b = parameters[f"gain{layer}"], parameters[f"b{layer}"]
    mean, var = parameters.get(f"mean{layer}"), parameters.get(f"var{layer}")
    if measured is not None:
        var, mean = var_mean(z, (0, 2, 3), correction=0)
        measured |= {f"mean{layer}": mean, f"var{layer}": var}
    return batch_norm(z, mean, var, gain, b, training=mean is None, eps=NORM_EPSILON)
