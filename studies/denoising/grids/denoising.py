"""Task `denoising`: Gaussian components of given variances, to be told from a noisy copy; the law in docs/science/laws.md.

x_k     N(0, lambda_k), k = 1 .. rank: the targets. lambda_1 is `strength`, and the next ones are smaller by `ratio` each
z_k     x_k + sigma eps_k, k = 1 .. d: the inputs, sigma^2 the `noise`. Inputs beyond `rank` are noise alone
w_k     lambda_k/(lambda_k + sigma^2): the best weight from z_k to x_k, and the strength of mode k of task `modes`, so that
        metrics of modes tell the share of it that is learnt
P       examples of a fixed training set, whose means are 0 and whose covariances of x and eps are exact: training then sees the
        population. With 0 each step sees fresh examples
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, model_validator

from trainables.tasks import Modes

Array = np.ndarray[Any, Any]


class Denoising(Modes):
    """The Gaussian components of a signal from a noisy copy of them."""

    name: ClassVar[str] = "denoising"
    defaults: ClassVar[Mapping[str, Any]] = {"network": "linear1", "training": "gd", "base_lr": 0.001, "prefactor": "none"}

    P: Annotated[int, Field(ge=0)] = 0
    strength: Annotated[float, Field(gt=0, title="variance of the first component")] = 1.0
    ratio: Annotated[float, Field(ge=1, title="ratio of the variances of one component and the next")] = 2.0
    noise: Annotated[float, Field(ge=0, title="variance of the noise")] = 1.0
    correlation: ClassVar[float] = 0.0  # type: ignore[misc]  # no key: components are independent

    @model_validator(mode="after")
    def _spans(self) -> "Denoising":
        if self.rank > self.d:
            raise ValueError(f"rank ({self.rank}) is larger than d ({self.d}): each component has an input of its own")
        if 0 < self.P <= 2 * self.d:
            raise ValueError(f"P ({self.P}) must be larger than 2 d ({2 * self.d}): fewer examples have no such covariance")
        return self

    @property
    def n_train(self) -> int | None:  # type: ignore[override]
        return self.P or None

    @property
    def variances(self) -> Array:
        """lambda_k (rank,)."""
        return np.asarray(self.strength / self.ratio ** np.arange(self.rank))

    @property
    def strengths(self) -> Array:
        """w_k (rank,)."""
        return np.asarray(self.variances / (self.variances + self.noise))

    def train_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        """z (n, d) float32 and x (n, rank), (n,) for one component."""
        white = rng.standard_normal((n, 2 * self.d))
        if self.P and n > 2 * self.d:
            white = np.sqrt(n) * np.linalg.qr(white - white.mean(0))[0]
        return self._answered(white)

    def test_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        """Fresh examples, whose covariance is that of n draws."""
        return self._answered(rng.standard_normal((n, 2 * self.d)))

    def _answered(self, white: Array) -> tuple[Array, Array]:
        """Inputs and targets from white numbers (n, 2 d), signal first."""
        x = white[:, : self.rank] * np.sqrt(self.variances)
        z = np.sqrt(self.noise) * white[:, self.d :]
        z[:, : self.rank] += x
        return z.astype(np.float32), x[:, 0] if self.rank == 1 else x
