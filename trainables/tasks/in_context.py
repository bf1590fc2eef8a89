"""In-context linear regression: each input holds examples of a linear map of its own, and asks for the map at one more point
[Lu25, Garg22].

input   (x_1, y_1, ..., x_l, y_l, x), l examples of a task w and a query x, flattened: l (d + 1) + d numbers; l is the `context`
x_i, x  N(0, I_d)
y_i     w.x_i + N(0, noise); the target is that of the query
w       the task of a context, N(0, I/d); [Lu25] has x/sqrt(d) and sqrt(d) w. With `train_tasks` k the training contexts take
        theirs from k tasks, drawn for each seed; else each has its own
P       training contexts; without it each step sees fresh ones
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from trainables.tasks.base import Array, Targets, Task


class InContext(Task):
    """Linear regression from the examples in the input: learn to learn, or learn the training tasks by heart?"""

    name: ClassVar[str] = "in_context"
    targets: ClassVar[Targets] = "real"
    defaults: ClassVar[Mapping[str, Any]] = {"network": "mlp", "training": "adam", "base_lr": 1e-3, "prefactor": "none"}
    shared_across: ClassVar[tuple[str, ...]] = ("tested",)

    d: Annotated[int, Field(ge=1)]
    P: Annotated[int | None, Field(ge=0)] = None
    context: Annotated[int, Field(ge=1, title="examples in a context")]
    train_tasks: Annotated[int | None, Field(ge=1, title="training tasks k")] = None
    noise: Annotated[float, Field(ge=0, title="variance of the noise of y")] = 0.0
    tested: Annotated[Literal["new", "old"], Field(title="tasks of the test")] = "new"
    """Test contexts have new tasks, or (old) those of training; the training set is the same."""

    @model_validator(mode="after")
    def _has_old_tasks(self) -> "InContext":
        if self.tested == "old" and self.train_tasks is None:
            raise ValueError("tested: old is of train_tasks: without them each context has a task of its own")
        return self

    @property
    def input_dim(self) -> int:
        return self.context * (self.d + 1) + self.d

    @property
    def n_train(self) -> int | None:
        return self.P

    def draw_symbols(self, rng: np.random.Generator) -> Array:
        """The training tasks (k, d) float32; none if each context has its own."""
        return _tasks(rng, self.train_tasks or 0, self.d)

    def train_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        """Contexts (n, l (d + 1) + d) float32 and the y of their queries (n,) float64."""
        own = symbols[rng.integers(len(symbols), size=n)] if len(symbols) else _tasks(rng, n, self.d)
        return self._contexts(rng, own)

    def test_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        return self._contexts(rng, _tasks(rng, n, self.d)) if self.tested == "new" else self.train_examples(rng, symbols, n)

    def split(self, inputs: Array) -> tuple[Array, Array, Array]:
        """x_i (n, l, d), y_i (n, l) and queries (n, d) of contexts."""
        pairs = inputs[:, : -self.d].reshape(len(inputs), self.context, self.d + 1)
        return pairs[:, :, :-1], pairs[:, :, -1], inputs[:, -self.d :]

    def _contexts(self, rng: np.random.Generator, tasks: Array) -> tuple[Array, Array]:
        """A context of each task (n, d)."""
        from trainables.kernels.draws import standard_normal  # here, so that reading a grid does not wait for numba

        n, points = len(tasks), self.context + 1
        drawn = standard_normal(rng, (n, points, self.d + 1))  # the last of each point is its noise, then its y
        y = drawn[:, :, :-1].astype(np.float64) @ tasks[:, :, None].astype(np.float64)
        drawn[:, :, -1] = y[:, :, 0] + np.sqrt(self.noise) * drawn[:, :, -1]
        flat = drawn.reshape(n, points * (self.d + 1))
        return np.ascontiguousarray(flat[:, :-1]), flat[:, -1].astype(np.float64)


def _tasks(rng: np.random.Generator, n: int, d: int) -> Array:
    from trainables.kernels.draws import standard_normal

    return standard_normal(rng, (n, d)) / np.float32(d**0.5)
