"""The common base of keys, metrics and facts: each is a column of the results, and its declaration travels with the column."""

import json
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, ClassVar, Literal, Self

Kind = Literal["text", "whole", "number", "single", "truth", "time"]
"""The kind of a value; `whole` and `number` have 64 bits, `single` has 32, `time` is in UTC."""


@dataclass(frozen=True)
class Column:
    """A declared column of the results: its name, its title, and the kind of its values."""

    role_of_column: ClassVar[str]

    name: str
    title: str
    kind: Kind = "number"

    def described(self) -> str:
        """The declaration as text, for a column's metadata: its role, and all fields but the name and those at their defaults."""
        differs = {f.name: value for f in fields(self) if (value := getattr(self, f.name)) != f.default or f.default is MISSING}
        told = {name: value for name, value in differs.items() if name != "name"}
        return json.dumps({"role": self.role_of_column, **told}, allow_nan=True)

    @classmethod
    def read(cls, name: str, told: Mapping[str, Any]) -> Self:
        """The declaration that `described` wrote. Fields that only a newer version knows are left out."""
        known = {f.name for f in fields(cls)} - {"name"}
        return cls(name=name, **{key: _frozen(value) for key, value in told.items() if key in known})


def _frozen(value: Any) -> Any:
    """Lists turned back into the tuples that they were before JSON."""
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
