"""Layers of attention and perceptrons on strings of tokens, with identities added to their attention [Boix23 Sec. 1.1, 5].

h = E[token] + pos; then `depth` times h += attention(LN(h)), h += MLP(LN(h)); the readout sees the last token of LN(h).
y = LN(h); A_h = softmax(q k^T / sqrt(head_dim) + a_h y y^T); attention = sum over heads of A_h v W_O + b_h A_h y
MLP = W_2 gelu(W_1 y + b_1) + b_2; q, k, v = y W_Q, y W_K, y W_V
Where labels are tokens, the readout is E itself: the output of a token is c times its row of E times LN(h), c = `logit_factor`.
A parameter `bias_...` or `gain_last`, `shift_last` (of the last LN) acts in a network that has it.
"""

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from trainables.networks.base import Network, answered

if TYPE_CHECKING:
    from torch import Tensor

    from trainables.spec import CellSpec
    from trainables.training.base import Training

LN_EPSILON = 1e-5
"""Added to variances, as PyTorch does by default."""


class Attending(Network):
    """`depth` layers of `heads` heads, tokens of dimension `embedding`, an MLP of `width` neurons in each layer. A subclass draws
    its parameters."""

    takes: ClassVar[tuple[str, ...]] = ("tokens",)
    free: ClassVar[tuple[str, ...]] = ("identity_qk", "identity_vo", "identity_rate")
    is_causal: ClassVar[bool] = False
    """True if a token attends to itself and those before it alone."""
    has_biases: ClassVar[bool] = False
    """True if queries, keys, values and output have biases."""
    gelu: ClassVar[Literal["none", "tanh"]] = "none"
    """How gelu is approximated."""

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

    @property
    def logit_factor(self) -> float:
        """c of outputs that are tokens' logits."""
        return 1.0

    def length(self, cell: "CellSpec") -> int:
        """Number of tokens that attend to one another."""
        return cell.task.input_dim

    def rates(self, training: "Training") -> dict[str, float]:
        of_added = {"a": self.identity_qk, "b": self.identity_vo}
        rates = {name: self.identity_rate if trained else 0.0 for name, trained in of_added.items()}
        return {f"{name}{layer}": rate for name, rate in rates.items() for layer in range(1, self.depth + 1)}

    def apply(self, parameters: "dict[str, Tensor]", x: "Tensor", cell: "CellSpec") -> "Tensor":
        features = self._read(parameters, x, cell)
        if cell.task.labels_are_tokens:
            return self.logit_factor * features @ parameters["E"].T
        return answered(features @ parameters["readout"] + parameters["bias"], cell.task)

    def features(self, parameters: "dict[str, Tensor]", x: "Tensor", cell: "CellSpec") -> "Tensor | None":
        """Output of the last LN at the token that the readout takes, (n, embedding); None if it takes each token."""
        return self._read(parameters, x, cell) if cell.task.n_answers == 1 else None

    def _read(self, parameters: "dict[str, Tensor]", x: "Tensor", cell: "CellSpec") -> "Tensor":
        """Outputs of the last LN at the tokens that the readout takes: (n T, embedding) for T answers a string."""
        from torch.nn.functional import layer_norm

        h, d = self._tokens(parameters, x) + parameters["pos"], self.embedding
        for layer in range(1, self.depth + 1):
            h = self._layer(parameters, layer, h, last=layer == self.depth and self._reads_one(cell))
        normed = layer_norm(h[:, -1] if cell.task.n_answers == 1 else h.reshape(-1, d), (d,), eps=LN_EPSILON)
        return normed * parameters["gain_last"] + parameters["shift_last"] if "gain_last" in parameters else normed

    def _reads_one(self, cell: "CellSpec") -> bool:
        """True if the last layer is computed for the last token alone."""
        return cell.task.n_answers == 1 and not self.has_biases

    def _tokens(self, parameters: "dict[str, Tensor]", x: "Tensor") -> "Tensor":
        """Vectors (n, length, embedding) of strings x, before their positions are added."""
        return parameters["E"][x]

    def _layer(self, parameters: "dict[str, Tensor]", layer: int, h: "Tensor", last: bool) -> "Tensor":
        """One layer's outputs (n, length, d); of the `last` layer (n, 1, d), where only the last token is read."""
        from torch.nn.functional import gelu, layer_norm

        d = self.embedding

        def normed(h: "Tensor", of: str) -> "Tensor":
            return layer_norm(h, (d,), eps=LN_EPSILON) * parameters[f"gain_{of}{layer}"] + parameters[f"shift_{of}{layer}"]

        y = normed(h, "attention")
        h = h[:, -1:] + self._attention_of_last(parameters, layer, y) if last else h + self._attention(parameters, layer, y)
        z = _biased(_times(normed(h, "mlp"), parameters[f"w1_{layer}"]), parameters, f"bias1_{layer}")
        return _biased(h + _times(gelu(z, approximate=self.gelu), parameters[f"w2_{layer}"]), parameters, f"bias2_{layer}")

    def _attention(self, parameters: "dict[str, Tensor]", layer: int, y: "Tensor") -> "Tensor":
        """Attention (n, length, d) of all tokens y (n, length, d)."""
        from trainables.networks.strings.softmax import attention

        q, k, v = (
            self._of_heads(_biased(_times(y, parameters[f"{name}{layer}"]), parameters, f"bias_{name}{layer}")) for name in "qkv"
        )
        added = parameters[f"a{layer}"][:, None, None] * (y @ y.transpose(1, 2))[:, None]
        if self.is_causal:
            added = added + added.new_full(added.shape[-2:], -float("inf")).triu(1)
        attended, masses = attention(q, k, v, added)
        sums = _biased(_times(attended.flatten(2), parameters[f"out{layer}"]), parameters, f"bias_out{layer}")
        return sums + (parameters[f"b{layer}"][:, None, None] * masses).sum(1) @ y

    def _attention_of_last(self, parameters: "dict[str, Tensor]", layer: int, y: "Tensor") -> "Tensor":
        """Attention (n, 1, d) of the last of the tokens y (n, length, d).

        Each head's query goes through W_K to the tokens themselves, q.(W_K y) = (W_K' q).y, and what it finds goes through W_V:
        two products for the token that is read in place of two for each token. An identity adds a y to W_K' q and b A y.
        """
        from torch import einsum

        from trainables.networks.strings.softmax import mixed

        read = y[:, -1]
        q, k, v = (self._of_heads(parameters[f"{name}{layer}"]) for name in "qkv")
        q = einsum("nd,dhx->nhx", read, q) * self.head_dim**-0.5
        z = mixed(einsum("nhx,dhx->hnd", q, k) + parameters[f"a{layer}"][:, None, None] * read, y)
        attended = einsum("hnd,dhx->nhx", z, v).flatten(1) @ parameters[f"out{layer}"]
        return (attended + einsum("h,hnd->nd", parameters[f"b{layer}"], z))[:, None]

    def _of_heads(self, rows: "Tensor") -> "Tensor":
        """The last axis as (heads, head_dim)."""
        return rows.reshape(*rows.shape[:-1], self.heads, self.head_dim)

    def n_parameters(self, cell: "CellSpec") -> int:
        d, inner, m, k = self.embedding, self.heads * self.head_dim, self.width, cell.task.n_outputs
        in_layer = 4 * d + 4 * d * inner + 2 * self.heads + 2 * d * m + m + d
        rows = cell.task.n_tokens + self.length(cell)
        return rows * d + self.depth * in_layer + (0 if cell.task.labels_are_tokens else (d + 1) * k)

    def n_products(self, cell: "CellSpec") -> int:
        length, inner = self.length(cell), self.heads * self.head_dim
        a_place = 4 * self.embedding * inner + 2 * self.embedding * self.width
        of_layer = length * (a_place + 2 * length * inner)
        of_last = a_place + 2 * length * self.heads * self.embedding if self._reads_one(cell) else of_layer
        readout = self.embedding * cell.task.n_outputs * cell.task.n_answers
        return (self.depth - 1) * of_layer + of_last + readout

    def n_activations(self, cell: "CellSpec") -> int:
        length, inner = self.length(cell), self.heads * self.head_dim
        outputs = 0 if cell.task.n_answers == 1 else cell.task.n_answers * cell.task.n_outputs
        beside = 2 * self.width + 8 * self.embedding
        of_layer = length * (4 * inner + self.heads * length + beside)
        of_read = 2 * inner + 2 * self.heads * self.embedding + beside + 2 * length * self.embedding
        return (self.depth - 1) * of_layer + (of_read if self._reads_one(cell) else of_layer) + outputs


def _times(rows: "Tensor", matrix: "Tensor") -> "Tensor":
    """One product of two matrices: torch.func.vmap makes of rows (n, length, ...) a product for each string."""
    return (rows.flatten(0, 1) @ matrix).reshape(*rows.shape[:2], -1)


def _biased(sums: "Tensor", parameters: "dict[str, Tensor]", name: str) -> "Tensor":
    return sums + parameters[name] if name in parameters else sums
