"""Stochastic gradient descent, each step on a fresh batch, or on one drawn from a fixed training set."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from trainables.training.descent import Minibatch, Scheduled, State

if TYPE_CHECKING:
    from torch import Tensor


class SGD(Minibatch):
    """v <- momentum v + g + weight_decay theta, theta <- theta - rate v."""

    name: ClassVar[str] = "sgd"
    free: ClassVar[tuple[str, ...]] = ("base_lr", "momentum", "weight_decay")
    hashed_at_default: ClassVar[tuple[str, ...]] = ("base_lr", "steps", "batch", "eval_every", "test_size", "dtype")

    momentum: Annotated[float, Field(ge=0, lt=1, title="momentum")] = 0.0
    weight_decay: Annotated[float, Field(ge=0, title="weight decay")] = 0.0

    def start(self, theta: "Tensor", free: Mapping[str, "Tensor"]) -> State:
        return {"velocity": theta.clone().zero_()} if "momentum" in free else {}

    def update(
        self,
        theta: "Tensor",
        gradient: "Tensor",
        state: State,
        rate: "Tensor",
        free: Mapping[str, "Tensor"],
        scheduled: Sequence[Scheduled],
    ) -> None:
        if "weight_decay" in free:
            gradient = gradient.addcmul(theta, free["weight_decay"])
        if "momentum" in free:
            gradient = state["velocity"].mul_(free["momentum"]).add_(gradient)
        theta.addcmul_(gradient, rate, value=-1)
