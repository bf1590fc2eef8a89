"""The trainings that a grid may name. Adding one: a file of its own here, and its class in the line below. A user's own is a
file that the grid lists under `trainings:`."""

from trainables.training.adam import Adam
from trainables.training.adamw import AdamW
from trainables.training.base import Training, all_trainings, register, training_class, training_names
from trainables.training.descent import Descent, Minibatch
from trainables.training.gd import GD
from trainables.training.langevin import Langevin
from trainables.training.ridge import Ridge
from trainables.training.sgd import SGD
from trainables.training.signsgd import SignSGD

for _training in (SGD, GD, Adam, AdamW, SignSGD, Langevin, Ridge):
    register(_training)

__all__ = [
    "SGD", "Descent", "Langevin", "Minibatch", "Ridge", "Training", "all_trainings", "register", "training_class",
    "training_names",
]  # fmt: skip
