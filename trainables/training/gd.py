"""Gradient descent on the whole training set at each step."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from trainables.training.descent import Descent, Scheduled, State

if TYPE_CHECKING:
    from torch import Tensor


class GD(Descent):
    """theta <- theta - rate g, g the gradient of the mean loss over the P training examples."""

    name: ClassVar[str] = "gd"

    @property
    def is_full_batch(self) -> bool:
        return True

    def update(
        self,
        theta: "Tensor",
        gradient: "Tensor",
        state: State,
        rate: "Tensor",
        free: Mapping[str, "Tensor"],
        scheduled: Sequence[Scheduled],
    ) -> None:
        theta.addcmul_(gradient, rate, value=-1)
