"""Transformers on strings of tokens, as [Boix23 App. A] trains them; their layers are those of .attending.

After the k tokens of the string stands CLS, which is read; with `read_from: last` there is no CLS, and the readout takes the last
token of the string in its place. There is no mask, queries, keys, values and output have no biases, and the last LN has no gain
and shift.

Where labels are no tokens, the output is W LN(h) + b. Where they are, it is c E LN(h), of variance d c^2 at the start for an
embedding dimension d. `logits: standard` is c = 1, `ntk` d^(-1/2), `mean_field` 1/d, as in the theory of copying [Boix23 Sec. 5].
The paper does not say which one its networks have.

E, pos, CLS ~ N(0, 1); matrices and biases uniform in +-1/sqrt(fan-in), as PyTorch's linear layers; a = b = 0.
`attention_init: mimetic`: W_Q W_K^T of each head is the best part of rank head_dim of sqrt(alpha) W_Q W_K^T + sqrt(beta) I, from
the W_Q, W_K drawn so [Boix23, after Trockman23]. The alpha and beta of [Boix23] are unknown: 0.7 for both is the choice of this
package, after the factors 0.7 of both terms in [Trockman23].
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from trainables.networks.base import Array, Passes
from trainables.networks.strings.attending import Attending
from trainables.networks.strings.uniform import uniform

if TYPE_CHECKING:
    from torch import Tensor

    from trainables.spec import CellSpec


class Transformer(Attending):
    """`depth` layers of `heads` heads, tokens of dimension `embedding`, an MLP of `width` neurons in each layer."""

    name: ClassVar[str] = "transformer"

    attention_init: Annotated[Literal["gaussian", "mimetic"], Field(title="initial queries and keys")] = "gaussian"
    """`gaussian` is the paper's word for queries and keys as they are drawn: uniform, here as in its code."""
    mimetic_alpha: Annotated[float, Field(ge=0, title="mimetic alpha")] = 0.7
    mimetic_beta: Annotated[float, Field(ge=0, title="mimetic beta")] = 0.7
    read_from: Annotated[Literal["cls", "last"], Field(title="token that is read")] = "cls"
    logits: Annotated[Literal["standard", "ntk", "mean_field"], Field(title="scale of the logits of tokens")] = "standard"

    def check(self, cell: "CellSpec") -> None:
        super().check(cell)
        if self.attention_init == "mimetic" and self.head_dim > self.embedding:
            sizes = f"head_dim = {self.head_dim} and embedding = {self.embedding}"
            raise ValueError(f"attention_init: mimetic wants heads no larger than the embedding, and here {sizes}")
        fields = type(self).model_fields
        given = [name for name in ("mimetic_alpha", "mimetic_beta") if getattr(self, name) != fields[name].default]
        if given and self.attention_init != "mimetic":
            verb = "changes" if len(given) == 1 else "change"
            raise ValueError(f"{' and '.join(given)} {verb} nothing without attention_init: mimetic")
        if self.logits != "standard" and not cell.task.labels_are_tokens:
            numbers = f"those of task {cell.task.name} are numbers"
            raise ValueError(f"logits: {self.logits} goes with labels that are tokens, and {numbers}")

    @property
    def logit_factor(self) -> float:
        return float(self.embedding) ** -{"standard": 0.0, "ntk": 0.5, "mean_field": 1.0}[self.logits]

    def length(self, cell: "CellSpec") -> int:
        """Number of tokens that attend to one another: those of the string, and CLS if there is one."""
        return super().length(cell) + (self.read_from == "cls")

    def init(self, rng: np.random.Generator, cell: "CellSpec") -> dict[str, Array]:
        d, inner, m = self.embedding, self.heads * self.head_dim, self.width

        def normal(*shape: int) -> Array:
            return rng.standard_normal(shape, dtype=np.float32)

        drawn = {"E": normal(cell.task.n_tokens, d), "pos": normal(self.length(cell), d)}
        if self.read_from == "cls":
            drawn["cls"] = normal(d)
        for layer in range(1, self.depth + 1):
            for norm in ("attention", "mlp"):
                drawn[f"gain_{norm}{layer}"] = np.ones(d, np.float32)
                drawn[f"shift_{norm}{layer}"] = np.zeros(d, np.float32)
            q, k, v = uniform(rng, d, d, 3 * inner).reshape(d, 3, self.heads, self.head_dim).transpose(1, 2, 0, 3)
            if self.attention_init == "mimetic":
                q, k = mimetic(q, k, self.mimetic_alpha, self.mimetic_beta)
            for name, of_heads in (("q", q), ("k", k), ("v", v)):
                drawn[f"{name}{layer}"] = of_heads.transpose(1, 0, 2).reshape(d, inner).astype(np.float32)
            drawn[f"out{layer}"] = uniform(rng, inner, inner, d)
            drawn[f"a{layer}"] = np.zeros(self.heads, np.float32)
            drawn[f"b{layer}"] = np.zeros(self.heads, np.float32)
            drawn[f"w1_{layer}"], drawn[f"bias1_{layer}"] = uniform(rng, d, d, m), uniform(rng, d, m)
            drawn[f"w2_{layer}"], drawn[f"bias2_{layer}"] = uniform(rng, m, m, d), uniform(rng, m, d)
        if not cell.task.labels_are_tokens:
            drawn["readout"], drawn["bias"] = uniform(rng, d, d, cell.task.n_outputs), uniform(rng, d, cell.task.n_outputs)
        return drawn

    def _tokens(self, parameters: "dict[str, Tensor]", x: "Tensor") -> "Tensor":
        from torch import cat

        tokens = super()._tokens(parameters, x)
        if self.read_from == "cls":
            tokens = cat([tokens, parameters["cls"].expand(len(x), 1, self.embedding)], dim=1)
        return tokens

    def passes(self, cells: "Sequence[CellSpec]", on_cpu: bool) -> Passes | None:
        from trainables.networks.strings.batched_transformer import Derivatives
        from trainables.networks.strings.softmax import SHORT

        cell = cells[0]
        return (
            Derivatives(cells, self.read_from == "cls")
            if on_cpu and self._reads_one(cell) and self.length(cell) <= SHORT
            else None
        )

    def n_parameters(self, cell: "CellSpec") -> int:
        return super().n_parameters(cell) + (self.embedding if self.read_from == "cls" else 0)


def mimetic(queries: Array, keys: Array, alpha: float, beta: float) -> Array:
    """Matrices Q, K of each head, (2, heads, d, head_dim), from drawn ones (heads, d, head_dim) each.

    Q K^T is the best approximation of rank head_dim to sqrt(alpha) Q K^T + sqrt(beta) I of the drawn ones [Trockman23].
    """
    d, rank = queries.shape[1:]
    wanted = alpha**0.5 * queries.astype(np.float64) @ keys.transpose(0, 2, 1) + beta**0.5 * np.eye(d)
    u, s, vt = np.linalg.svd(wanted)
    root = np.sqrt(s[:, None, :rank])
    return np.stack([u[..., :rank] * root, vt[:, :rank].transpose(0, 2, 1) * root])
