"""Adam [Kingma & Ba 2015, Algorithm 1]."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from trainables.training.descent import Minibatch, Scheduled, State

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

    def schedule(self, update: int) -> tuple[float, ...]:
        """Factor and summand of sqrt(v), which make it the divisor (1 - beta1^t) (sqrt(v^) + adam_epsilon) of m."""
        mean, square = 1 - self.beta1 ** (update + 1), 1 - self.beta2 ** (update + 1)
        return mean / square**0.5, mean * self.adam_epsilon

    def update(
        self,
        theta: "Tensor",
        gradient: "Tensor",
        state: State,
        rate: "Tensor",
        free: Mapping[str, "Tensor"],
        scheduled: Sequence[Scheduled],
    ) -> None:
        mean = state["mean"].lerp_(gradient, 1 - self.beta1)
        square = state["square"].mul_(self.beta2).addcmul_(gradient, gradient, value=1 - self.beta2)
        factor, shift = scheduled
        theta.addcmul_(mean.div(square.sqrt().mul_(factor).add_(shift)), rate, value=-1)
