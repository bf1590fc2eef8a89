"""Parts that the trainers of networks in scaled changes share (trainables.trainers.centred): evaluation and measures."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from trainables.metrics.base import Probed
from trainables.tasks.base import Array
from trainables.trainers.base import Measures
from trainables.trainers.ensemble import Ensemble


class Scaled:
    """A trainer of an ensemble whose networks have scaled weights U; a subclass says what they are."""

    nets: Ensemble

    def scaled_weights(self, c: int) -> Tensor:
        """U (D, m) of cell c."""
        raise NotImplementedError

    def changes(self, cells: Sequence[int], x: Tensor) -> Tensor:
        """q = x U of some cells of a group that follow each other in it, (k, n, m), for inputs x (n, D)."""
        raise NotImplementedError

    @torch.no_grad()
    def evaluate(self, step: int, n: int) -> Array:
        return self.nets.evaluate(step, n, self.changes)

    @torch.no_grad()
    def measures(self, step: int) -> Measures:
        return self.nets.measures(step, self.scaled_weights)

    @torch.no_grad()
    def hidden_weights(self, c: int, neurons: Array) -> Array:
        return self.nets.hidden_weights(c, neurons, self.scaled_weights)

    @torch.no_grad()
    def probed(self, c: int) -> Callable[[Array], Probed]:
        return self.nets.probed(c, self.scaled_weights(c))
