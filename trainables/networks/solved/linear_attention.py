"""Linear attention to a context, reduced to what its query sees: a linear map of d (d + 1) features, solved for [Lu25].

u    (1/l) sum_i y_i x_i over the l examples (x_i, y_i) of a context, (d,)
v    (1/l) sum_i y_i^2
f    x' G (u, v/sqrt(d)), x the query; G (d, d + 1) holds values, keys and queries. Features are x (u, v/sqrt(d))'/sqrt(d): their
     kernel is O(1) at any d, and `ridge` is tau times the lambda of [Lu25], tau = P/d^2
"""

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from trainables.networks.base import Array
from trainables.networks.solved.kernels import LastLayer
from trainables.tasks.in_context import InContext

if TYPE_CHECKING:
    from trainables.spec import CellSpec


class LinearAttention(LastLayer):
    """One layer of linear attention on contexts of `in_context`, in its d (d + 1) features."""

    name: ClassVar[str] = "linear_attention"
    takes: ClassVar[tuple[str, ...]] = ("vector",)
    width: ClassVar[int] = 1  # type: ignore[misc]  # no key: the task's d says how many features there are

    def check(self, cell: "CellSpec") -> None:
        super().check(cell)
        if not isinstance(cell.task, InContext):
            raise ValueError(f"linear_attention needs contexts, as of task in_context; {cell.task.name} has none")

    def grams(self, x: Array, others: Array, cell: "CellSpec", rng: np.random.Generator) -> tuple[Array, Array]:
        (query, read), (theirs, their_read) = (_seen(inputs, cell) for inputs in (x, others))
        d = query.shape[1]
        return (query @ query.T) * (read @ read.T) / d, (theirs @ query.T) * (their_read @ read.T) / d

    def few(self, cell: "CellSpec") -> bool:
        return self.n_seen(cell) < (cell.task.n_train or 0)

    def seen_of(self, x: Array, others: Array, cell: "CellSpec", rng: np.random.Generator) -> tuple[Array, Array]:
        ours, theirs = (_features(inputs, cell) for inputs in (x, others))
        return ours, theirs

    def n_seen(self, cell: "CellSpec") -> int:
        d = _task(cell).d
        return d * (d + 1)

    def n_products(self, cell: "CellSpec") -> int:
        return cell.task.input_dim

    def of_entry(self, cell: "CellSpec") -> float:
        return float(self.n_seen(cell) if self.few(cell) else 2 * _task(cell).d + 1)

    def held(self, cell: "CellSpec") -> int:
        return cell.task.input_dim // 2 + (self.n_seen(cell) if self.few(cell) else 2 * _task(cell).d + 1)


def _task(cell: "CellSpec") -> InContext:
    assert isinstance(cell.task, InContext)
    return cell.task


def _seen(inputs: Array, cell: "CellSpec") -> tuple[Array, Array]:
    """The query (n, d) and what it reads of the context, (u, v/sqrt(d)) (n, d + 1), float64."""
    x, y, query = _task(cell).split(inputs)
    u = (y[:, None, :] @ x)[:, 0] / x.shape[1]
    v = (y**2).mean(1, keepdims=True) / x.shape[2] ** 0.5
    return query.astype(np.float64), np.hstack([u, v]).astype(np.float64)


def _features(inputs: Array, cell: "CellSpec") -> Array:
    query, read = _seen(inputs, cell)
    n, d = query.shape
    return (query[:, :, None] * read[:, None, :]).reshape(n, d * (d + 1)) / d**0.5
