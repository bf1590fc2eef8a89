"""Adam [Kingma & Ba 2015, Algorithm 1]."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from trainables.training.descent import Minibatch, State

if TYPE_CHECKING:
    from torch import Tensor


class Adam(Minibatch):
    """m <- beta1 m + (1 - beta1) g, v <- beta2 v + (1 - beta2) g^2, theta <- theta - rate m^ / (sqrt(v^) + adam_epsilon).

    m^ = m/(1 - beta1^t) and v^ = v/(1 - beta2^t) after t steps.
    """

    name: ClassVar[str] = "adam"
    is_normalised: ClassVar[bool] = True

    base_lr: Annotated[float, Field(gt=0)] = 1e-3
    beta1: Annotated[float, Field(ge=0, lt=1, title="Adam beta1")] = 0.9
    beta2: Annotated[float, Field(ge=0, lt=1, title="Adam beta2")] = 0.999
    adam_epsilon: Annotated[float, Field(gt=0, title="Adam epsilon")] = 1e-8

    def start(self, theta: "Tensor", free: Mapping[str, "Tensor"]) -> State:
        return {name: theta.clone().zero_() for name in ("mean", "square")}

    def update(
        self, theta: "Tensor", gradient: "Tensor", state: State, rate: "Tensor", free: Mapping[str, "Tensor"], step: int
    ) -> None:
        mean = state["mean"].lerp_(gradient, 1 - self.beta1)
        square = state["square"].mul_(self.beta2).addcmul_(gradient, gradient, value=1 - self.beta2)
        root = square.sqrt().div_((1 - self.beta2 ** (step + 1)) ** 0.5).add_(self.adam_epsilon)
        theta.addcmul_(mean.div(root), rate, value=-1 / (1 - self.beta1 ** (step + 1)))
