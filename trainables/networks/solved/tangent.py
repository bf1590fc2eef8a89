"""The lazy limit of `mlp` with one hidden ReLU layer, biases and muP: linear in its weights' changes, and solved for [Jacot18].

m          `width`; w_i ~ N(0, I/d), b_i ~ N(0, 1), a_i ~ N(0, 1), one neuron's; d inputs
f          (1/m) sum_i a_i relu(u_i), less its value at initialisation; u_i = w_i . x + b_i. Rates are those of muP
neuron     k(x, x') = relu(u) relu(u') + a^2 1(u > 0) 1(u' > 0) (x.x' + 1)
tangent    K = (1/m) sum_i k_i(x, x') + 1, the 1 from the readout's bias; f(x) = K(x, X) (K(X, X) + ridge)^-1 y
infinite   E k + 1 = |v||v'| (sin t + (pi - t) cos t)/(2 pi) + (x.x' + 1) (pi - t)/(2 pi) + 1, v = (x/sqrt(d), 1), t the angle
           between v and v' [Cho09]
Weights are those of `mlp` of the same seed with `depth: 1, bias: true, bias_scale: 1, parametrisation: mup, centred: true`, which
ends there as gamma goes to 0 and steps grow.
"""

from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from trainables.networks.base import Array
from trainables.networks.solved.kernels import LastLayer

if TYPE_CHECKING:
    from trainables.spec import CellSpec

ANGLE = 60.0
"""Cost of an entry's angle with its sine and cosine, in products."""


class Tangent(LastLayer):
    """The lazy ReLU network of two layers and `width` neurons, linear in its weights' changes."""

    name: ClassVar[str] = "tangent"
    takes: ClassVar[tuple[str, ...]] = ("vector",)

    width: Annotated[int, Field(ge=1)]

    def grams(self, x: Array, others: Array, cell: "CellSpec", rng: np.random.Generator) -> tuple[Array, Array]:
        drawn = {name: values.astype(np.float64) for name, values in self.init(rng, cell).items()}
        x, others = x.astype(np.float64), others.astype(np.float64)
        ours, theirs = self._seen(x, drawn), self._seen(others, drawn)
        return self._kernel(x, ours, x, ours), self._kernel(others, theirs, x, ours)

    def init(self, rng: np.random.Generator, cell: "CellSpec") -> dict[str, Array]:
        """w (d, m), b (m,) and a (m,), float32, in the order in which `mlp` draws them."""
        from trainables.kernels.draws import standard_normal  # here, so that reading a grid does not wait for numba

        d, m = cell.task.input_dim, self.width
        w = standard_normal(rng, (d, m)) * np.float32(d**-0.5)
        return {"w": w, "b": standard_normal(rng, (m,)), "a": standard_normal(rng, (m, 1))[:, 0]}

    def _seen(self, x: Array, drawn: dict[str, Array]) -> tuple[Array, Array]:
        """relu(u) and a 1(u > 0), (n, m) each."""
        u = x @ drawn["w"] + drawn["b"]
        return np.maximum(u, 0), drawn["a"] * (u > 0)

    def _kernel(self, x: Array, seen: tuple[Array, Array], others: Array, seen_of_others: tuple[Array, Array]) -> Array:
        (active, gate), (others_active, others_gate) = seen, seen_of_others
        products = active @ others_active.T + (x @ others.T + 1) * (gate @ others_gate.T)
        return products / self.width + 1

    def n_products(self, cell: "CellSpec") -> int:
        return cell.task.input_dim * self.width

    def of_entry(self, cell: "CellSpec") -> float:
        return 2.0 * self.width + cell.task.input_dim

    def held(self, cell: "CellSpec") -> int:
        return 3 * self.width + cell.task.input_dim + cell.task.input_dim // 2


class TangentKernel(LastLayer):
    """The lazy ReLU network of two layers at infinite width, by its tangent kernel; it draws no weights."""

    name: ClassVar[str] = "tangent_kernel"
    takes: ClassVar[tuple[str, ...]] = ("vector",)

    width: ClassVar[int] = 1  # type: ignore[misc]  # no key: it is infinite, and costs nothing

    def grams(self, x: Array, others: Array, cell: "CellSpec", rng: np.random.Generator) -> tuple[Array, Array]:
        x, others = x.astype(np.float64), others.astype(np.float64)
        return _arc_cosine(x, x), _arc_cosine(others, x)

    def of_entry(self, cell: "CellSpec") -> float:
        return cell.task.input_dim + ANGLE

    def held(self, cell: "CellSpec") -> int:
        return cell.task.input_dim + cell.task.input_dim // 2


def _arc_cosine(x: Array, others: Array) -> Array:
    """The kernel at infinite width, (n, n') float64."""
    inner, d = x @ others.T, x.shape[1]
    sizes = np.sqrt(np.outer((x**2).sum(1) / d + 1, (others**2).sum(1) / d + 1))
    cosine = np.clip((inner / d + 1) / sizes, -1, 1)
    angle = np.arccos(cosine)
    past = np.pi - angle
    return (sizes * (np.sqrt(1 - cosine**2) + past * cosine) + (inner + 1) * past) / (2 * np.pi) + 1
