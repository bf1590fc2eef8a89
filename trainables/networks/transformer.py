"""Transformers on strings of tokens, with identities added to their attention [Boix23 Sec. 1.1, 5, App. A].

x = E[token] + pos, after the k tokens of the string stands CLS; then `depth` times x += attention(LN(x)), x += MLP(LN(x)).
y = LN(x); A_h = softmax(q k^T / sqrt(head_dim) + a_h y y^T); attention = sum over heads of A_h v W_O + b_h A_h y
MLP = W_2 gelu(W_1 y + b_1) + b_2; readout: W LN(x_CLS) + b, this LN without gain and shift
Where labels are tokens, the readout is E itself: the output of a token is its row of E times LN(x_CLS).
`read_from: last`: there is no CLS, and the readout takes the last token of the string in its place.

E, pos, CLS ~ N(0, 1); matrices and biases uniform in +-1/sqrt(fan-in), as PyTorch's linear layers; a = b = 0. There is no mask.
`attention_init: mimetic`: W_Q W_K^T of each head is the best part of rank head_dim of sqrt(alpha) W_Q W_K^T + sqrt(beta) I, from
the W_Q, W_K drawn so [Boix23, after Trockman23]. The alpha and beta of [Boix23] are unknown: 0.7 for both is the choice of this
package, after the factors 0.7 of both terms in [Trockman23].
"""

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from trainables.networks.base import Array, Network
from trainables.networks.uniform import uniform

if TYPE_CHECKING:
    from torch import Tensor

    from trainables.cell import Cell
    from trainables.training.base import Training

LN_EPSILON = 1e-5
"""Added to variances, as PyTorch does by default."""


