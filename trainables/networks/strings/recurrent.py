"""Base of networks that read a string token by token."""

from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from trainables.networks.base import Network, answered

if TYPE_CHECKING:
    from torch import Tensor

    from trainables.spec import CellSpec


class Recurrent(Network):
    """One layer of `width` hidden numbers, tokens of dimension `embedding`; the readout sees what the last token leaves."""

    takes: ClassVar[tuple[str, ...]] = ("tokens",)

    width: Annotated[int, Field(ge=1)] = 128
    embedding: Annotated[int, Field(ge=1, title="embedding dimension")] = 128

    def apply(self, parameters: "dict[str, Tensor]", x: "Tensor", cell: "CellSpec") -> "Tensor":
        features = self.features(parameters, x, cell)
        assert features is not None  # a subclass has some
        return answered(features @ parameters["readout"] + parameters["bias"], cell.task)
