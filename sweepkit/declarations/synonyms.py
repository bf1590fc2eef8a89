"""Words of other tools for keys of a grid, and hints at the key that was meant."""

from collections.abc import Collection

from sweepkit.console.words import nearest

ELSEWHERE = {
    "lr": "base_lr", "learning_rate": "base_lr", "epochs": "steps", "n_epochs": "steps", "n_steps": "steps",
    "optimizer": "training", "optimiser": "training", "optimizers": "trainings", "optimisers": "trainings",
    "model": "network", "architecture": "network", "dataset": "task",
    "hidden": "width", "n_hidden": "width", "hidden_size": "width", "hidden_dim": "width", "batch_size": "batch",
    "layers": "depth", "n_layers": "depth", "num_layers": "depth",
}  # fmt: skip
"""Words of other tools, and the keys that say the same here."""


def meant(word: object, options: Collection[str]) -> str:
    """`; did you mean 'base_lr'?` for a word of another tool or a misspelt word, else nothing."""
    here = ELSEWHERE.get(word.lower()) if isinstance(word, str) else None
    return f"; did you mean {here!r}?" if here in options else nearest(word, options)
