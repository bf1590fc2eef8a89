"""The tasks a grid may name. A new one is a file of its own here. It is imported below, put into the list that registers it, and
into `__all__` if others import it from here. A user's own is a file that the grid lists under `tasks:`.
"""

from trainables.tasks.base import Task, register, task_class, task_names
from trainables.tasks.clusters import Clusters
from trainables.tasks.halfspace import Halfspace
from trainables.tasks.images.cifar100 import CIFAR100
from trainables.tasks.images.digits import Digits, DigitsValue, MNIST5k, MNIST5kValue
from trainables.tasks.images.pentomino import Pentomino
from trainables.tasks.images.psvrt import PSVRT
from trainables.tasks.images.published import CIFAR10, MNIST
from trainables.tasks.in_context import InContext
from trainables.tasks.modes import Modes
from trainables.tasks.modular import Modular, ModularTokens
from trainables.tasks.power_law import PowerLaw
from trainables.tasks.same_different import SameDifferent
from trainables.tasks.step import Step
from trainables.tasks.strings.symbolic import SymbolicTemplate
from trainables.tasks.strings.template import Template
from trainables.tasks.strings.text import Text
from trainables.tasks.teachers import Hermite, Hermite3, Linear, Parity2, Square, Staircase, TokenPairs

for _task in (
    SameDifferent, PSVRT, Pentomino, CIFAR100, Hermite, Hermite3, Linear, Parity2, Clusters, Digits, MNIST5k, DigitsValue,
    MNIST5kValue, Modular, Step, MNIST, CIFAR10, Template, SymbolicTemplate, Halfspace, ModularTokens, Text, Modes, PowerLaw,
    Square, Staircase, TokenPairs, InContext,
):  # fmt: skip
    register(_task)

__all__ = [
    "CIFAR10", "CIFAR100", "MNIST", "PSVRT", "Clusters", "Digits", "DigitsValue", "Halfspace", "Hermite", "Hermite3", "InContext",
    "Linear", "MNIST5k", "MNIST5kValue", "Modes", "Modular", "ModularTokens", "Parity2", "Pentomino", "PowerLaw",
    "SameDifferent", "Square", "Staircase", "Step", "SymbolicTemplate", "Task", "Template", "Text", "TokenPairs", "register",
    "task_class", "task_names",
]  # fmt: skip
