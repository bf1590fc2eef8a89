"""Activations and their derivatives, functions of preactivations of any shape."""

from collections.abc import Callable
from math import pi, sqrt
from typing import NamedTuple

import torch
from torch import Tensor


class Activation(NamedTuple):
    """A function and its derivative."""

    of: Callable[[Tensor], Tensor]
    slope: Callable[[Tensor], Tensor]


ERF = Activation(torch.erf, lambda h: torch.exp(-h * h) * (2 / sqrt(pi)))
RELU = Activation(torch.relu, lambda h: (h > 0).to(h.dtype))
LINEAR = Activation(lambda h: h, torch.ones_like)
