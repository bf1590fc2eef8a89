"""A key: what a grid may set of a network."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from declarations.column import Column

Role = Literal["task", "network", "training", "seed"]
"""The part of a cell that a key belongs to."""


@dataclass(frozen=True)
class Key(Column):
    """A key's name, kind, title and role. Legal values stand with the field of the part that has the key."""

    role_of_column: ClassVar[str] = "key"

    part: Role = "task"
    in_streams: bool = False
    """Whether it enters the random streams: networks of one seed that differ in it share no draws."""
    searched: bool = True
    """Whether a threshold search may go along it: it is a number, a property of the network, and every value is legal."""
    derived: bool = False
    """Whether it follows from other keys, so that no grid sets it: a column alone."""
    titles: tuple[tuple[str, str], ...] = ()
    """(task, title) where all that is shown is of one task."""
    default: Any = None
    """The value that a row without one has, if its part is one of `of`; None: it has none."""
    of: tuple[str, ...] = ()
    """Names of the parts that have this key with this default."""

    def title_for(self, task: str | None) -> str:
        """What axes and legends call it; `task`: the one that all that is shown is of."""
        return dict(self.titles).get(task or "", self.title)
