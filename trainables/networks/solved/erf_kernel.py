"""The lazy two-layer erf network at infinite width, by its kernel: only its readout is trained [Williams97].

f(x) = sum_i a_i erf(w_i . x), w_i ~ N(0, I/d), a_i ~ N(0, 1/width) without examples; d inputs
K(x, x') = E erf(w . x) erf(w . x') = (2/pi) arcsin(2 x.x'/sqrt((d + 2 |x|^2)(d + 2 |x'|^2)))
So it is network `erf2` in standard scaling, kappa = `ridge`, whose hidden neurons keep what they were drawn with.
"""

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from trainables.networks.base import Array
from trainables.networks.solved.kernels import LastLayer

if TYPE_CHECKING:
    from trainables.spec import CellSpec

ARCSINE = 20.0
"""Cost of an arcsine, in products."""


class ErfKernel(LastLayer):
    """The wide lazy erf network of two layers, by its kernel; it draws no weights."""

    name: ClassVar[str] = "erf_kernel"
    takes: ClassVar[tuple[str, ...]] = ("vector",)

    width: ClassVar[int] = 1  # type: ignore[misc]  # no key: it is infinite, and costs nothing

    def grams(self, x: Array, others: Array, cell: "CellSpec", rng: np.random.Generator) -> tuple[Array, Array]:
        ours, theirs = (_shrunk(inputs) for inputs in (x, others))
        return _arcsine(ours @ ours.T), _arcsine(theirs @ ours.T)

    def of_entry(self, cell: "CellSpec") -> float:
        return cell.task.input_dim + ARCSINE

    def held(self, cell: "CellSpec") -> int:
        return cell.task.input_dim + cell.task.input_dim // 2


def _shrunk(x: Array) -> Array:
    """sqrt(2) x/sqrt(d + 2 |x|^2), shorter than 1, float64."""
    x = x.astype(np.float64)
    return np.sqrt(2) * x / np.sqrt(x.shape[1] + 2 * (x**2).sum(1, keepdims=True))


def _arcsine(products: Array) -> Array:
    return np.multiply(2 / np.pi, np.arcsin(products, out=products), out=products)
