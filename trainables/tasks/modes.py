"""A linear teacher of given modes: deep linear networks learn them one by one [Saxe14].

x      inputs (d,); in a fixed training set of P > d examples the mean is exactly 0, the covariance
       exactly (1 - rho) I + rho 11'
s_k    strength of mode k = 1 .. rank: `strength`, and smaller by `ratio` from one mode to the next
y_k    s_k x_k: mode k leads from the k-th input to the k-th output

Gaussian weights and white inputs (rho = 0) treat all directions alike, so that modes along the axes are as good as any others.
With rho > 0 each input still has variance 1, but principal components have unequal ones, and no mode is one of them.
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, model_validator

from sweepkit.declarations.metrics import MOST_MODES
from trainables.tasks.base import Array, Targets, Task


class Modes(Task):
    """A linear map of `rank` modes to learn, from inputs whose covariance is exact in the training set."""

    name: ClassVar[str] = "modes"
    targets: ClassVar[Targets] = "real"
    defaults: ClassVar[Mapping[str, Any]] = {"network": "mlp", "training": "gd", "base_lr": 0.005, "prefactor": "none"}

    d: Annotated[int, Field(ge=1)]
    P: Annotated[int, Field(ge=2)]
    rank: Annotated[int, Field(ge=1, le=MOST_MODES, title="number of modes")] = 1
    strength: Annotated[float, Field(gt=0, title="strength of the first mode")] = 1.0
    ratio: Annotated[float, Field(ge=1, title="ratio of the strengths of one mode and the next")] = 2.0
    correlation: Annotated[float, Field(ge=0, lt=1, title="correlation rho of inputs")] = 0.0

    @model_validator(mode="after")
    def _spans(self) -> "Modes":
        if self.rank > self.d:
            raise ValueError(f"rank ({self.rank}) is larger than d ({self.d}): each mode takes an input of its own")
        if self.d >= self.P:
            raise ValueError(f"P ({self.P}) must be larger than d ({self.d}): fewer examples have no such covariance")
        return self

    @property
    def input_dim(self) -> int:
        return self.d

    @property
    def n_outputs(self) -> int:
        return self.rank

    @property
    def n_train(self) -> int:
        return self.P

    @property
    def strengths(self) -> Array:
        """s_k (rank,)."""
        return np.asarray(self.strength / self.ratio ** np.arange(self.rank))

    def draw_symbols(self, rng: np.random.Generator) -> Array:
        """The strengths (rank,) float32; nothing is drawn."""
        return self.strengths.astype(np.float32)

    def train_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        """x (n, d) float32 and y (n, rank), (n,) for one mode; the mean and covariance of n > d examples are exact."""
        z = rng.standard_normal((n, self.d))
        if n > self.d:
            z = np.sqrt(n) * np.linalg.qr(z - z.mean(0))[0]
        return self._answered(z)

    def test_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        """Fresh Gaussian inputs of that covariance and their targets."""
        return self._answered(rng.standard_normal((n, self.d)))

    def _answered(self, z: Array) -> tuple[Array, Array]:
        """Correlated inputs from white ones z (n, d), and their targets."""
        # The root of the covariance is sqrt(1 - rho) on all directions but 1/sqrt(d) (1, ..., 1).
        low, high = np.sqrt(1 - self.correlation), np.sqrt(1 + (self.d - 1) * self.correlation)
        x = (low * z + (high - low) * z.mean(1, keepdims=True)).astype(np.float32)
        y = x[:, : self.rank] * self.strengths
        return x, y[:, 0] if self.rank == 1 else y
