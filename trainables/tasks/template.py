"""Template tasks: which relation holds between the symbols of a string, for symbols never seen? [Boix23 Sec. 1, 4]

template   strings over wildcards (lower-case letters) and regular tokens (all else), `aba/abb`: all of one length, one per label
string     a template whose wildcards are replaced by different tokens of an alphabet; regular tokens stay
P          training strings, over an alphabet of `alphabet` tokens, by default P
tests      strings over `test_alphabet` other tokens

The template of a string is drawn uniformly. Two templates with their wildcards renamed into each other would be one.
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, model_validator

from templates.patterns import Pattern, parsed, regular, wildcards
from trainables.tasks.base import Array, Inputs, Targets, Task


class Template(Task):
    """Two templates with the labels +1 and -1: the network is to say which of them made a string."""

    name: ClassVar[str] = "template"
    inputs: ClassVar[Inputs] = "tokens"
    targets: ClassVar[Targets] = "real"
    defaults: ClassVar[Mapping[str, Any]] = {"network": "transformer", "training": "adam", "base_lr": 1e-3, "prefactor": "none"}
    told: ClassVar[tuple[str, ...]] = ("template",)

    template: Annotated[str, Field(title="templates")]
    P: Annotated[int, Field(ge=1)]
    alphabet: Annotated[int | None, Field(ge=1, title="training tokens, if not P")] = None
    test_alphabet: Annotated[int, Field(ge=1, title="test tokens")] = 100

    @model_validator(mode="after")
    def _distinct(self) -> "Template":
        templates, patterns = self.template.split("/"), self.patterns
        if len(templates) != 2:
            raise ValueError(f"template {self.template}: must name two templates, such as aba/abb")
        if len({len(one) for one in templates}) > 1 or not templates[0]:
            raise ValueError(f"template {self.template}: templates must have one length, and these have {_lengths(templates)}")
        if patterns[0] == patterns[1]:
            raise ValueError(f"template {self.template}: both are one template, with its wildcards renamed")
        need = self._n_wildcards
        for name, size in (("alphabet", self.n_alphabet), ("test_alphabet", self.test_alphabet)):
            if size < need:
                raise ValueError(
                    f"template {self.template} has {need} wildcards, and {name} = {size} has too few tokens for them"
                )
        return self

    @property
    def patterns(self) -> list[Pattern]:
        """The templates, one per label."""
        return [parsed(one) for one in self.template.split("/")]

    @property
    def regular(self) -> list[str]:
        """The regular tokens: their numbers are their places here."""
        return regular(self.patterns)

    @property
    def _n_wildcards(self) -> int:
        return max(len(wildcards(pattern)) for pattern in self.patterns)

    @property
    def n_alphabet(self) -> int:
        """Number of training tokens."""
        return self.P if self.alphabet is None else self.alphabet

    @property
    def n_train(self) -> int:
        return self.P

    @property
    def input_dim(self) -> int:
        return len(self.patterns[0])

    @property
    def n_tokens(self) -> int:
        return len(self.regular) + self.n_alphabet + self.test_alphabet

    def draw_symbols(self, rng: np.random.Generator) -> Array:
        """Nothing is fixed but the alphabets: (0,)."""
        return np.zeros(0)

    def train_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        """Strings (n, k) int64 of training tokens, and labels (n,) float32, +1 of the first template and -1 of the second."""
        return self._strings(rng, n, len(self.regular), self.n_alphabet)

    def test_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        """Strings and labels like those of `train_examples`, of tokens that no training string has."""
        return self._strings(rng, n, len(self.regular) + self.n_alphabet, self.test_alphabet)

    def _strings(self, rng: np.random.Generator, n: int, first: int, size: int) -> tuple[Array, Array]:
        """n strings over the tokens first .. first + size - 1."""
        patterns, numbers = self.patterns, {token: number for number, token in enumerate(self.regular)}
        which = rng.integers(0, len(patterns), n)
        drawn = first + different(rng, n, self._n_wildcards, size)
        strings = np.empty((n, self.input_dim), np.int64)
        for number, pattern in enumerate(patterns):
            rows = which == number
            for place, token in enumerate(pattern):
                strings[rows, place] = drawn[rows, token] if isinstance(token, int) else numbers[token]
        return strings, np.where(which == 0, np.float32(1), np.float32(-1))


def different(rng: np.random.Generator, n: int, k: int, size: int) -> Array:
    """n rows of k different numbers below `size`, each row uniform among all: (n, k) int64."""
    drawn = rng.integers(0, size, (n, k))
    while len(again := np.flatnonzero((np.diff(np.sort(drawn, axis=1), axis=1) == 0).any(axis=1))):
        drawn[again] = rng.integers(0, size, (len(again), k))
    return drawn


def _lengths(templates: list[str]) -> str:
    return ", ".join(f"{one} {len(one)}" for one in templates)
