"""Templates with symbolic labels: the answer is one of the string's own symbols [Boix23 Sec. 1.1, 5]."""

from collections.abc import Sequence
from functools import cache
from typing import ClassVar

from sweepkit.strings import families
from sweepkit.strings.families import Labelled
from sweepkit.strings.patterns import Token
from trainables.tasks.base import Array, Targets
from trainables.tasks.strings.base import Strings


class SymbolicTemplate(Strings):
    """Templates written by hand with a letter each, `aXb:a/aYb:b`, or a family: copy, program, raven. Classes are all tokens."""

    name: ClassVar[str] = "symbolic_template"
    targets: ClassVar[Targets] = "classes"
    labels_are_tokens: ClassVar[bool] = True

    @property
    def n_outputs(self) -> int:
        return self.n_tokens

    def templates(self, symbols: Array) -> Sequence[Labelled]:
        return families.SYMBOLIC[self.template]() if self.template in families.SYMBOLIC else _written(self.template)

    def _targets(self, labels: Sequence[float | Token], which: Array, drawn: Array) -> Array:
        tokens = [(label if isinstance(label, int) else str(label),) for label in labels]
        return self._filled(tokens, which, drawn)[:, 0]


@cache
def _written(text: str) -> tuple[Labelled, ...]:
    try:
        return families.written(text, symbolic=True)
    except ValueError as error:
        named = f"; families are {', '.join(sorted(families.SYMBOLIC))}" if ":" not in text else ""
        raise ValueError(f"template {text}: {error}{named}") from None
