"""Keys, metrics and facts: each is a column of the results, and its declaration travels with the column."""

import json
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from math import inf
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


@dataclass(frozen=True)
class Fact(Column):
    """A fact's name, title and kind."""

    role_of_column: ClassVar[str] = "fact"


FACTS = {
    fact.name: fact
    for fact in (
        Fact("status", "how training ended: ok, diverged or failed", "text"),
        Fact("reason", "why a network diverged or failed", "text"),
        Fact("engine", "engine that trained it", "text"),
        Fact("device", "device that trained it", "text"),
        Fact("pack_id", "pack that it was trained in", "text"),
        Fact("finished_at", "when its pack was committed", "time"),
        Fact("git_sha", "commit of the code", "text"),
        Fact("science_version", "version of what computed its numbers", "text"),
        Fact("host", "machine that trained it", "text"),
        Fact("log_path", "file with the traceback", "text"),
        Fact("weights_file", "file with its hidden weights", "text"),
    )
}
"""The facts by name."""

IMPORTED = "imported"
"""The engine, and the version of the mathematics, of networks that were not trained here."""


Role = Literal["task", "network", "training", "seed"]
"""The part of a cell that a key belongs to."""


@dataclass(frozen=True)
class Key(Column):
    """A key's name, kind, title and role. Its legal values are declared where it is a field: in a task, network or training."""

    role_of_column: ClassVar[str] = "key"

    part: Role = "task"
    in_streams: bool = False
    """True if it enters the random streams: networks of one seed that differ in it share no draws. The width does not enter if
    the task has a fixed training set."""
    searched: bool = True
    """Whether a threshold search may vary it: it is a number and a property of the network, and every value is legal."""
    derived: bool = False
    """Whether it follows from other keys, so that no grid sets it and it is only a column."""
    titles: tuple[tuple[str, str], ...] = ()
    """(task, title) pairs: the title to use where everything shown is of that task."""
    default: Any = None
    """The value for rows that have none, if their part is one of `of`; None if there is no default."""
    of: tuple[str, ...] = ()
    """The names of the tasks, networks or trainings that have this key with this default."""

    def title_for(self, task: str | None) -> str:
        """The key's title for axes and legends. `task`: the task of everything shown, None if there are several."""
        return dict(self.titles).get(task or "", self.title)


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
