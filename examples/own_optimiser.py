"""A user's own optimiser: Lion. Run: sweep run examples/own_optimiser_grid.yaml"""

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar

from pydantic import Field
from torch import Tensor

from trainables.training import Minibatch


class Lion(Minibatch):
    """theta <- theta - rate sign(blend m + (1 - blend) g), then
    m <- memory m + (1 - memory) g, with g the gradient [Chen23, Algorithm 2]."""

    name: ClassVar[str] = "lion"  # the value of `training:` in a grid
    is_normalised: ClassVar[bool] = True  # the rate is base_lr, whatever gamma

    # The fields are the training's keys in a grid, beside those of Minibatch: batch,
    # steps, loss, ...
    base_lr: Annotated[float, Field(gt=0)] = 1e-3
    blend: Annotated[float, Field(ge=0, lt=1, title="share of old gradients")] = 0.9
    memory: Annotated[float, Field(ge=0, lt=1, title="memory of the mean")] = 0.99

    def start(self, theta: Tensor, free: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """What is kept between updates of a parameter, theta (C, ...) of C networks."""
        return {"mean": theta.clone().zero_()}

    def update(
        self,
        theta: Tensor,
        gradient: Tensor,
        state: dict[str, Tensor],
        rate: Tensor,
        free: Mapping[str, Tensor],
        scheduled: Sequence[float | Tensor],
    ) -> None:
        """Change theta and the state in place. `rate` is that of each network."""
        blended = state["mean"].lerp(gradient, 1 - self.blend)
        theta.addcmul_(blended.sign_(), rate, value=-1)
        state["mean"].lerp_(gradient, 1 - self.memory)
