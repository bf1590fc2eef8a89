"""A metric: a quantity that is measured of a network."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import ClassVar, Literal

from sweepkit.declarations.column import Column

Condition = tuple[tuple[str, tuple[str, ...]], ...]
"""(trait, legal values) pairs, all of which must hold; a trait is `training`, `network`, `loss`, `targets`, `outputs` (one or
several), `sampled`, `features`, `neurons` (whether a grid may save them), `validated` (whether evaluations have validation
examples), or `answers` (one or several an example)."""


@dataclass(frozen=True)
class Metric(Column):
    """A metric's name, title, unit, bounds and direction, whether it is one number or a list, and the networks that have it."""

    role_of_column: ClassVar[str] = "metric"

    unit: str = ""
    low: float = -inf
    """Least possible value; intervals end there."""
    high: float = inf
    better: Literal["higher", "lower", ""] = ""
    """Whether networks that have learnt more have higher or lower values, so that a level makes a threshold; empty if neither."""
    logarithmic: bool = False
    """Whether a logarithmic axis suits it."""
    per: Literal["network", "evaluation", "neuron", "bin", "eigenfunction", "example"] = "network"
    of: tuple[Condition, ...] = ()
    """Conditions, one of which must hold for a network to have it; all networks have it if there are none."""
    expression: str = ""
    """SQL over the columns of `cells`, for a metric without a column of its own."""
    column: str = ""
    """The files' column that holds its list of values, if it is not per network; empty for `per:name`."""
    digest: str = ""
    """The digest of the file that declares a user's own metric; empty for all others."""
    diagnostic: bool = False
    """Whether it says how the numbers were made, not what the network does. No threshold of it is searched for."""
    on_request: bool = False
    """Whether it is measured only if a grid asks for it by `save:`."""
    is_accuracy: bool = False
    """Whether it is a share of right answers: chance gives some, and 1 is perfect."""

    @property
    def sql(self) -> str:
        """SQL for its value in a query of `cells`."""
        return self.expression or (f'"{self.name}"' if self.on_request else self.name)

    @property
    def falls(self) -> bool:
        """Whether networks that have learnt more have less of it, as with an error."""
        return self.better == "lower"

    @property
    def short(self) -> str:
        """Its name for the middle of a sentence, before its value: `accuracy`, `alignment_f`."""
        return "accuracy" if self.is_accuracy else self.name

    @property
    def request(self) -> str:
        """The text by which a row says that it holds the metric: its name, and the digest of a user's own file."""
        return f"{self.name}@{self.digest}" if self.digest else self.name

    def had_by(self, traits: Mapping[str, str | None]) -> bool:
        """Whether networks with these traits have it. A trait that is missing or None may have any value."""

        def holds(condition: Condition) -> bool:
            return all(traits.get(trait) is None or traits[trait] in legal for trait, legal in condition)

        return not self.of or any(map(holds, self.of))
