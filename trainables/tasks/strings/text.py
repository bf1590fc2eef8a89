"""Text: which token comes next? [Boix23 Fig. 6]

corpus          the text, by the name of its folder in `data_dir`, such as wikitext-2 (trainables.features.texts)
context         tokens of a string; the next one is asked for after each of them
training        strings that begin at random places of the training text, fresh at each step
test            the first strings of the test text that follow each other, the same ones at each evaluation; validation likewise
data_dir        folder of texts, and tokenizer_dir that of the tokenizer: they enter neither the cell id nor the results
"""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, PrivateAttr, field_validator, model_validator
from rich.console import Console

from trainables.features import texts
from trainables.tasks.base import Array, Inputs, Preparation, Targets, Task, TaskError

_NAME = r"[A-Za-z0-9][\w.-]*"
"""A corpus enters ids and versions, so that it is no path."""


class Text(Task):
    """Strings of a text in a local folder, each token to be told from those before it; the perplexity is exp of the loss."""

    name: ClassVar[str] = "text"
    inputs: ClassVar[Inputs] = "tokens"
    targets: ClassVar[Targets] = "classes"
    has_fixed_tests: ClassVar[bool] = True
    validates: ClassVar[bool] = True
    labels_are_tokens: ClassVar[bool] = True
    tokens_are_words: ClassVar[bool] = True
    defaults: ClassVar[Mapping[str, Any]] = {"network": "gpt2", "training": "adam", "prefactor": "none"}
    presets: ClassVar[Mapping[str, Any]] = {"base_lr": 3e-4, "eval_every": 100, "test_size": 240, "batch": 8}
    locations: ClassVar[tuple[str, ...]] = ("data_dir", "tokenizer_dir")
    told: ClassVar[tuple[str, ...]] = ("corpus",)

    corpus: Annotated[str, Field(title="text")]
    context: Annotated[int, Field(ge=2, title="tokens of a string")] = 1024
    data_dir: str = ""
    tokenizer_dir: Annotated[str, Field(title="folder of the tokenizer")] = ""
    # Looked up when the grid is planned. Workers get it with the cell, whatever their environment says.
    _text: texts.TextFiles = PrivateAttr()

    @field_validator("corpus")
    @classmethod
    def _is_a_name(cls, corpus: str) -> str:
        if not re.fullmatch(_NAME, corpus):
            raise ValueError("is the name of a folder in data_dir: letters, digits, '.', '_' and '-', first a letter or digit")
        return corpus

    @model_validator(mode="after")
    def _files_are_there(self) -> "Text":
        self._text = texts.look(self.corpus, self.data_dir, self.tokenizer_dir)
        texts.n_tokens(self._text)  # says if the tokenizer cannot be read
        return self

    @property
    def data_source(self) -> str:
        return self._text.digest

    @property
    def origin(self) -> str:
        return f"{self.name}-{self.corpus}"

    @property
    def n_tokens(self) -> int:
        return texts.n_tokens(self._text)

    @property
    def n_outputs(self) -> int:
        return self.n_tokens

    @property
    def input_dim(self) -> int:
        return self.context

    @property
    def n_answers(self) -> int:
        return self.context

    def preparations(self) -> Sequence[Preparation]:
        return texts.preparation(self._text)

    def prepare(self, console: Console) -> None:
        for part, tokens in texts.tokens(self._text, console).items():
            self._check_length(part, tokens)

    def _check_length(self, part: str, tokens: Array) -> None:
        if len(tokens) <= self.context:
            file = self._text.files[texts.PARTS.index(part)]
            raise TaskError(f"{file} has {len(tokens)} tokens, and context = {self.context} wants one more at least")

    def draw_symbols(self, rng: np.random.Generator) -> Array:
        """Nothing is drawn: (0,)."""
        return np.zeros(0)

    def train_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        """Strings (n, context) int64, and the token after each of theirs (n, context)."""
        tokens = texts.tokens(self._text)["train"]
        return self._strings("train", tokens, rng.integers(0, max(1, len(tokens) - self.context), n))

    def test_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        """The first n strings that follow each other. A text that has fewer gives its first ones again."""
        return self._in_order("test", n)

    def validation_examples(self, rng: np.random.Generator, symbols: Array, n: int) -> tuple[Array, Array]:
        return self._in_order("valid", n)

    def _in_order(self, part: str, n: int) -> tuple[Array, Array]:
        tokens = texts.tokens(self._text)[part]
        return self._strings(part, tokens, np.arange(n) % max(1, (len(tokens) - 1) // self.context) * self.context)

    def _strings(self, part: str, tokens: Array, starts: Array) -> tuple[Array, Array]:
        self._check_length(part, tokens)
        found = tokens[starts[:, None] + np.arange(self.context + 1)].astype(np.int64)
        return found[:, :-1], found[:, 1:]
