"""Transformers whose last layer alone is trained: random features, and their kernel at infinite width [Boix23 Sec. 4].

Z_0      E[token] + gamma pos, E, pos, CLS ~ N(0, 1): the k tokens of a string, then CLS; gamma is the key `position`
s_h      softmax(beta Z_0 W_K W_Q^T Z_0,CLS / (d sqrt(d_head) sqrt(1 + gamma^2))), one attention of CLS for each of H heads
z_1      sum_h s_h^T Z_0 W_V W_O^T / sqrt(H d_head d)
z_2      phi(W_A z_1 / sqrt(d)) / sqrt(m), the m neurons that the last layer sees; all W ~ N(0, 1)
kernel   z_2 . z_2 tends to K_trans as H, d, d_head and m grow (templates.kernel)

`beta` is that of the kernel's formula. The division by sqrt(1 + gamma^2), the length of CLS's row, is not in the paper's
network, whose beta is therefore smaller by this factor. A random W_B between the neurons and the last layer, which the paper's
network has, would change nothing in the limit, and is left out: at finite d it caps the rank at d.
"""

from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from sweepkit.strings.attention import MOST_WILDCARDS
from sweepkit.strings.kernel import Activation, pattern_of
from sweepkit.strings.kernel import Kernel as StringKernel
from trainables.networks.base import Array, Network
from trainables.training.base import Family

if TYPE_CHECKING:
    from trainables.spec import CellSpec

B1, B2 = 1.0, 0.5
"""phi(t) = cos(b1 t + b2)."""
OF_PAIR = 100.0
"""Cost of one entry of a kernel's matrix that is looked up, in products."""
AT_ONCE = 2**25
"""Numbers of the arrays that `Features` holds at once."""


class LastLayer(Network):
    """A network whose last layer alone is trained, by ridge regression: the kernel of what that layer sees."""

    family: ClassVar[Family] = "ridge"

    def grams(self, x: Array, others: Array, cell: "CellSpec", rng: np.random.Generator) -> tuple[Array, Array]:
        """The kernel between training inputs x (n, k), (n, n), and between others (m, k) and x, (m, n), both float64."""
        raise NotImplementedError

    def few(self, cell: "CellSpec") -> bool:
        """True if the last layer sees fewer numbers than there are examples, and `seen_of` gives them."""
        return False

    def seen_of(self, x: Array, others: Array, cell: "CellSpec", rng: np.random.Generator) -> tuple[Array, Array]:
        """Float64 inputs of the last layer for training inputs x, (n, N), and others, (m, N): where they are `few` they make the
        smaller system."""
        raise NotImplementedError

    def n_seen(self, cell: "CellSpec") -> int:
        """How many numbers the last layer sees of an example, where they are `few`."""
        return self.width

    def n_products(self, cell: "CellSpec") -> int:
        return 0

    def of_entry(self, cell: "CellSpec") -> float:
        """Cost of one entry of the kernel's matrix, in products, beside the `n_products` of its examples."""
        return float(self.width)

    def held(self, cell: "CellSpec") -> int:
        """Numbers of the size of float64 that are held of an example, float32 inputs of vectors among them."""
        return self.width


class OfStrings(LastLayer):
    """The keys of both random transformers."""

    takes: ClassVar[tuple[str, ...]] = ("tokens",)

    beta: Annotated[float, Field(ge=0, title="inverse temperature beta")] = 4.0
    position: Annotated[float, Field(ge=0, title="weight of positions")] = 1.0
    activation: Annotated[Activation, Field(title="activation")] = "cos"


class Kernel(OfStrings):
    """The wide random transformer at infinite width, by its kernel K_trans; it draws no weights."""

    name: ClassVar[str] = "kernel"
    width: ClassVar[int] = 1  # type: ignore[misc]  # no key: it is infinite, and costs nothing

    def check(self, cell: "CellSpec") -> None:
        super().check(cell)
        most = getattr(cell.task, "most_wildcards", 0)  # as with `regular` below
        if most > MOST_WILDCARDS:
            raise ValueError(f"network kernel is computed for at most {MOST_WILDCARDS} wildcards, and a template here has {most}")

    def of_entry(self, cell: "CellSpec") -> float:
        return OF_PAIR

    def held(self, cell: "CellSpec") -> int:
        return 0

    def grams(self, x: Array, others: Array, cell: "CellSpec", rng: np.random.Generator) -> tuple[Array, Array]:
        regular = getattr(cell.task, "regular", ())  # a task of tokens without regular ones need not say so
        patterns = sorted({pattern_of(string, regular) for strings in (x, others) for string in strings}, key=str)
        kernel = StringKernel(tuple(patterns), self.beta, self.position, self.activation, B1, B2)
        return kernel.gram(x, x, regular), kernel.gram(others, x, regular)


