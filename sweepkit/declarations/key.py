"""A key: a property of a network that a grid may set."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from sweepkit.declarations.column import Column

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
