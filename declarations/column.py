"""What keys, metrics and facts have in common: each is a column of the results, and its declaration travels with the column."""

import json
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, ClassVar, Literal, Self

Kind = Literal["text", "whole", "number", "single", "truth", "time"]
"""What a value is; `whole` and `number` have 64 bits, `single` has 32, `time` is in UTC."""


@dataclass(frozen=True)
class Column:
    """A declared name. ValueError where a text that should describe one does not."""

    role_of_column: ClassVar[str]

    name: str
    title: str
    kind: Kind = "number"

    def described(self) -> str:
        """The declaration as text, for the metadata of a column: what differs from the defaults, without the name."""
        differs = {f.name: value for f in fields(self) if (value := getattr(self, f.name)) != f.default or f.default is MISSING}
        told = {name: value for name, value in differs.items() if name != "name"}
        return json.dumps({"role": self.role_of_column, **told}, allow_nan=True)

    @classmethod
    def read(cls, name: str, told: Mapping[str, Any]) -> Self:
        """The declaration that `described` wrote; what a newer version wrote beside is left out."""
        known = {f.name for f in fields(cls)} - {"name"}
        return cls(name=name, **{key: _frozen(value) for key, value in told.items() if key in known})


def _frozen(value: Any) -> Any:
    """Lists as the tuples that they were."""
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
