"""The keys that a row may leave out, and what such a row means: the first stores did not name them."""

from typing import Literal, get_args

LEFT_OUT = ("network", "prefactor", "initial", "loss")
"""Keys that a row holds only if they differ from the default of its task; a network other than the first is always named."""
Loss = Literal["cross_entropy", "mse"]
LOSSES: tuple[Loss, ...] = get_args(Loss)
"""The losses. Rows of a task whose default is one of them name only the other."""
FIRST_NETWORK, FIRST_TRAINING, FIRST_SAMPLER = "relu2", "sgd", "langevin"
"""The network and the training of rows that name none. Rows of older versions that have a ridge kappa were sampled."""
