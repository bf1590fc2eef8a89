"""Exponents of L* in d [Tong25]: the lazy error falls as exp(-L/d^2) or faster; the rich accuracy has no d in it."""

from analysis.scaling.predictions import Prediction

from .theory.of_lazy import LAZY
from .theory.of_same_different import RICH

PREDICTIONS = (
    (LAZY, Prediction("L", "d", 2.0, "Theorem 2", is_bound=True)),
    (RICH, Prediction("L", "d", 0.0, "Eq. 3")),
)
