"""Adam with weight decay that does not enter the gradient [Loshchilov & Hutter 2019]."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from trainables.training.adam import Adam
from trainables.training.descent import Scheduled, State

if TYPE_CHECKING:
    from torch import Tensor


class AdamW(Adam):
    """theta <- (1 - rate weight_decay) theta, then a step of Adam."""

    name: ClassVar[str] = "adamw"
    free: ClassVar[tuple[str, ...]] = ("base_lr", "weight_decay")

    weight_decay: Annotated[float, Field(ge=0, title="weight decay")] = 0.01

    def update(
        self,
        theta: "Tensor",
        gradient: "Tensor",
        state: State,
        rate: "Tensor",
        free: Mapping[str, "Tensor"],
        scheduled: Sequence[Scheduled],
    ) -> None:
        self._follow(theta, gradient, state, rate, free["weight_decay"], scheduled)
