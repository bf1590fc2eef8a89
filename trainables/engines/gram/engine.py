"""`gram`: noiseless same-different exactly, in the span of the symbols."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from trainables.cell import Cell, cell_of, lazy_gamma
from trainables.engines.base import ALONE, Amounts, DescentEngine, evaluation_numbers, item_bytes
from trainables.kernels.sizes import CHUNK, PLAN_BYTES, PLAN_STEPS, TILE, padded, plan_length
from trainables.kinds import NOISELESS_PAIRS, sees_noiseless_pairs
from trainables.tasks import SameDifferent

if TYPE_CHECKING:
    from trainables.engines.gram.cuda import GramCuda
    from trainables.engines.gram.cuda_large import GramLarge
    from trainables.trainers.base import Trainer


FEW_SYMBOLS = 32
"""Most symbols for which one program trains a network on a card; with more the products are worth its tensor cores."""


DOT_ROWS = 128
"""Symbols of a half that a product on tensor cores takes at a time."""


class Gram(DescentEngine):
    """Noiseless same-different with L symbols, width m and batch B. Its own kinds of work: `example` is one pair of a batch drawn
    and sorted; `pair` is the arithmetic of one neuron on one distinct pair, `lazy_pair` the same where the output is no literal
    difference; `tile` is one multiplication and addition with the Gram matrix, and `dot` one on a card's tensor cores."""

    name: ClassVar[str] = "gram"
    needs: ClassVar[str] = NOISELESS_PAIRS
    devices: ClassVar[tuple[str, ...]] = ("cpu", "cuda")
    double: ClassVar[float] = 2.0
    seconds: ClassVar[Mapping[str, Mapping[str, float]]] = {
        "cpu": {"call": 3e-6, "example": 1e-8, "pair": 2e-10, "lazy_pair": 3e-10, "tile": 1.6e-11, "evaluation": 5e-4,
                "product": 9e-12, "neuron": 3e-10, "number": 1.5e-9},
        # On an NVIDIA H200 beside four threads that draw, from packs of 132 to 1056 networks (docs/inside/gpu.md). `evaluation`
        # was 3.7e-4, and `number` 1.6e-9, with thrice the operations; what they are now was not measured.
        "cuda": {"call": 7e-8, "example": 3.3e-9, "pair": 3.3e-12, "lazy_pair": 4.8e-12, "tile": 2e-14, "dot": 1e-13,
                 "evaluation": 1.3e-4, "product": 1e-13, "neuron": 3e-11, "number": 8e-10},
        ALONE: {"call": 1.5e-5, "example": 3.3e-9, "pair": 3.2e-10, "lazy_pair": 4.5e-10, "tile": 1.8e-11, "dot": 1e-13},
    }  # fmt: skip
    merges: ClassVar[frozenset[str]] = frozenset({"L", "d", "prefactor"})

    def trains(self, cell: Cell) -> bool:
        return sees_noiseless_pairs(cell)

    def trainer(self, cells: Sequence[Cell], device: str = "cpu") -> "Trainer":
        from trainables.engines.gram.cpu import Gram

        if device == "cpu":
            return Gram(cells)
        from trainables.trainers.card.faults import check_card
        from trainables.trainers.card.proof import prove

        check_card()
        on_card = partial(trainer_on_card, device=device)
        prove(cells, on_card, Gram)
        return on_card(cells)

    def pack_key(self, cell: Cell, device: str = "cpu") -> tuple[Any, ...]:
        own = super().pack_key(cell, device)
        return own if device == "cpu" else (*own, ("few symbols", _symbols(cell) <= FEW_SYMBOLS))

    def step_amounts(self, cell: Cell, group: float = 1.0, device: str = "cpu") -> Amounts:
        n_symbols, batch, m = _symbols(cell), cell.batch, padded(cell.width, CHUNK)
        pair, rows = "pair" if cell.output_is_literal else "lazy_pair", 2 * distinct_symbols(n_symbols, batch)
        work = {"call": 1.0, "example": batch / group, pair: distinct_pairs(n_symbols, batch) * m}
        if device == "cpu" or n_symbols <= FEW_SYMBOLS:
            return work | {"tile": rows * padded(n_symbols, TILE) * m}
        rows = 2 * padded(min(n_symbols, batch), DOT_ROWS)
        return work | {"dot": rows * m * min(n_symbols, cell.task.input_dim)}  # over L symbols, or twice over d pixels

    def evaluation_amounts(self, cell: Cell, group: float = 1.0) -> Amounts:
        d_in, m, n = cell.task.input_dim, cell.width, cell.test_size
        products = n * (m * d_in / group + _symbols(cell) * (d_in + 2 * m))
        return {"evaluation": 1.0, "product": products, "neuron": n * m, "number": 1 / group * n * d_in}

    def memory(self, cells: Sequence[Cell], device: str = "cpu") -> int:
        """A card trains all cells at once, of any L and d; a CPU works on one cell at a time."""
        groups = {(cell.seed, cell.task): cell for cell in cells}.values()
        initial = sum(cell.task.input_dim * cell.width for cell in groups)
        tables = 2 * sum(_symbols(cell) ** 2 for cell in groups)
        working = 3 * sum(map(_weights, cells)) if device == "cuda" else sum(map(_weights, cells)) + 3 * _weights(cells[0])
        held = evaluation_numbers(cells, device)
        a_step = 2 * sum(plan_length(_symbols(cell), cell.batch) for cell in groups)  # numbers of 16 bits
        plans = 2 * min(PLAN_BYTES, PLAN_STEPS * a_step) if device == "cuda" else 0  # two take turns
        return plans + int(item_bytes(cells[0]) * (initial + sum(map(_weights, groups)) + working + tables + held))

    def card_packs(self) -> Sequence[Sequence[Cell]]:
        def pack(n: int, n_symbols: int, d: int, width: int, lazy: bool = False) -> list[Cell]:
            task = SameDifferent(L=n_symbols, d=d)
            gammas = [lazy_gamma(task)] if lazy else [1.0 / (1 + k) for k in range(6)]
            return [cell_of(task, width=width, gamma=gammas[k % len(gammas)], seed=k // len(gammas)) for k in range(n)]

        return [
            pack(264, 3, 64, 1024), pack(264, 16, 64, 1024), pack(264, 16, 64, 1024, lazy=True), pack(264, 16, 256, 256),
            pack(132, 64, 256, 1024), pack(132, 256, 64, 1024), pack(66, 256, 256, 4096),
        ]  # fmt: skip

    def shapes(self) -> Sequence[Sequence[Cell]]:
        def pairs(n_symbols: int, d: int, width: int, n: int = 1, lazy: bool = False, batch: int = 128) -> list[Cell]:
            task = SameDifferent(L=n_symbols, d=d)
            gammas = [lazy_gamma(task)] if lazy else [1.0 / (1 + k) for k in range(n)]
            return [cell_of(task, width=width, gamma=gamma, batch=batch, seed=0) for gamma in gammas]

        return [
            pairs(3, 64, 1024), pairs(3, 64, 256, n=4), pairs(3, 64, 256, batch=8192), pairs(16, 64, 1024),
            pairs(16, 64, 1024, lazy=True), pairs(64, 256, 1024), pairs(12, 512, 4096),
        ]  # fmt: skip


def distinct_pairs(n_symbols: int, batch: int) -> float:
    """Expected number of different (u, v) in a batch that is half same, half different."""
    pairs = n_symbols * (n_symbols - 1)
    return n_symbols * (1 - (1 - 0.5 / n_symbols) ** batch) + pairs * (1 - (1 - 0.5 / pairs) ** batch)


def distinct_symbols(n_symbols: int, batch: int) -> float:
    """Expected number of different symbols in one half of a batch."""
    return n_symbols * (1 - (1 - 1 / n_symbols) ** batch)


def _weights(cell: Cell) -> int:
    """Numbers in omega of a cell, padded."""
    return 2 * padded(_symbols(cell), TILE) * padded(cell.width, CHUNK)


def _symbols(cell: Cell) -> int:
    assert isinstance(cell.task, SameDifferent)
    return cell.task.L


def trainer_on_card(cells: Sequence[Cell], device: str = "cuda") -> "GramCuda | GramLarge":
    """The trainer for a card, without a check of its numbers. A cell has its own, whatever its pack, as a result depends on its
    cell alone. ValueError if the cells have different ones."""
    from trainables.engines.gram.cuda import GramCuda
    from trainables.engines.gram.cuda_large import GramLarge

    kinds = {_symbols(cell) > FEW_SYMBOLS for cell in cells}
    if len(kinds) > 1:
        raise ValueError(f"a pack of engine gram on a GPU holds cells of up to {FEW_SYMBOLS} symbols, or of more, not both")
    return (GramLarge if kinds.pop() else GramCuda)(cells, device)
