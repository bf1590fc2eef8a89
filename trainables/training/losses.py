"""Losses of outputs f, and their slopes.

cross_entropy   of labels in {0, 1} with logit f, or of classes with logits f
mse             (f - y)^2, summed over the components of a vector, with y = -1 and 1 for labels 0 and 1, and y = e_k for class k

Both are means over the examples. Label 1 is predicted if f > 0, and the class of the greatest component of f.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, one_hot

if TYPE_CHECKING:
    from trainables.cell import Cell

OfBatch = Callable[[Tensor, Tensor], Tensor]
"""A function of outputs f (..., B) or (..., B, K) and targets y of B examples."""


class Loss(NamedTuple):
    """A loss as functions of f and y."""

    each: OfBatch
    """The loss of each example, (..., B)."""
    slopes: OfBatch
    """Its derivative in f, a new tensor of f's shape."""
    right: OfBatch
    """Whether each prediction is right, (..., B)."""

    def measured(self, f: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Mean loss and number of right predictions, (...) each in float64."""
        return self.each(f, y).mean(-1, dtype=torch.float64), self.right(f, y).sum(-1, dtype=torch.float64)


def loss_of(cell: "Cell") -> Loss:
    """The loss of the cell's training on the targets of its task. A real prediction is neither right nor wrong but NaN."""
    squared_error = Loss(lambda f, y: (f - y).square(), lambda f, y: (f - y).mul_(2), lambda f, y: torch.full_like(f, torch.nan))
    if cell.task.targets == "real":
        return squared_error if cell.task.n_outputs == 1 else _summed(squared_error)
    if cell.task.targets == "binary":
        if cell.loss == "cross_entropy":
            return Loss(_logistic, lambda f, y: f.sigmoid().sub_(y), _has_sign)
        each, slopes, _ = squared_error
        return Loss(lambda f, y: each(f, 2 * y - 1), lambda f, y: slopes(f, 2 * y - 1), _has_sign)
    if cell.loss == "cross_entropy":
        return Loss(_surprise, lambda f, y: f.softmax(-1).sub_(_unit(f, y)), _is_greatest)
    each, slopes, _ = _summed(squared_error)
    return Loss(lambda f, y: each(f, _unit(f, y)), lambda f, y: slopes(f, _unit(f, y)), _is_greatest)


def _summed(loss: Loss) -> Loss:
    """The loss summed over the components of vectors (..., B, K)."""
    return Loss(lambda f, y: loss.each(f, y).sum(-1), loss.slopes, lambda f, y: loss.right(f, y)[..., 0])


def _logistic(f: Tensor, y: Tensor) -> Tensor:
    return binary_cross_entropy_with_logits(f, y, reduction="none")


def _surprise(f: Tensor, y: Tensor) -> Tensor:
    return cross_entropy(f.flatten(0, -2), y.flatten(), reduction="none").view(y.shape)


def _has_sign(f: Tensor, y: Tensor) -> Tensor:
    return (f > 0) == (y > 0)


def _is_greatest(f: Tensor, y: Tensor) -> Tensor:
    return f.argmax(-1) == y


def _unit(f: Tensor, y: Tensor) -> Tensor:
    """e_k for each class k, in f's precision."""
    return one_hot(y, f.shape[-1]).to(f.dtype)
