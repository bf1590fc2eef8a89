"""The tasks a grid may name. Adding one: subclass `Task` here or in a file that the grid lists under `tasks:`."""

from trainables.tasks.base import Task, register, task_class, task_names
from trainables.tasks.cifar100 import CIFAR100
from trainables.tasks.clusters import Clusters
from trainables.tasks.pentomino import Pentomino
from trainables.tasks.psvrt import PSVRT
from trainables.tasks.same_different import SameDifferent
from trainables.tasks.teachers import Hermite3, Linear, Parity2

for _task in (SameDifferent, PSVRT, Pentomino, CIFAR100, Hermite3, Linear, Parity2, Clusters):
    register(_task)

__all__ = [
    "CIFAR100", "PSVRT", "Clusters", "Hermite3", "Linear", "Parity2", "Pentomino", "SameDifferent", "Task",
    "register", "task_class", "task_names",
]  # fmt: skip
