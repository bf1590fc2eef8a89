"""`python -m benchmarks.copying`: the share of unseen symbols that a transformer copies [Boix23 Fig. 5], by two readings that the
paper leaves open, after as many strings as half of them take there. It is written apart from this project's networks, as a check.

A string is one token and the token that is read. Readings: whether training strings are drawn with replacement or all differ,
and whether logits are divided by the embedding dimension d, as in the paper's theory of copying, by its root, or not at all.
"""

import math
from statistics import mean

import torch
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn
from torch.nn import functional

HEADS, HEAD_DIM, WIDTH, DEPTH, UNSEEN, EPOCHS, EVERY, SEEDS = 16, 64, 256, 2, 100, 300, 5, 3
AFTER = ((64, 64), (64, 37), (128, 47), (256, 84))
"""Embedding dimension and strings; all but the first are those of the paper's curves at one half."""


class Layer(nn.Module):
    """Attention and a perceptron, each on normalised tokens and added to them."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.before, self.between = nn.LayerNorm(d), nn.LayerNorm(d)
        self.queries, self.keys, self.values = (nn.Linear(d, HEADS * HEAD_DIM, bias=False) for _ in range(3))
        self.out = nn.Linear(HEADS * HEAD_DIM, d, bias=False)
        self.perceptron = nn.Sequential(nn.Linear(d, WIDTH), nn.GELU(), nn.Linear(WIDTH, d))

    def forward(self, tokens: Tensor) -> Tensor:
        """The tokens after this layer; shape (strings, length, d) as before it."""
        n, length, _ = tokens.shape
        x = self.before(tokens)
        q, k, v = (of(x).view(n, length, HEADS, HEAD_DIM).transpose(1, 2) for of in (self.queries, self.keys, self.values))
        mixed = (q @ k.transpose(-1, -2) / math.sqrt(HEAD_DIM)).softmax(-1) @ v
        tokens = tokens + self.out(mixed.transpose(1, 2).reshape(n, length, HEADS * HEAD_DIM))
        return tokens + self.perceptron(self.between(tokens))


def share_copied(d: int, n_strings: int, seed: int, distinct: bool, power: float) -> float:
    """The share of right answers at the evaluation of least validation loss, of a network that is trained on `n_strings` strings
    over as many tokens, with logits over d^power."""
    torch.manual_seed(seed)
    embedding = nn.Parameter(torch.randn(n_strings + 2 * UNSEEN, d))
    positions, read = nn.Parameter(torch.randn(2, d)), nn.Parameter(torch.randn(d))
    layers = nn.Sequential(*(Layer(d) for _ in range(DEPTH)))
    adam = torch.optim.Adam([embedding, positions, read, *layers.parameters()], 1e-3)
    strings = torch.arange(n_strings) if distinct else torch.randint(n_strings, (n_strings,))
    validated = n_strings + torch.arange(UNSEEN)
    tested = validated + UNSEEN

    def logits(tokens: Tensor) -> Tensor:
        both = torch.stack([embedding[tokens], read.expand(len(tokens), d)], 1) + positions
        out: Tensor = functional.layer_norm(layers(both)[:, -1], (d,)) @ embedding.T
        return out / d**power

    least, found = math.inf, 0.0
    for epoch in range(1, EPOCHS + 1):
        loss = functional.cross_entropy(logits(strings), strings)
        adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        adam.step()
        if epoch % EVERY == 0:
            with torch.no_grad():
                validation = functional.cross_entropy(logits(validated), validated).item()
                if validation < least:
                    least, found = validation, (logits(tested).argmax(1) == tested).float().mean().item()
    return found


def main() -> None:
    """Print the table."""
    table = Table(box=SIMPLE_HEAD, title=f"share copied, {EPOCHS} epochs, mean of {SEEDS} seeds", title_justify="left")
    for name in ("d", "strings", "training strings", "logits", "logits / sqrt d", "logits / d"):
        table.add_column(name, justify="right")
    for d, n_strings in AFTER:
        for distinct in (False, True):
            shares = ([share_copied(d, n_strings, seed, distinct, power) for seed in range(SEEDS)] for power in (0, 0.5, 1))
            means = (f"{mean(one):.2f}" for one in shares)
            table.add_row(str(d), str(n_strings), "all differ" if distinct else "with replacement", *means)
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