class Transformer(Network):
    """`depth` layers of `heads` heads, tokens of dimension `embedding`, an MLP of `width` neurons in each layer."""

    name: ClassVar[str] = "transformer"
    takes: ClassVar[tuple[str, ...]] = ("tokens",)
    free: ClassVar[tuple[str, ...]] = ("identity_qk", "identity_vo", "identity_rate")

    width: Annotated[int, Field(ge=1)] = 256
    depth: Annotated[int, Field(ge=1, le=48, title="layers")] = 2
    embedding: Annotated[int, Field(ge=1, title="embedding dimension")] = 128
    heads: Annotated[int, Field(ge=1, title="heads")] = 16
    head_dim: Annotated[int, Field(ge=1, title="dimension of a head")] = 64
    identity_qk: Annotated[bool, Field(title="identity added to queries and keys")] = False
    """a_h is trained; else it stays 0."""
    identity_vo: Annotated[bool, Field(title="identity added to values and output")] = False
    """b_h is trained; else it stays 0."""
    identity_rate: Annotated[float, Field(gt=0, title="learning rate of added identities, over that of other parameters")] = 1.0
    attention_init: Annotated[Literal["gaussian", "mimetic"], Field(title="initial queries and keys")] = "gaussian"
    """`gaussian` is the paper's word for queries and keys as they are drawn: uniform, here as in its code."""
    mimetic_alpha: Annotated[float, Field(ge=0, title="mimetic alpha")] = 0.7
    mimetic_beta: Annotated[float, Field(ge=0, title="mimetic beta")] = 0.7
    read_from: Annotated[Literal["cls", "last"], Field(title="token that is read")] = "cls"

    def check(self, cell: "Cell") -> None:
        super().check(cell)
        if self.attention_init == "mimetic" and self.head_dim > self.embedding:
            sizes = f"head_dim = {self.head_dim} and embedding = {self.embedding}"
            raise ValueError(f"attention_init: mimetic wants heads no larger than the embedding, and here {sizes}")
        fields = type(self).model_fields
        given = [name for name in ("mimetic_alpha", "mimetic_beta") if getattr(self, name) != fields[name].default]
        if given and self.attention_init != "mimetic":
            verb = "changes" if len(given) == 1 else "change"
            raise ValueError(f"{' and '.join(given)} {verb} nothing without attention_init: mimetic")

    def length(self, cell: "Cell") -> int:
        """Number of tokens that attend to one another: those of the string, and CLS if there is one."""
        return cell.task.input_dim + (self.read_from == "cls")

    def rates(self, training: "Training") -> dict[str, float]:
        of_added = {"a": self.identity_qk, "b": self.identity_vo}
        rates = {name: self.identity_rate if trained else 0.0 for name, trained in of_added.items()}
        return {f"{name}{layer}": rate for name, rate in rates.items() for layer in range(1, self.depth + 1)}

    def init(self, rng: np.random.Generator, cell: "Cell") -> dict[str, Array]:
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

    def apply(self, parameters: "dict[str, Tensor]", x: "Tensor", cell: "Cell") -> "Tensor":
        features = self.features(parameters, x, cell)
        if cell.task.labels_are_tokens:
            return features @ parameters["E"].T
        outputs = features @ parameters["readout"] + parameters["bias"]
        return outputs.squeeze(-1) if cell.task.n_outputs == 1 else outputs

    def features(self, parameters: "dict[str, Tensor]", x: "Tensor", cell: "Cell") -> "Tensor":
        """The token that is read as the readout sees it: (n, embedding)."""
        from torch import cat
        from torch.nn.functional import layer_norm

        n, d = len(x), self.embedding
        tokens = parameters["E"][x]
        if self.read_from == "cls":
            tokens = cat([tokens, parameters["cls"].expand(n, 1, d)], dim=1)
        h = tokens + parameters["pos"]
        for layer in range(1, self.depth + 1):
            h = self._layer(parameters, layer, h, last=layer == self.depth)
        return layer_norm(h[:, -1], (d,), eps=LN_EPSILON)

    def _layer(self, parameters: "dict[str, Tensor]", layer: int, h: "Tensor", last: bool) -> "Tensor":
        """One layer's outputs (n, length, d), of the last layer (n, 1, d): only the last token is read."""
        from torch.nn.functional import gelu, layer_norm

        from trainables.attention import attention

        d = self.embedding

        def normed(h: "Tensor", of: str) -> "Tensor":
            return layer_norm(h, (d,), eps=LN_EPSILON) * parameters[f"gain_{of}{layer}"] + parameters[f"shift_{of}{layer}"]

        def times(rows: "Tensor", matrix: "Tensor") -> "Tensor":
            # As one product of two matrices: of a row of three axes torch.func.vmap makes a product for each string.
            return (rows.flatten(0, 1) @ matrix).reshape(*rows.shape[:2], -1)

        y = normed(h, "attention")
        read, h = (y[:, -1:], h[:, -1:]) if last else (y, h)
        q, k, v = (
            times(rows, parameters[f"{name}{layer}"]).reshape(len(h), -1, self.heads, self.head_dim)
            for name, rows in (("q", read), ("k", y), ("v", y))
        )
        alike = (read @ y.transpose(1, 2))[:, None]
        attended, masses = attention(q, k, v, parameters[f"a{layer}"][:, None, None] * alike)
        h = h + times(attended.flatten(2), parameters[f"out{layer}"])
        h = h + (parameters[f"b{layer}"][:, None, None] * masses).sum(1) @ y
        z = times(normed(h, "mlp"), parameters[f"w1_{layer}"]) + parameters[f"bias1_{layer}"]
        return h + times(gelu(z), parameters[f"w2_{layer}"]) + parameters[f"bias2_{layer}"]

    def n_parameters(self, cell: "Cell") -> int:
        d, inner, m, k = self.embedding, self.heads * self.head_dim, self.width, cell.task.n_outputs
        in_layer = 4 * d + 4 * d * inner + 2 * self.heads + 2 * d * m + m + d
        rows = cell.task.n_tokens + self.length(cell) + (self.read_from == "cls")
        return rows * d + self.depth * in_layer + (0 if cell.task.labels_are_tokens else (d + 1) * k)

    def n_products(self, cell: "Cell") -> int:
        length, inner = self.length(cell), self.heads * self.head_dim
        a_place = 4 * self.embedding * inner + 2 * self.embedding * self.width + 2 * length * inner
        return self.depth * length * a_place + self.embedding * cell.task.n_outputs

    def n_activations(self, cell: "Cell") -> int:
        length = self.length(cell)
        return self.depth * length * (4 * self.heads * self.head_dim + self.heads * length + 2 * self.width + 8 * self.embedding)


def mimetic(queries: Array, keys: Array, alpha: float, beta: float) -> Array:
    """Matrices Q, K of each head, (2, heads, d, head_dim), from drawn ones (heads, d, head_dim) each.

    Q K^T is the best approximation of rank head_dim to sqrt(alpha) Q K^T + sqrt(beta) I of the drawn ones [Trockman23].
    """
    d, rank = queries.shape[1:]
    wanted = alpha**0.5 * queries.astype(np.float64) @ keys.transpose(0, 2, 1) + beta**0.5 * np.eye(d)
    u, s, vt = np.linalg.svd(wanted)
    root = np.sqrt(s[:, None, :rank])
    return np.stack([u[..., :rank] * root, vt[:, :rank].transpose(0, 2, 1) * root])
