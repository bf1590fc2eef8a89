"""Which kind of cell a task has: trained by SGD, or sampled at equilibrium."""

from trainables.cell import AnyCell, Cell
from trainables.equilibrium.cell import EquilibriumCell
from trainables.tasks import Task
from trainables.tasks.teachers import Teacher

KINDS: tuple[type[AnyCell], ...] = (Cell, EquilibriumCell)


def kind_of(task: type[Task]) -> type[AnyCell]:
    """The class of this task's cells."""
    return EquilibriumCell if issubclass(task, Teacher) else Cell