class Features(OfStrings):
    """A random transformer of finite width, the last layer of which is trained."""

    name: ClassVar[str] = "features"

    width: Annotated[int, Field(ge=1)] = 2048
    embedding: Annotated[int, Field(ge=1, title="embedding dimension")] = 256
    heads: Annotated[int, Field(ge=1, title="heads")] = 64
    head_dim: Annotated[int, Field(ge=1, title="dimension of a head")] = 32

    def grams(self, x: Array, others: Array, cell: "CellSpec", rng: np.random.Generator) -> tuple[Array, Array]:
        drawn = self.init(rng, cell)
        ours, theirs = (self.seen(drawn, strings).astype(np.float64) for strings in (x, others))
        return ours @ ours.T, theirs @ ours.T

    def init(self, rng: np.random.Generator, cell: "CellSpec") -> dict[str, Array]:
        d, inner, m = self.embedding, self.heads * self.head_dim, self.width
        shapes = {
            "E": (cell.task.n_tokens, d), "pos": (cell.task.input_dim + 1, d), "cls": (d,),
            "q": (d, inner), "k": (d, inner), "v": (d, inner), "out": (inner, d), "a": (d, m),
        }  # fmt: skip
        return {name: rng.standard_normal(shape, dtype=np.float32) for name, shape in shapes.items()}

    def attended(self, drawn: dict[str, Array], strings: Array) -> Array:
        """z_1 (n, d) of strings (n, k)."""
        d, heads, inner = self.embedding, self.heads, self.head_dim
        last = drawn["cls"] + self.position * drawn["pos"][-1]
        queries = (last @ drawn["q"]).reshape(heads, inner)
        keys = drawn["k"].reshape(d, heads, inner)
        of_scores = np.einsum("dhi,hi->dh", keys, queries) * (self.beta / (d * inner**0.5 * (1 + self.position**2) ** 0.5))
        values = drawn["v"].reshape(d, heads, inner).transpose(1, 0, 2)
        found = np.empty((len(strings), d), np.float32)
        step = max(1, AT_ONCE // (heads * (d + inner)))
        for start in range(0, len(strings), step):
            some = strings[start : start + step]
            z = np.concatenate([drawn["E"][some], np.broadcast_to(drawn["cls"], (len(some), 1, d))], axis=1)
            z = z + np.float32(self.position) * drawn["pos"]
            scores = z @ of_scores.astype(np.float32)  # (n, k + 1, heads)
            masses = np.exp(scores - scores.max(1, keepdims=True))
            masses /= masses.sum(1, keepdims=True)
            read = (masses.transpose(0, 2, 1) @ z).transpose(1, 0, 2) @ values  # (heads, n, head_dim)
            found[start : start + step] = read.transpose(1, 0, 2).reshape(len(some), -1) @ drawn["out"]
        return found / np.float32((heads * inner * d) ** 0.5)

    def seen(self, drawn: dict[str, Array], strings: Array) -> Array:
        """z_2 (n, m) of strings (n, k)."""
        u = self.attended(drawn, strings) @ drawn["a"] / np.float32(self.embedding**0.5)
        return self._phi(u) / np.float32(self.width**0.5)

    def _phi(self, u: Array) -> Array:
        if self.activation == "cos":
            return np.cos(np.float32(B1) * u + np.float32(B2))
        if self.activation == "relu":
            return np.maximum(u, 0)
        from scipy.special import erf

        return np.asarray(erf(u))

    def n_products(self, cell: "CellSpec") -> int:
        d, inner, k = self.embedding, self.heads * self.head_dim, cell.task.input_dim + 1
        return self.heads * k * d * 2 + 2 * d * inner + d * self.width
