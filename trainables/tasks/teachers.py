"""Teachers: targets that depend on few directions of the input [Rubin25 Sec. 6, App. E].

x    input ~ N(0, I_d), for pairs of tokens Lc of them, for parity uniform in {-1, 1}^d
w*   direction of the target, a unit vector drawn for each seed, d and P; parity has two directions
P    number of training examples; sets of different P are independent, because a threshold in P needs independent means. Without
     it each step sees fresh examples; networks at equilibrium must have it
y    target, <y, y> = 1 over the inputs (of `square`: 3/4)
"""

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, model_validator

from trainables.tasks.base import Array, Targets, Task


class Teacher(Task):
    """A task whose targets depend on the directions of `draw_symbols`, (d,) or (K, d)."""

    targets: ClassVar[Targets] = "real"
    # There is no default network: a grid must name one.
    defaults: ClassVar[Mapping[str, Any]] = {"training": "langevin", "network": None, "base_lr": 0.1, "prefactor": "none"}

    d: Annotated[int, Field(ge=2)]
    P: Annotated[int | None, Field(ge=0)] = None

    @property
    def input_dim(self) -> int:
        return self.d

    @property
    def n_train(self) -> int | None:
        return self.P


class OneDirection(Teacher):
    """A target y that depends on c = w*.x alone, x ~ N(0, I_d). Targets are real numbers, so cross entropy cannot train on it."""

    @abstractmethod
    def target(self, c: Array) -> Array:
        """y (n,) for c = w*.x (n,)."""

    def draw_symbols(self, rng: np.random.Generator) -> Array:
        """w* (d,) float32, |w*| = 1."""
        w = rng.standard_normal(self.d)
        return (w / np.linalg.norm(w)).astype(np.float32)

    def train_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        """x (n, d) float32 and y (n,) float64."""
        from trainables.kernels.draws import standard_normal  # here, so that reading a grid does not wait for numba

        x = standard_normal(rng, (n, self.d))
        return x, self.target(x.astype(np.float64) @ symbols.astype(np.float64))

    def test_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        return self.train_examples(rng, symbols, n)


class Hermite3(OneDirection):
    """y = He_3(w*.x)/sqrt(6), He_3(c) = c^3 - 3c."""

    name: ClassVar[str] = "he3"

    def target(self, c: Array) -> Array:
        return (c**3 - 3 * c) / np.sqrt(6)


class Hermite(OneDirection):
    """y = He_k(w*.x)/sqrt(k!), of information exponent k: gradients at random weights see nothing of lower order.

    ReLU neurons without biases have no part of odd degree k >= 3: take `activation: erf`, or `bias: true`. [BenArous21]
    """

    name: ClassVar[str] = "hermite"
    defaults: ClassVar[Mapping[str, Any]] = {"training": "sgd", "network": "mlp", "base_lr": 0.01, "prefactor": "none"}

    degree: Annotated[int, Field(ge=1, le=8, title="degree k of the Hermite polynomial")]

    def target(self, c: Array) -> Array:
        return np.polynomial.hermite_e.hermeval(c, [0] * self.degree + [1 / math.sqrt(math.factorial(self.degree))])


class Square(OneDirection):
    """y = (w*.x)^2/2: its linear part and its mean can be learnt by heart before its direction is found. [Kumar23]"""

    name: ClassVar[str] = "square"
    defaults: ClassVar[Mapping[str, Any]] = {"training": "gd", "network": "committee", "base_lr": 0.1, "prefactor": "none"}

    def target(self, c: Array) -> Array:
        return c**2 / 2


