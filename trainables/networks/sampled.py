"""Networks that are sampled at equilibrium [Rubin25 Sec. 6, App. E]; their energies are in trainables.engines.langevin."""

from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from trainables.networks.base import Network
from trainables.training.base import Family

if TYPE_CHECKING:
    from trainables.spec import CellSpec


class Sampled(Network):
    """The keys and checks of all networks that are sampled; each subclass is one network."""

    family: ClassVar[Family] = "sampling"
    takes: ClassVar[tuple[str, ...]] = ("vector",)
    has_one_output: ClassVar[bool] = True
    n_hidden: ClassVar[int] = 1
    """Hidden layers."""
    keeps: ClassVar[tuple[str, ...]] = ("curves", "neurons")
    hashed_at_default: ClassVar[tuple[str, ...]] = ("width", "width1")

    width: Annotated[int, Field(ge=1)]
    """N, the neurons of the last hidden layer, the channels of a CNN, or the heads of attention."""
    width1: Annotated[int | None, Field(ge=2)] = None
    """N1, the neurons of the first hidden layer; only three-layer networks have it."""

    def check(self, cell: "CellSpec") -> None:
        super().check(cell)
        if (self.width1 is None) == (self.name == "erf3"):
            lacking = "erf3 has two widths: width1, of its first layer, is missing"
            raise ValueError(lacking if self.name == "erf3" else "width1 is the first width of erf3, and of no other network")


class Erf2(Sampled):
    """One hidden layer of erf neurons."""

    name: ClassVar[str] = "erf2"


class Relu2(Sampled):
    """One hidden layer of ReLU neurons."""

    name: ClassVar[str] = "relu2"


class Linear2(Sampled):
    """One hidden layer of linear neurons."""

    name: ClassVar[str] = "linear2"


class Erf3(Sampled):
    """Two hidden layers of erf neurons, `width1` and `width`."""

    name: ClassVar[str] = "erf3"
    n_hidden: ClassVar[int] = 2


class CNN(Sampled):
    """`width` erf channels over patches that do not overlap, a readout for each channel and patch."""

    name: ClassVar[str] = "cnn"

    def check(self, cell: "CellSpec") -> None:
        super().check(cell)
        if cell.task.patch_length is None:
            raise ValueError(f"a cnn needs a task with a patch; {cell.task.name} has none here")


class Attention(Sampled):
    """`width` heads of softmax attention over tokens, one matrix A_h in place of queries and keys, a readout for each head and
    component."""

    name: ClassVar[str] = "attention"

    def check(self, cell: "CellSpec") -> None:
        super().check(cell)
        if cell.task.patch_length is None:
            raise ValueError(f"attention needs a task with tokens, such as token_pairs; {cell.task.name} has none here")
