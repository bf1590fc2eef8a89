"""`python -m benchmarks.float32`: lazy networks in literal float32, as [Tong25]'s code trains them, beside scaled changes.

At gamma sqrt(d) = 1e-5 the authors' centred output is the difference of two nearly equal float32 sums over 1e-5, and a step
changes a weight by about one unit in its last place.

literal   that: plain float32 weights, updated in place with rate gamma^2 d alpha_0
exact     the same program in float64
scaled    this project's training in float32, by scaled changes (trainables.trainers.centred)

The three share symbols, initial weights, batches and test examples. The figures are the paper's measure, best test accuracy.
"""

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from typing import get_args

import numpy as np
import torch
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from trainables.cell import Cell, cell_of, lazy_gamma
from trainables.engines.dense.reference import Reference
from trainables.engines.gram.cpu import Gram
from trainables.networks import TwoLayer
from trainables.tasks import SameDifferent
from trainables.trainers.base import Trainer
from trainables.trainers.run import PackRun

EVALUATIONS = 25
"""Evaluations of a network, as in the paper: the best of more would be larger by chance."""
LAWS = get_args(TwoLayer.model_fields["initial"].annotation)
WAYS: dict[str, Callable[[Sequence[Cell]], Trainer]] = {
    "literal": partial(Reference, dtype=torch.float32),
    "exact": partial(Reference, dtype=torch.float64),
    "scaled": Gram,
}


def lazy(n_symbols: int, d: int, width: int, steps: int, seed: int, initial: str = "normal") -> Cell:
    """A lazy network on noiseless symbols, evaluated EVALUATIONS times."""
    task = SameDifferent(L=n_symbols, d=d)
    every = steps // EVALUATIONS
    return cell_of(task, gamma=lazy_gamma(task), width=width, seed=seed, steps=steps, eval_every=every, initial=initial)


def best(way: str, cell: Cell) -> float:
    """Best test accuracy of the cell, trained this way."""
    run = PackRun([cell], WAYS[way]([cell]))
    run.advance(float("inf"))
    return float(run.results()[0].test_acc.max())


def main(words: Sequence[str] | None = None) -> None:
    """Train the networks and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--L", type=int, nargs="+", default=[256, 16], help="training symbols")
    parser.add_argument("--initial", nargs="+", choices=LAWS, default=LAWS, help="laws of the initial weights")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=["literal", "scaled"])
    for name, value in (("d", 64), ("width", 1024), ("steps", 25_000), ("seeds", 2)):
        parser.add_argument(f"--{name}", type=int, default=value)
    asked = parser.parse_args(words)
    if asked.steps < EVALUATIONS or asked.steps % EVALUATIONS:
        parser.error(f"--steps must be a multiple of {EVALUATIONS}, the number of evaluations")

    title = f"Best test accuracy of lazy networks, d = {asked.d}, width {asked.width}, {asked.steps} steps: mean (least to most)"
    table = Table(box=SIMPLE_HEAD, title=title, title_justify="left")
    for name in ("L", "initial", "seeds", *asked.ways):
        table.add_column(name, justify="right")
    for n_symbols in asked.L:
        for initial in asked.initial:
            cells = [lazy(n_symbols, asked.d, asked.width, asked.steps, seed, initial) for seed in range(asked.seeds)]
            found = [[best(way, cell) for cell in cells] for way in asked.ways]
            told = (f"{np.mean(own):.3f} ({min(own):.3f} to {max(own):.3f})" for own in found)
            table.add_row(str(n_symbols), initial, str(asked.seeds), *told)
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