class Linear(OneDirection):
    """y = w*.x. With `patch` it is a CNN's target: w* = (b_1 e, ..., b_S e), one direction e in all S patches of the input."""

    name: ClassVar[str] = "linear"

    patch: Annotated[int | None, Field(ge=2)] = None

    @model_validator(mode="after")
    def _whole_patches(self) -> "Linear":
        if self.patch is not None and self.d % self.patch:
            raise ValueError(f"d ({self.d}) is not a multiple of patch ({self.patch})")
        return self

    def draw_symbols(self, rng: np.random.Generator) -> Array:
        if self.patch is None:
            return super().draw_symbols(rng)
        w = np.outer(rng.standard_normal(self.d // self.patch), rng.standard_normal(self.patch)).ravel()
        return (w / np.linalg.norm(w)).astype(np.float32)

    @property
    def patch_length(self) -> int | None:
        return self.patch

    def target(self, c: Array) -> Array:
        return c


class TokenPairs(OneDirection):
    """y = sum over pairs a != b of c_a (c_b^2 - 1), of <y, y> = 1, with c_a = w*.x_a of Lc tokens x_a ~ N(0, I_d), one after the
    other [Rubin25 Sec. 6.2, App. E.3, restored].

    Attention sees nothing of it in zeroth order of its scores: that is linear in the tokens.
    """

    name: ClassVar[str] = "token_pairs"

    context: Annotated[int, Field(ge=2, title="tokens of a string")]
    """Lc."""

    @property
    def input_dim(self) -> int:
        return self.context * self.d

    @property
    def patch_length(self) -> int:
        """d: a token is a patch of the input."""
        return self.d

    def train_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        """x (n, Lc d) float32 and y (n,) float64."""
        from trainables.kernels.draws import standard_normal

        x = standard_normal(rng, (n, self.input_dim))
        return x, self.target(x.astype(np.float64).reshape(n, self.context, self.d) @ symbols.astype(np.float64))

    def target(self, c: Array) -> Array:
        """y (n,) for c (n, Lc)."""
        squares = c**2 - 1
        pairs = c.sum(axis=-1) * squares.sum(axis=-1) - (c * squares).sum(axis=-1)
        return pairs / np.sqrt(2 * self.context * (self.context - 1))


class Parity2(Teacher):
    """y = x_1 x_2 of bits x_1 .. x_d, the others distractors [Rubin25 App. E.2].

    The choice of the two bits does not matter, because inputs and prior treat all coordinates alike. A ReLU neuron along +-e_1
    +-e_2 is active on only one of the four values of (x_1, x_2): four such neurons, or two and a constant, give the target.
    """

    name: ClassVar[str] = "parity2"
    targets: ClassVar[Targets] = "binary"
    also_hashed: ClassVar[tuple[str, ...]] = ("loss",)

    def draw_symbols(self, rng: np.random.Generator) -> Array:
        """(e_1 + e_2)/sqrt(2) and (e_1 - e_2)/sqrt(2), (2, d) float32; nothing is drawn."""
        directions = np.zeros((2, self.d), np.float32)
        directions[:, :2] = np.array([[1, 1], [1, -1]]) / np.sqrt(2)
        return directions

    def train_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        """x (n, d) float32 and labels (n,): whether y is +1."""
        x = 2 * rng.integers(0, 2, (n, self.d)).astype(np.float32) - 1
        return x, x[:, 0] * x[:, 1] > 0

    def test_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        return self.train_examples(rng, symbols, n)


class Staircase(Teacher):
    """y = (z_leap + ... + z_degree)/sqrt(n), z_j = x_1 x_2 ... x_j of bits x_1 .. x_d, n terms of one sign and size [Abbe23].

    Once x_1 ... x_j is learnt one bit is left to find for the next term, so that the first term is the largest leap: `leap: 1`
    is the staircase x_1 + x_1 x_2 + ..., `leap` = `degree` the parity of `degree` bits. ReLU, erf and tanh neurons have
    components of all degrees with `bias: true` and a `bias_scale` above 0.
    """

    name: ClassVar[str] = "staircase"
    defaults: ClassVar[Mapping[str, Any]] = {"training": "sgd", "network": "mlp", "base_lr": 0.01, "prefactor": "none"}

    degree: Annotated[int, Field(ge=1, le=8, title="bits of the longest product")]
    leap: Annotated[int, Field(ge=1, le=8, title="bits of the shortest product")] = 1

    @model_validator(mode="after")
    def _within(self) -> "Staircase":
        if not self.leap <= self.degree <= self.d:
            raise ValueError(f"leap ({self.leap}) is above degree ({self.degree}), or that above d ({self.d})")
        return self

    def draw_symbols(self, rng: np.random.Generator) -> Array:
        """The directions of the bits that count, (degree, d) float32; nothing is drawn, as inputs treat all alike."""
        return np.eye(self.degree, self.d, dtype=np.float32)

    def train_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        """x (n, d) float32 and y (n,) float64."""
        x = 2 * rng.integers(0, 2, (n, self.d), dtype=np.int8).astype(np.float32) - 1
        terms = np.cumprod(x[:, : self.degree], axis=1, dtype=np.float64)[:, self.leap - 1 :]
        return x, terms.sum(1) / np.sqrt(terms.shape[1])

    def test_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        return self.train_examples(rng, symbols, n)
