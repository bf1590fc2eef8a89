"""`python -m benchmarks.stacked`: ms per step and network of small networks one at a time, stacked, and of the products alone.

24 perceptrons of three hidden layers learn same-different, each with a seed of its own, and so with inputs of its own. One at a
time means `nn.Module`, `torch.optim.SGD` and batches drawn by the task itself, with all cores or, if that is faster for so small
a network, with one. All ways are timed in turn in each of several rounds. The best round of each counts, because other work on
the machine only ever adds time. The aim is 8 times faster than one at a time.
"""

import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import NamedTuple

import torch
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from trainables.cell import Cell, cell_of
from trainables.networks.mlp import MLP
from trainables.streams import BLOCK_STEPS, stream, stream_owner
from trainables.tasks import SameDifferent
from trainables.trainers.stacked import Stacked
from trainables.trainers.traced import Traced

CORES = len(os.sched_getaffinity(0))
PACK = 24
STEPS = BLOCK_STEPS
ROUNDS = 12
AIM = 8.0
SINGLE = 4
"""The number of networks that are trained one at a time: each takes as long as the next."""


def cells() -> list[Cell]:
    """Networks that differ only in their seeds."""
    task = SameDifferent(L=16, d=64)
    return [cell_of(task, network="mlp", depth=3, width=64, batch=128, seed=seed) for seed in range(PACK)]


class OneAtATime:
    """Networks trained one after the other in plain PyTorch, as a user would."""

    def __init__(self, pack: list[Cell]) -> None:
        self.pack = pack
        self.nets = [self._module(cell) for cell in pack]
        self.optimisers = [
            torch.optim.SGD(net.parameters(), lr=cell.learning_rate) for net, cell in zip(self.nets, pack, strict=True)
        ]
        self.symbols = [cell.task.draw_symbols(stream(stream_owner(cell), "symbols")) for cell in pack]
        self.generators = [stream(stream_owner(cell), "batches") for cell in pack]

    def train(self) -> None:
        """Train each network for STEPS steps."""
        for c, cell in enumerate(self.pack):
            loss, right = 0.0, 0
            for _ in range(STEPS):
                x, y = map(torch.from_numpy, cell.task.train_examples(self.generators[c], self.symbols[c], cell.batch))
                self.optimisers[c].zero_grad()
                f = self.nets[c](x)[:, 0]
                lost = binary_cross_entropy_with_logits(f, y.float())
                lost.backward()  # type: ignore[no-untyped-call]
                self.optimisers[c].step()
                loss, right = loss + lost.item(), right + int(((f > 0) == y).sum())

    @staticmethod
    def _module(cell: Cell) -> nn.Module:
        assert isinstance(cell.network, MLP)
        layers: list[nn.Module] = []
        for fan_in, fan_out in cell.network.fans(cell):
            layers += [nn.Linear(fan_in, fan_out, bias=False), nn.ReLU()]
        return nn.Sequential(*layers[:-1])


class Packed:
    """A pack as the engine trains it."""

    def __init__(self, pack: list[Cell], is_general: bool = False) -> None:
        self.made = Stacked(pack)
        if is_general:  # as for a network that defines only `apply`
            for stack in self.made.stacks:
                stack.passes = Traced(stack.network, stack.cell)

    def train(self) -> None:
        """Train all networks for STEPS steps."""
        self.made.train(0, STEPS)

    def draw(self) -> None:
        """Draw the data of these steps alone."""
        for block in range(STEPS // BLOCK_STEPS):
            self.made.stacks[0].staging.take(block)


class Products:
    """The matrix products of a step alone, each in the fastest layout, with nothing between them."""

    def __init__(self, pack: list[Cell]) -> None:
        cell = pack[0]
        assert isinstance(cell.network, MLP)
        fans, n = cell.network.fans(cell), cell.batch
        sizes = [(n, a, b) for a, b in fans] + [(a, n, b) for a, b in fans] + [(n, b, a) for a, b in fans[1:]]
        self.work = [self._fastest(len(pack), *size) for size in sizes]

    def train(self) -> None:
        """Do the products of STEPS steps."""
        for _ in range(STEPS):
            for product in self.work:
                product()

    @staticmethod
    def _fastest(count: int, rows: int, inner: int, columns: int) -> Callable[[], Tensor]:
        ways: list[Callable[[], Tensor]] = []
        out, transposed = torch.empty(count, rows, columns), torch.empty(count, columns, rows)
        for a in (torch.randn(count, rows, inner), torch.randn(count, inner, rows).mT):
            for b in (torch.randn(count, inner, columns), torch.randn(count, columns, inner).mT):
                ways += [partial(torch.bmm, a, b, out=out), partial(torch.bmm, b.mT, a.mT, out=transposed)]
                ways += [partial(torch.mul, a, b, out=out)] if inner == 1 else []
        return min(ways, key=lambda way: min(_seconds(way) for _ in range(20)))


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


_PACKED: list[Packed] = []


def _in_worker() -> float:
    """Seconds of STEPS steps of a pack, in a process of its own."""
    if not _PACKED:
        _PACKED.append(Packed(cells()))
        _PACKED[0].train()
    return _seconds(_PACKED[0].train)


class Way(NamedTuple):
    """A way to take STEPS steps of some networks."""

    name: str
    cores: int
    networks: int
    work: Callable[[], object]


def measured() -> dict[Way, float]:
    """Seconds per step and network of every way."""
    pack = cells()
    one, stacked, general, products = OneAtATime(pack[:SINGLE]), Packed(pack), Packed(pack, is_general=True), Products(pack)
    ways = [
        Way("one at a time", CORES, SINGLE, one.train),
        Way("one at a time", 1, SINGLE, one.train),
        Way("stacked", CORES, PACK, stacked.train),
        Way("stacked", 1, PACK, stacked.train),
        Way("stacked by `apply` alone", 1, PACK, general.train),
        Way("products alone", 1, PACK, products.train),
        Way("drawing alone", 1, PACK, stacked.draw),
    ]
    best = {way: float("inf") for way in ways}
    together = Way("stacked, a pack on each core", CORES, PACK, _in_worker)
    best[together] = float("inf")
    with ProcessPoolExecutor(CORES, get_context("spawn"), initializer=torch.set_num_threads, initargs=(1,)) as pool:
        for _ in range(ROUNDS):
            for way in ways:
                torch.set_num_threads(way.cores)
                best[way] = min(best[way], _seconds(way.work) / way.networks)
            seconds = [found.result() for found in [pool.submit(_in_worker) for _ in range(CORES)]]
            best[together] = min(best[together], 1 / sum(PACK / s for s in seconds))
    return {way: seconds / STEPS for way, seconds in best.items()}


def main() -> None:
    """Print the table."""
    found = measured()
    whole = min(seconds for way, seconds in found.items() if way.name == "one at a time")
    limit = next(seconds for way, seconds in found.items() if way.name == "products alone")
    title = f"{PACK} networks, depth 3, width 64, batch 128, 128 inputs: ms a step and network; aim {AIM:.0f} x"
    table = Table(box=SIMPLE_HEAD, title=title, title_justify="left")
    for name in ("way", "cores", "ms", "faster than one at a time", "time x cores / products alone"):
        table.add_column(name, justify="left" if name == "way" else "right")
    for way, seconds in found.items():
        row = f"{1e3 * seconds:.4f}", f"{whole / seconds:.1f} x", f"{seconds * way.cores / limit:.2f}"
        table.add_row(way.name, str(way.cores), *row)
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
