"""A metric: what is measured of a network."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import ClassVar, Literal

from declarations.column import Column

Condition = tuple[tuple[str, tuple[str, ...]], ...]
"""(trait, legal values) pairs, all of which must hold; a trait is `training`, `network`, `loss`, `targets` or `sampled`."""


@dataclass(frozen=True)
class Metric(Column):
    """A metric's name, title, unit, bounds and direction, what it is measured of, and which networks have it."""

    role_of_column: ClassVar[str] = "metric"

    unit: str = ""
    low: float = -inf
    """Least possible value; intervals end there."""
    high: float = inf
    better: Literal["higher", "lower", ""] = ""
    """Which way networks that have learnt more go, so that a level of it makes a threshold; empty where neither."""
    logarithmic: bool = False
    """Whether a logarithmic axis suits it."""
    per: Literal["network", "evaluation", "neuron", "bin"] = "network"
    of: tuple[Condition, ...] = ()
    """Networks that have it: those for which one of these conditions holds; all where there are none."""
    expression: str = ""
    """SQL over the columns of `cells` where it is no column of its own."""
    column: str = ""
    """Column of the files that holds its list of values, where it has one for each evaluation, neuron or bin."""
    digest: str = ""
    """Of the file of a user's own metric."""
    diagnostic: bool = False
    """Whether it says how the numbers were made, not what the network does: no threshold of it is searched for."""
    on_request: bool = False
    """Whether a grid asks for it by `save:`."""
    is_accuracy: bool = False
    """Whether it is a share of right answers, of which chance has some and 1 is perfect."""

    @property
    def sql(self) -> str:
        """Its value in a query of `cells`."""
        return self.expression or (f'"{self.name}"' if self.on_request else self.name)

    @property
    def rises(self) -> bool | None:
        """Whether networks that have learnt more have more of it; None where a level of it makes no threshold."""
        return {"higher": True, "lower": False}.get(self.better)

    @property
    def falls(self) -> bool:
        """Whether networks that have learnt more have less of it, as of an error."""
        return self.better == "lower"

    @property
    def short(self) -> str:
        """In the middle of a sentence, before its value: `accuracy`, `alignment_f`."""
        return "accuracy" if self.is_accuracy else self.name

    @property
    def request(self) -> str:
        """What a row that was asked for it says it holds: its name, and the digest of a user's own file."""
        return f"{self.name}@{self.digest}" if self.digest else self.name

    def had_by(self, traits: Mapping[str, str | None]) -> bool:
        """Whether networks with these traits have it; a trait that is not told, or is None, may have any value."""

        def holds(condition: Condition) -> bool:
            return all(traits.get(trait) is None or traits[trait] in legal for trait, legal in condition)

        return not self.of or any(map(holds, self.of))
