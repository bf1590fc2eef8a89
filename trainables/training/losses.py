"""Losses of outputs f, and their slopes.

cross_entropy   of labels in {0, 1} with logit f, or of classes with logits f
mse             (f - y)^2, summed over the components of a vector, with y = -1 and 1 for labels 0 and 1, and for class k
                e_k times the task's `target_scale`

Both are means over the examples. Label 1 is predicted if f > 0, and the class of the greatest component of f.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

if TYPE_CHECKING:
    from trainables.spec import CellSpec

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


def loss_of(cell: "CellSpec") -> Loss:
    """The loss of the cell's training on the targets of its task. A real prediction is neither right nor wrong but NaN."""
    targets, has_components = cell.task.targets, cell.task.n_outputs > 1
    if cell.loss == "cross_entropy" and targets == "binary":
        return Loss(_logistic, lambda f, y: f.sigmoid().sub_(y), _has_sign)
    if cell.loss == "cross_entropy":
        return Loss(_surprise, lambda f, y: f.softmax(-1).sub_(_unit(f, y)), _is_greatest)

    def each(f: Tensor, y: Tensor) -> Tensor:
        squared = (f - wanted(f, y)).square()
        return squared.sum(-1) if has_components else squared

    def neither(f: Tensor, y: Tensor) -> Tensor:
        return torch.full_like(each(f, y), torch.nan)

    def unit(f: Tensor, y: Tensor) -> Tensor:
        return _unit(f, y) if scale == 1 else _unit(f, y).mul_(scale)

    scale = cell.task.target_scale
    wanted, right = {"binary": (_sign, _has_sign), "classes": (unit, _is_greatest), "real": (_itself, neither)}[targets]
    return Loss(each, lambda f, y: (f - wanted(f, y)).mul_(2), right)


def _logistic(f: Tensor, y: Tensor) -> Tensor:
    return binary_cross_entropy_with_logits(f, y, reduction="none")


def _surprise(f: Tensor, y: Tensor) -> Tensor:
    return cross_entropy(f.flatten(0, -2), y.flatten(), reduction="none").view(y.shape)


def _itself(f: Tensor, y: Tensor) -> Tensor:
    return y


def _sign(f: Tensor, y: Tensor) -> Tensor:
    return 2 * y - 1


def _has_sign(f: Tensor, y: Tensor) -> Tensor:
    return (f > 0) == (y > 0)


def _is_greatest(f: Tensor, y: Tensor) -> Tensor:
    return f.argmax(-1) == y


def _unit(f: Tensor, y: Tensor) -> Tensor:
    """e_k for each class k, in f's precision."""
    return (y[..., None] == torch.arange(f.shape[-1], device=f.device)).to(f.dtype)
