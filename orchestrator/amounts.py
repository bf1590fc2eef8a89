"""How much work a cell is on each engine, in units that a machine has a rate for: what a step and an evaluation count.

L symbols, input of length D, width m, batch B, T test examples; of `group` cells that see the same inputs, each does its share
of drawing them and of the initial preactivations.
"""

from typing import Literal

from trainables.cell import Cell
from trainables.engines.base import is_noiseless_pairs
from trainables.kernels.sizes import CHUNK, TILE, padded

EngineName = Literal["reference", "batched", "gram"]
ENGINES: tuple[EngineName, ...] = ("reference", "batched", "gram")
Amounts = dict[str, float]
"""Work by kind: `call` is one step, `evaluation` one evaluation, `product` one multiplication and addition of a dense product,
`neuron` the arithmetic of one neuron on one example, `number` one normal number drawn. Of `gram`: `example` is one pair of a
batch drawn and sorted, `pair` and `lazy_pair` the arithmetic of one neuron on one distinct pair, and `tile` one multiplication
and addition with the Gram matrix."""


def can_train(engine: EngineName, cell: Cell) -> bool:
    """Whether the engine trains this cell; `gram` needs noiseless pairs of symbols."""
    return engine != "gram" or is_noiseless_pairs(cell)


def step_amounts(cell: Cell, engine: EngineName, group: float = 1.0) -> Amounts:
    """Work of one training step of one cell."""
    d_in, m, batch = cell.task.input_dim, cell.width, cell.batch
    if engine == "gram":
        n_symbols: int = cell.task.L  # type: ignore[attr-defined]
        pair = "pair" if cell.output_is_literal else "lazy_pair"
        m = padded(m, CHUNK)
        tiles = 2 * distinct_symbols(n_symbols, batch) * padded(n_symbols, TILE) * m
        return {"call": 1.0, "example": batch / group, pair: distinct_pairs(n_symbols, batch) * m, "tile": tiles}
    products, share = (6.0, 1.0) if engine == "reference" else (2 + 1 / group, 1 / group)
    return {"call": 1.0, "neuron": batch * m, "product": products * batch * d_in * m, "number": share * batch * d_in}


def evaluation_amounts(cell: Cell, engine: EngineName, group: float = 1.0) -> Amounts:
    """Work of one evaluation of one cell on its fresh test examples."""
    d_in, m, n = cell.task.input_dim, cell.width, cell.test_size
    if engine == "gram":
        n_symbols: int = cell.task.L  # type: ignore[attr-defined]
        products = n * (m * d_in / group + n_symbols * (d_in + 2 * m))
    else:
        products = n * m * d_in * (2.0 if engine == "reference" else 1 + 1 / group)
    share = 1.0 if engine == "reference" else 1 / group
    return {"evaluation": 1.0, "product": products, "neuron": n * m, "number": share * n * d_in}


def distinct_pairs(n_symbols: int, batch: int) -> float:
    """Expected number of different (u, v) in a batch that is half same, half different."""
    pairs = n_symbols * (n_symbols - 1)
    return n_symbols * (1 - (1 - 0.5 / n_symbols) ** batch) + pairs * (1 - (1 - 0.5 / pairs) ** batch)


def distinct_symbols(n_symbols: int, batch: int) -> float:
    """Expected number of different symbols in one half of a batch."""
    return n_symbols * (1 - (1 - 1 / n_symbols) ** batch)
