"""Sign descent [Bernstein et al. 2018, Algorithm 1]: Adam's step with moments that have no memory."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from trainables.training.descent import Minibatch, Scheduled, State

if TYPE_CHECKING:
    from torch import Tensor


class SignSGD(Minibatch):
    """theta <- theta - rate sign(g)."""

    name: ClassVar[str] = "signsgd"
    is_normalised: ClassVar[bool] = True

    base_lr: Annotated[float, Field(gt=0)] = 1e-3

    def update(
        self,
        theta: "Tensor",
        gradient: "Tensor",
        state: State,
        rate: "Tensor",
        free: Mapping[str, "Tensor"],
        scheduled: Sequence[Scheduled],
    ) -> None:
        theta.addcmul_(gradient.sign(), rate, value=-1.0)
