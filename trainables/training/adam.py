"""Adam [Kingma & Ba 2015, Algorithm 1]."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
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
        self._follow(theta, gradient, state, rate, None, scheduled)

    def kept(self, dtype: "np.dtype[Any]") -> "np.ndarray[Any, Any]":
        """1 - beta1, beta2 and 1 - beta2, each rounded from float64: the difference from a rounded beta2 would lose digits."""
        return np.array([1 - self.beta1, self.beta2, 1 - self.beta2], dtype)

    def _follow(
        self,
        theta: "Tensor",
        gradient: "Tensor",
        state: State,
        rate: "Tensor",
        decay: "Tensor | None",
        scheduled: Sequence[Scheduled],
    ) -> None:
        """A step, after a weight decay that does not enter the gradient. On a processor it is one pass over the memory, where
        seven tensor operations would wait for it; numbers that lie in different orders go the longer way."""
        tensors, (factor, shift) = (theta, gradient, state["mean"], state["square"]), scheduled
        if not isinstance(factor, float) or not isinstance(shift, float) or not _lie_alike(tensors):
            if decay is not None:
                theta.mul_(1 - rate * decay)
            mean = state["mean"].lerp_(gradient, 1 - self.beta1)
            square = state["square"].mul_(self.beta2).addcmul_(gradient, gradient, value=1 - self.beta2)
            theta.addcmul_(mean.div(square.sqrt().mul_(factor).add_(shift)), rate, value=-1)
            return
        from trainables.kernels.optimisers import follow_moments_of_each  # here: reading a grid does not wait for numba

        rates = rate.flatten().numpy()
        real = rates.dtype.type
        decays = np.zeros_like(rates) if decay is None else decay.flatten().numpy()
        keep = self.kept(rates.dtype)
        rows = [tensor.as_strided((len(theta), theta[0].numel()), (theta.stride(0), 1)).numpy() for tensor in tensors]
        follow_moments_of_each(*rows, rates, decays, keep, real(factor), real(shift))


def _lie_alike(tensors: "Sequence[Tensor]") -> bool:
    """True if tensors (C, ...) of a processor have their numbers in one order, those of each network side by side."""
    first, *others = tensors
    if not first.is_cpu or first.dim() < 2 or any(t.stride() != first.stride() or t.dtype != first.dtype for t in others):
        return False
    ordered = sorted(zip(first.stride()[1:], first.shape[1:], strict=True))
    expected = 1
    for stride, size in ordered:
        if size > 1 and stride != expected:
            return False
        expected *= size
    return first.stride(0) == expected
