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
        templates = self.templates
        if len(templates) != 2:
            raise ValueError(f"template {self.template}: must name two templates, such as aba/abb")
        if len({len(one) for one in templates}) > 1 or not templates[0]:
            raise ValueError(f"template {self.template}: templates must have one length, and these have {_lengths(templates)}")
        patterns = [_pattern(one) for one in templates]
        if patterns[0] == patterns[1]:
            raise ValueError(f"template {self.template}: both are one template, with its wildcards renamed")
        need = max(len(_wildcards(one)) for one in templates)
        for name, size in (("alphabet", self.n_alphabet), ("test_alphabet", self.test_alphabet)):
            if size < need:
                raise ValueError(
                    f"template {self.template} has {need} wildcards, and {name} = {size} has too few tokens for them"
                )
        return self

    @property
    def templates(self) -> list[str]:
        """The templates, one per label."""
        return self.template.split("/")

    @property
    def regular(self) -> list[str]:
        """The regular tokens: their numbers are their places here."""
        return sorted({token for one in self.templates for token in one if not _is_wildcard(token)})

    @property
    def n_alphabet(self) -> int:
        """Number of training tokens."""
        return self.P if self.alphabet is None else self.alphabet

    @property
    def n_train(self) -> int:
        return self.P

    @property
    def input_dim(self) -> int:
        return len(self.templates[0])

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
        which = rng.integers(0, len(self.templates), n)
        drawn = first + different(rng, n, max(len(_wildcards(one)) for one in self.templates), size)
        strings = np.empty((n, self.input_dim), np.int64)
        for number, one in enumerate(self.templates):
            rows, wildcards = which == number, _wildcards(one)
            for place, token in enumerate(one):
                at = drawn[rows, wildcards.index(token)] if _is_wildcard(token) else self.regular.index(token)
                strings[rows, place] = at
        return strings, np.where(which == 0, np.float32(1), np.float32(-1))


def different(rng: np.random.Generator, n: int, k: int, size: int) -> Array:
    """n rows of k different numbers below `size`, each row uniform among all: (n, k) int64."""
    drawn = rng.integers(0, size, (n, k))
    while len(again := np.flatnonzero((np.diff(np.sort(drawn, axis=1), axis=1) == 0).any(axis=1))):
        drawn[again] = rng.integers(0, size, (len(again), k))
    return drawn


def _is_wildcard(token: str) -> bool:
    return token.islower()


def _wildcards(template: str) -> list[str]:
    """The wildcards of a template, in the order in which they appear."""
    return list(dict.fromkeys(token for token in template if _is_wildcard(token)))


def _pattern(template: str) -> list[str | int]:
    """The template with its wildcards numbered as they appear: equal for templates that are one [Boix23 Def. 1]."""
    wildcards = _wildcards(template)
    return [wildcards.index(token) if _is_wildcard(token) else token for token in template]


def _lengths(templates: list[str]) -> str:
    return ", ".join(f"{one} {len(one)}" for one in templates)
