"""`python -m benchmarks.stacked [small|mnist]`: ms a step and network of networks one at a time, stacked, and of products alone.

24 perceptrons, each with a seed of its own, and so with inputs of its own. `small`: three hidden layers learn same-different from
fresh examples. `mnist`: four hidden layers learn ten classes from 4000 inputs of the size of an MNIST image. One at a time means
`nn.Module`, `torch.optim.SGD`, and batches drawn by the task itself or taken from tensors that hold the training set, with all
cores or, if that is faster for so small a network, with one. All ways are timed in turn in each of several rounds. The best round
of each counts, because other work on the machine only ever adds time.
"""

import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any, NamedTuple

import torch
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from trainables.cell import Cell, cell_of
from trainables.engines.stacked.traced import Traced
from trainables.engines.stacked.trainer import Stacked
from trainables.limits import cores
from trainables.networks.mlp import MLP
from trainables.streams import BLOCK_STEPS, stream, stream_owner
from trainables.tasks import Clusters, SameDifferent, Task

CORES = cores()
PACK = 24
STEPS = BLOCK_STEPS
ROUNDS = 12
SINGLE = 4
"""The number of networks that are trained one at a time: each takes as long as the next."""


class Setting(NamedTuple):
    """The networks to time, and how many times faster than one at a time, on all cores, they are to be."""

    task: Task
    depth: int
    width: int
    aim: float

    def cells(self) -> list[Cell]:
        """Networks that differ only in their seeds."""
        own: dict[str, Any] = {"depth": self.depth, "width": self.width, "batch": 128, "base_lr": 0.1}
        return [cell_of(self.task, seed=seed, network="mlp", **own) for seed in range(PACK)]


SETTINGS = {
    "small": Setting(SameDifferent(L=16, d=64), depth=3, width=64, aim=8.0),
    "mnist": Setting(Clusters(d=784, P=4000, classes=10), depth=4, width=100, aim=5.0),
}


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
        n_train = pack[0].task.n_train
        self.sets = None if n_train is None else [self._drawn(c, n_train) for c in range(len(pack))]

    def train(self) -> None:
        """Train each network for STEPS steps."""
        for c, cell in enumerate(self.pack):
            loss, right = 0.0, 0
            for _ in range(STEPS):
                x, y = self._batch(c, cell.batch)
                self.optimisers[c].zero_grad()
                f = self.nets[c](x)
                if cell.task.targets == "classes":
                    lost, is_right = cross_entropy(f, y), f.argmax(1) == y
                else:
                    lost, is_right = binary_cross_entropy_with_logits(f[:, 0], y.float()), (f[:, 0] > 0) == y
                lost.backward()  # type: ignore[no-untyped-call]
                self.optimisers[c].step()
                loss, right = loss + lost.item(), right + int(is_right.sum())

    def _batch(self, c: int, n: int) -> tuple[Tensor, Tensor]:
        """Fresh examples, or some of the training set, drawn with replacement."""
        if self.sets is None:
            return self._drawn(c, n)
        x, y = self.sets[c]
        chosen = torch.randint(len(x), (n,))
        return x[chosen], y[chosen]

    def _drawn(self, c: int, n: int) -> tuple[Tensor, Tensor]:
        x, y = self.pack[c].task.train_examples(self.generators[c], self.symbols[c], n)
        return torch.from_numpy(x), torch.from_numpy(y)

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
                stack.passes = Traced(stack.cells)

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


def _in_worker(setting: Setting) -> float:
    """Seconds of STEPS steps of a pack, in a process of its own."""
    if not _PACKED:
        _PACKED.append(Packed(setting.cells()))
        _PACKED[0].train()
    return _seconds(_PACKED[0].train)


class Way(NamedTuple):
    """A way to take STEPS steps of some networks."""

    name: str
    cores: int
    networks: int
    work: Callable[[], object]


def measured(setting: Setting) -> dict[Way, float]:
    """Seconds per step and network of every way."""
    pack = setting.cells()
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
    together = Way("stacked, a pack on each core", CORES, PACK, partial(_in_worker, setting))
    best[together] = float("inf")
    with ProcessPoolExecutor(CORES, get_context("spawn"), initializer=torch.set_num_threads, initargs=(1,)) as pool:
        for _ in range(ROUNDS):
            for way in ways:
                torch.set_num_threads(way.cores)
                best[way] = min(best[way], _seconds(way.work) / way.networks)
            seconds = [found.result() for found in [pool.submit(_in_worker, setting) for _ in range(CORES)]]
            best[together] = min(best[together], 1 / sum(PACK / s for s in seconds))
    return {way: seconds / STEPS for way, seconds in best.items()}


def main(name: str = "small") -> None:
    """Print the table of a setting."""
    setting = SETTINGS[name]
    found = measured(setting)
    whole = min(seconds for way, seconds in found.items() if way.name == "one at a time")
    limit = next(seconds for way, seconds in found.items() if way.name == "products alone")
    shape = f"depth {setting.depth}, width {setting.width}, batch 128, {setting.task.input_dim} inputs"
    title = f"{PACK} networks, {shape}: ms a step and network; aim {setting.aim:.0f} x"
    table = Table(box=SIMPLE_HEAD, title=title, title_justify="left")
    for name in ("way", "cores", "ms", "faster than one at a time", "time x cores / products alone"):
        table.add_column(name, justify="left" if name == "way" else "right")
    for way, seconds in found.items():
        row = f"{1e3 * seconds:.4f}", f"{whole / seconds:.1f} x", f"{seconds * way.cores / limit:.2f}"
        table.add_row(way.name, str(way.cores), *row)
    Console(width=120).print(table)


if __name__ == "__main__":
    main(*sys.argv[1:])
