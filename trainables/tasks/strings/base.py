"""Strings of templates, over an alphabet for training and others for validation and tests [Boix23 Sec. 1, App. A].

string     a template whose wildcards are replaced by different tokens of an alphabet; regular tokens stay
P          training strings, over an alphabet of `alphabet` tokens, by default P
tests      strings over `test_alphabet` other tokens, the same ones at each evaluation (and others at the last with
           `final_test_size`); validation has such strings of its own
token      a number: first the regular tokens, then the alphabets of training, tests and validation

The template of a string is drawn uniformly. The authors' vocabulary also holds a row for each name of a wildcard, which no string
has; ours does not.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, model_validator

from sweepkit.strings.families import Labelled, most_wildcards
from sweepkit.strings.patterns import Pattern, Token, regular
from trainables.tasks.base import Array, Inputs, Task


class Strings(Task):
    """Strings of labelled templates; a subclass says which labels there are and which templates a text names."""

    inputs: ClassVar[Inputs] = "tokens"
    has_fixed_tests: ClassVar[bool] = True
    validates: ClassVar[bool] = True
    defaults: ClassVar[Mapping[str, Any]] = {"network": "transformer", "training": "adam", "base_lr": 1e-3, "prefactor": "none"}
    presets: ClassVar[Mapping[str, Any]] = {
        "steps": 1000, "eval_every": 5, "test_size": 100, "batch": 1024, "per_step": "epoch",
    }  # fmt: skip
    told: ClassVar[tuple[str, ...]] = ("template",)

    template: Annotated[str, Field(title="templates")]
    P: Annotated[int, Field(ge=1)]
    alphabet: Annotated[int | None, Field(ge=1, title="training tokens, if not P")] = None
    test_alphabet: Annotated[int, Field(ge=1, title="test tokens, and as many for validation")] = 100

    @model_validator(mode="after")
    def _fits(self) -> "Strings":
        need = self.most_wildcards
        if need == 0:
            raise ValueError(f"template {self.template} has no wildcard, a lower-case letter, so that all strings would be seen")
        for name, size in (("alphabet", self.n_alphabet), ("test_alphabet", self.test_alphabet)):
            if size < need:
                word = "wildcard" if need == 1 else "wildcards"
                raise ValueError(f"template {self.template} has {need} {word}, and {name} = {size} has too few tokens for them")
        return self

    @abstractmethod
    def templates(self, symbols: Array) -> Sequence[Labelled]:
        """The templates: those of `symbols` for a family that is drawn at random."""

    @abstractmethod
    def _targets(self, labels: Sequence[float | Token], which: Array, drawn: Array) -> Array:
        """Targets (n,) of strings of the templates `which`, whose wildcards are the tokens `drawn` (n, most wildcards)."""

    @property
    def regular(self) -> list[str]:
        """The regular tokens: their numbers are their places here."""
        return regular(pattern for pattern, _ in self.templates(np.zeros(0)))

    @property
    def most_wildcards(self) -> int:
        """The greatest number of wildcards of a template."""
        return most_wildcards(self.templates(np.zeros(0)))

    @property
    def n_alphabet(self) -> int:
        """Number of training tokens."""
        return self.P if self.alphabet is None else self.alphabet

    @property
    def n_train(self) -> int:
        return self.P

    @property
    def input_dim(self) -> int:
        return len(self.templates(np.zeros(0))[0].pattern)

    @property
    def n_tokens(self) -> int:
        return len(self.regular) + self.n_alphabet + 2 * self.test_alphabet

    def draw_symbols(self, rng: np.random.Generator) -> Array:
        """Nothing is fixed but the alphabets: (0,)."""
        return np.zeros(0)

    def train_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        """Strings (n, k) int64 of training tokens, and their labels (n,)."""
        return self._strings(rng, symbols, n, len(self.regular), self.n_alphabet)

    def test_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        """Strings and labels like those of `train_examples`, of tokens that no training string has."""
        return self._strings(rng, symbols, n, len(self.regular) + self.n_alphabet, self.test_alphabet)

    def validation_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        """Strings and labels like those of `test_examples`, of tokens that neither training nor tests have."""
        first = len(self.regular) + self.n_alphabet + self.test_alphabet
        return self._strings(rng, symbols, n, first, self.test_alphabet)

    def _strings(self, rng: np.random.Generator, symbols: Array, n: int, first: int, size: int) -> tuple[Array, Array]:
        """n strings over the tokens first .. first + size - 1."""
        patterns, labels = zip(*self.templates(symbols), strict=True)
        which = rng.integers(0, len(patterns), n)
        drawn = first + different(rng, n, self.most_wildcards, size)
        return self._filled(patterns, which, drawn), self._targets(labels, which, drawn)

    def _filled(self, patterns: Sequence[Pattern], which: Array, drawn: Array) -> Array:
        """Tokens (n, k) of the patterns `which` (n,), with the tokens `drawn` (n, most wildcards) for their wildcards."""
        places = {token: -1 - number for number, token in enumerate(self.regular)}
        codes = np.array([[t if isinstance(t, int) else places[t] for t in pattern] for pattern in patterns])[which]
        return np.where(codes < 0, -1 - codes, np.take_along_axis(drawn, np.maximum(codes, 0), axis=1))


def different(rng: np.random.Generator, n: int, k: int, size: int) -> Array:
    """n rows of k different numbers below `size`, each row uniform among all: (n, k) int64."""
    if k**2 > size:  # most rows of independent numbers would hold one twice
        return rng.permuted(np.tile(np.arange(size), (n, 1)), axis=1)[:, :k]
    drawn = rng.integers(0, size, (n, k))
    while len(again := np.flatnonzero((np.diff(np.sort(drawn, axis=1), axis=1) == 0).any(axis=1))):
        drawn[again] = rng.integers(0, size, (len(again), k))
    return drawn
