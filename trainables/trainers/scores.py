"""Scores of a network on test examples, from its outputs f and the targets y.

binary    `acc`, the share of right signs; `auc`, the probability that an example of label 1 has a greater output than one of
          label 0, ties counting one half; `acc_best_threshold`, the accuracy at the threshold that is best for these very
          examples; `acc_same` and `acc_different`, the share of right signs among labels 1 and 0
classes   `acc`
real      `mse`, the mean squared error

`trainables.result.scores_of` lists them in this order. A sign can fail where the outputs of the two labels hardly overlap: then
`acc` is near chance and `auc` is near 1.
"""

import torch
from torch import Tensor

from trainables.tasks.base import Targets
from trainables.training.losses import Loss


def scored(f: Tensor, y: Tensor, targets: Targets, loss: Loss | None = None) -> Tensor:
    """Scores (S, ...) in float64 of outputs f (..., n) or (..., n, K) and targets y. `loss` is needed unless targets are binary.

    A score is NaN where it is not defined, as `auc` is without an example of either label.
    """
    if targets == "binary":
        return _of_two_labels(f, y.broadcast_to(f.shape) > 0)
    assert loss is not None
    mean, right = loss.measured(f, y)
    return (mean if targets == "real" else right / y.shape[-1])[None]


def _of_two_labels(f: Tensor, is_one: Tensor) -> Tensor:
    predicted, n = f > 0, f.shape[-1]
    ones = is_one.sum(-1, dtype=torch.float64)
    zeros = n - ones
    hits = (predicted & is_one).sum(-1, dtype=torch.float64)
    rejected = n - (predicted | is_one).sum(-1, dtype=torch.float64)

    # From the greatest output down: how many of each label lie above a threshold. Thresholds lie where the outputs differ.
    ordered, order = f.sort(dim=-1, descending=True)
    above = is_one.gather(-1, order).cumsum(-1, dtype=torch.int32)
    wrongly = torch.arange(1, n + 1, device=f.device, dtype=torch.int32) - above
    is_end = torch.ones_like(is_one)
    is_end[..., :-1] = ordered[..., 1:] != ordered[..., :-1]
    excess = torch.where(is_end, above - wrongly, 0).amax(-1).clamp_min(0)  # 0: the threshold above all outputs
    best = (zeros + excess) / n

    # Trapezoids under the curve of `above` over `wrongly`, from end to end: within a tie the curve is a straight line.
    above, wrongly = (torch.where(is_end, count, 0).cummax(-1).values.double() for count in (above, wrongly))
    # The first point lies on an axis, so that no area is before it: one example, or 0 and 0 within a tie.
    area = ((above[..., 1:] + above[..., :-1]) / 2 * wrongly.diff(dim=-1)).sum(-1)
    return torch.stack([(hits + rejected) / n, area / (ones * zeros), best, hits / ones, rejected / zeros])
