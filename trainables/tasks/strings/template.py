"""Templates with real labels: which template made a string shows in its equalities alone [Boix23 Sec. 1.1, App. A, B]."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, model_validator

from sweepkit.strings import families
from sweepkit.strings.families import MAJORITY, MOST_TEMPLATES, Labelled
from sweepkit.strings.patterns import Token
from trainables.tasks.base import Array, Targets
from trainables.tasks.strings.base import Strings

RANDOM = "random"
OF_FAMILY: Mapping[str, Mapping[str, int | None]] = {
    MAJORITY: {"length": None},
    RANDOM: {"length": 5, "n_templates": 2, "n_wildcards": 2, "n_regular": 0},
}
"""Keys of the families that have any, with their defaults. A key whose default is None must be given."""
_ALL = ("length", "n_templates", "n_wildcards", "n_regular")


class Template(Strings):
    """Templates written by hand such as `aba/abb`, or a family: majority, random, program, distribution_of_3, match_to_sample.

    Two templates have the labels 1 and -1; others are written with theirs, as in `aab:1/aba:0/abb:-1`. Capital letters, digits
    and signs are regular tokens.
    """

    name: ClassVar[str] = "template"
    targets: ClassVar[Targets] = "real"

    length: Annotated[int | None, Field(ge=1, le=64, title="length of random templates, or of majority's tail")] = None
    n_templates: Annotated[int | None, Field(ge=1, le=MOST_TEMPLATES, title="number of random templates")] = None
    n_wildcards: Annotated[int | None, Field(ge=1, title="wildcards of random templates")] = None
    n_regular: Annotated[int | None, Field(ge=0, le=1000, title="regular tokens of random templates")] = None

    @model_validator(mode="before")
    @classmethod
    def _of_family(cls, keys: Any) -> Any:
        """The family's defaults take their place, so that equal networks are one cell."""
        own = OF_FAMILY.get(keys.get("template"), {})
        return {**keys, **{name: value for name, value in own.items() if keys.get(name) is None}}

    @model_validator(mode="after")
    def _is_made(self) -> "Template":
        own = OF_FAMILY.get(self.template, {})
        for name in _ALL:
            if (getattr(self, name) is not None) != (name in own):
                told = (
                    f"template {self.template} takes {name}"
                    if name in own
                    else f"{name} belongs to template: "
                    + " or ".join(family for family, names in OF_FAMILY.items() if name in names)
                )
                raise ValueError(told)
        if self.template == RANDOM:
            families.drawn(np.random.default_rng(0), *self._drawing)  # says that there are too few, if so
        return self

    @property
    def _drawing(self) -> tuple[int, int, int, int]:
        """length, n_templates, n_wildcards, n_regular."""
        return tuple(getattr(self, name) or 0 for name in _ALL)  # type: ignore[return-value]

    def templates(self, symbols: Array) -> Sequence[Labelled]:
        return self._fixed if self.template != RANDOM else [_decoded(row) for row in symbols.tolist()]

    def draw_symbols(self, rng: np.random.Generator) -> Array:
        """Random templates and their labels, (n_templates, length + 1); otherwise nothing, (0,)."""
        if self.template != RANDOM:
            return super().draw_symbols(rng)
        return np.array([_coded(one) for one in families.drawn(rng, *self._drawing)])

    @property
    def _fixed(self) -> tuple[Labelled, ...]:
        return _named(self.template, self.length)

    @property
    def input_dim(self) -> int:
        return self._drawing[0] if self.template == RANDOM else super().input_dim

    @property
    def regular(self) -> list[str]:
        return families.regular_tokens(self._drawing[3]) if self.template == RANDOM else super().regular

    @property
    def most_wildcards(self) -> int:
        return min(self._drawing[0], self._drawing[2]) if self.template == RANDOM else super().most_wildcards

    def _targets(self, labels: Sequence[float | Token], which: Array, drawn: Array) -> Array:
        return np.array(labels, np.float32)[which]


@cache
def _named(text: str, length: int | None) -> tuple[Labelled, ...]:
    try:
        return families.named(text, length)
    except ValueError as error:
        raise ValueError(f"template {text}: {error}{_hint(text)}") from None


def _hint(text: str) -> str:
    """Which families there are, if the text looks like the name of one."""
    return f"; families are {', '.join(sorted([*OF_FAMILY, *families.REAL]))}" if len(text) > 3 and text.islower() else ""


def _coded(one: Labelled) -> list[float]:
    """Tokens as numbers, a regular one as -1 less its place, and the label."""
    tokens = [token if isinstance(token, int) else -1 - families.place_of(token) for token in one.pattern]
    return [*map(float, tokens), float(one.label)]


def _decoded(row: list[float]) -> Labelled:
    *tokens, label = row
    names = [int(token) if token >= 0 else families.regular_tokens(int(-token))[-1] for token in tokens]
    return Labelled(tuple(names), label)
