"""The tasks a grid may name. Adding one: subclass `Task` here or in a file that the grid lists under `tasks:`."""

from trainables.tasks.base import Task, register, task_class, task_names
from trainables.tasks.same_different import SameDifferent

register(SameDifferent)

__all__ = ["SameDifferent", "Task", "register", "task_class", "task_names"]
