"""GPT-2, from scratch or from given weights [Radford19; Boix23 Sec. 6, App. B.3]; layers as in .attending.

Each token attends to itself and those before it; q, k, v and the output have biases, gelu is the approximation by tanh, and the
last LN has gain and shift. The last token of the string is read: there is no CLS. Where labels are no tokens, the output is
W LN(h) + b. In a text each token is read, to tell the next one.

From scratch, E, pos and matrices ~ N(0, 0.02^2), but W_O and W_2, which add to h, ~ N(0, 0.02^2/(2 depth)); biases are 0.
`pretrained`: all but W, b, a_h and b_h are those of `weights_dir`. The tokens of a text get their own vectors, those of other
tasks the vectors of different words, drawn for the seed; positions are the first ones.

In GPT-2, [Boix23]'s code sets the diagonal of a_h y y^T to 0, which the paper does not say; here it stays.
"""

from functools import partial
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, PrivateAttr, model_validator

from trainables.features.weights.pretrained import Shape, Weights, look, taken
from trainables.networks.base import Array
from trainables.networks.strings.attending import Attending

if TYPE_CHECKING:
    from trainables.spec import CellSpec

DEVIATION = 0.02
"""Standard deviation of initial weights."""


class GPT2(Attending):
    """GPT-2 of `depth` layers; the default is the small one. `weights_dir`, the folder of given weights, enters neither cell id
    nor results; the digest of the weights enters the id."""

    name: ClassVar[str] = "gpt2"
    locations: ClassVar[tuple[str, ...]] = ("weights_dir",)
    is_causal: ClassVar[bool] = True
    has_biases: ClassVar[bool] = True
    answers_each: ClassVar[bool] = True
    gelu: ClassVar[Literal["none", "tanh"]] = "tanh"

    width: Annotated[int, Field(ge=1)] = 3072
    depth: Annotated[int, Field(ge=1, le=48, title="layers")] = 12
    embedding: Annotated[int, Field(ge=1, title="embedding dimension")] = 768
    heads: Annotated[int, Field(ge=1, title="heads")] = 12
    pretrained: Annotated[bool, Field(title="starts from given weights")] = False
    weights_dir: Annotated[str, Field(title="folder of given weights")] = ""
    # Looked up when the grid is planned. Workers get it with the cell, whatever their environment says.
    _given: Weights | None = PrivateAttr(None)

    @model_validator(mode="after")
    def _weights_are_there(self) -> "GPT2":
        if self.pretrained:
            self._given = look(self.weights_dir, self._shape)
        return self

    @property
    def _shape(self) -> Shape:
        return Shape(self.depth, self.heads, self.embedding, self.width)

    @property
    def data_source(self) -> str:
        return self._given.digest if self._given else ""

    @property
    def origin(self) -> str:
        return "-".join([self.name, *map(str, self._shape)]) if self._given else self.name

    def check(self, cell: "CellSpec") -> None:
        super().check(cell)
        if not self._given:
            return
        if (n := cell.task.n_tokens) > self._given.n_tokens:
            raise ValueError(f"task {cell.task.name} has {n} tokens, and the weights hold vectors of {self._given.n_tokens}")
        if (n := self.length(cell)) > self._given.n_positions:
            most = self._given.n_positions
            raise ValueError(f"task {cell.task.name} has strings of {n} tokens, and the weights hold positions of {most}")
        if cell.task.labels_are_tokens and not self._given.is_tied:
            why = f"tie_word_embeddings is False, and task {cell.task.name} reads out tokens by their own vectors"
            raise ValueError(f"config.json beside {self._given.file}: {why}")
        if self.heads * self.head_dim != self.embedding:
            sizes = f"heads = {self.heads}, head_dim = {self.head_dim} and embedding = {self.embedding}"
            raise ValueError(f"pretrained: true wants heads times head_dim to be the embedding, and here {sizes}")

    def init(self, rng: np.random.Generator, cell: "CellSpec") -> dict[str, Array]:
        d, inner, m, task = self.embedding, self.heads * self.head_dim, self.width, cell.task
        draw = partial(_drawn, rng, self.depth)
        take = draw if self._given is None else partial(_of_file, self._given)
        theta: dict[str, Array] = {"E": self._words(rng, cell), "pos": take("wpe.weight", self.length(cell), d)}
        for layer in range(1, self.depth + 1):
            of = f"h.{layer - 1}."
            for name, norm in (("attention", "ln_1"), ("mlp", "ln_2")):
                theta[f"gain_{name}{layer}"] = take(f"{of}{norm}.weight", d)
                theta[f"shift_{name}{layer}"] = take(f"{of}{norm}.bias", d)
            matrices = np.split(take(f"{of}attn.c_attn.weight", d, 3 * inner), 3, axis=1)
            biases = np.split(take(f"{of}attn.c_attn.bias", 3 * inner), 3)
            for name, *both in zip("qkv", matrices, biases, strict=True):
                theta[f"{name}{layer}"], theta[f"bias_{name}{layer}"] = both
            for name, bias, published, shape in (
                ("out", "bias_out", "attn.c_proj", (inner, d)),
                ("w1_", "bias1_", "mlp.c_fc", (d, m)),
                ("w2_", "bias2_", "mlp.c_proj", (m, d)),
            ):
                theta[f"{name}{layer}"] = take(f"{of}{published}.weight", *shape)
                theta[f"{bias}{layer}"] = take(f"{of}{published}.bias", shape[1])
            theta[f"a{layer}"], theta[f"b{layer}"] = np.zeros((2, self.heads), np.float32)
        theta["gain_last"], theta["shift_last"] = take("ln_f.weight", d), take("ln_f.bias", d)
        if not task.labels_are_tokens:
            theta["readout"], theta["bias"] = draw("readout.weight", d, task.n_outputs), draw("readout.bias", task.n_outputs)
        return theta

    def _words(self, rng: np.random.Generator, cell: "CellSpec") -> Array:
        """E (n_tokens, embedding)."""
        n = cell.task.n_tokens
        if self._given is None:
            return _drawn(rng, self.depth, "wte.weight", n, self.embedding)
        words = taken(self._given, "wte.weight", (self._given.n_tokens, self.embedding))
        return words[:n] if cell.task.tokens_are_words else words[rng.permutation(len(words))[:n]]

    def n_parameters(self, cell: "CellSpec") -> int:
        return super().n_parameters(cell) + self.depth * (3 * self.heads * self.head_dim + self.embedding) + 2 * self.embedding


def _drawn(rng: np.random.Generator, depth: int, name: str, *shape: int) -> Array:
    """Initial values of a tensor by its published name."""
    *_, layer, kind = ["", *name.split(".")]
    if kind == "bias":
        return np.zeros(shape, np.float32)
    if layer.startswith("ln_"):
        return np.ones(shape, np.float32)
    deviation = DEVIATION / (2 * depth) ** 0.5 if layer == "c_proj" else DEVIATION
    return rng.standard_normal(shape, dtype=np.float32) * np.float32(deviation)


def _of_file(weights: Weights, name: str, *shape: int) -> Array:
    """A tensor by its published name; of the positions the first ones."""
    n = weights.n_positions if name == "wpe.weight" else shape[0]
    return taken(weights, name, (n, *shape[1:]))[: shape[0]]
