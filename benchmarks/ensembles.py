"""`python -m benchmarks.ensembles [small|fixed|mnist ...]`: dense networks as people train them, side by side in one run.

Microseconds a step and network, with all cores, of
- one network at a time in PyTorch, as a user's loop: `nn.Module` and `torch.optim`, with all cores or one, whichever is faster;
- an ensemble in JAX, as a strong user writes it in an afternoon: `jit(vmap(scan))` over networks, data drawn on the device, the
  optimiser of optax. It wants `pip install jax optax`, and is left out without them;
- `stacked` and `resident`, a pack on each core, with the data that the tool draws.

Beside them stand the products of a step at the fastest rate that this machine reaches at any size. All ways are timed in turn in
each of several rounds; the best round of each counts, because other work on the machine only ever adds time.
"""

import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from importlib.util import find_spec
from itertools import count, pairwise
from multiprocessing import get_context
from typing import Any, NamedTuple

import numpy as np
import torch
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, mse_loss

from benchmarks.limits import CORES, limits
from trainables.cell import Cell, cell_of
from trainables.engines import descent_engine
from trainables.networks.mlp import MLP
from trainables.streams import stream, stream_owner
from trainables.tasks import Clusters, Hermite, SameDifferent, Task

STEPS = 100
ROUNDS = 10
SINGLE = 2
"""Networks that are trained one at a time: each takes as long as the next."""
AFTERNOON = ("one at a time", "JAX")


class Work(NamedTuple):
    """Networks to train, which differ in their seeds alone."""

    title: str
    n: int
    task: Task
    keys: dict[str, Any]

    def cells(self) -> list[Cell]:
        return [cell_of(self.task, seed=seed, network="mlp", **self.keys) for seed in range(self.n)]


WORKS = {
    "small": Work(
        "depth 3, width 64, SGD on fresh batches of 128", 24, SameDifferent(L=16, d=64),
        {"depth": 3, "width": 64, "batch": 128, "base_lr": 0.1},
    ),
    "fixed": Work(
        "depth 3, width 128, tanh, biases, Adam, batches of 64 of P = 512", 42, Hermite(d=20, degree=2, P=512),
        {"depth": 3, "width": 128, "activation": "tanh", "bias": True, "training": "adam", "batch": 64},
    ),
    "mnist": Work(
        "depth 4, width 100, SGD, batches of 128 of 4000 images, 10 classes", 24, Clusters(d=784, P=4000, classes=10),
        {"depth": 4, "width": 100, "batch": 128, "base_lr": 0.1},
    ),
}  # fmt: skip


def sizes_of(cell: Cell) -> list[int]:
    """Numbers of inputs, of each layer's neurons and of outputs."""
    assert isinstance(cell.network, MLP)
    fans = cell.network.fans(cell)
    return [fans[0][0], *(fan_out for _, fan_out in fans)]


def products_of(cell: Cell) -> float:
    """Multiply-adds of the products of a step: forward, to the weights, and to each layer before."""
    layers = list(pairwise(sizes_of(cell)))
    return sum(float(cell.batch * a * b * (3 if n else 2)) for n, (a, b) in enumerate(layers))


class InTurn:
    """Networks trained one after the other in plain PyTorch."""

    def __init__(self, cells: list[Cell]) -> None:
        self.cells = cells
        self.nets = [self._module(cell) for cell in cells]
        kind = torch.optim.Adam if cells[0].training.name == "adam" else torch.optim.SGD
        self.optimisers = [kind(net.parameters(), lr=cell.descent.base_lr) for net, cell in zip(self.nets, cells, strict=True)]
        self.symbols = [cell.task.draw_symbols(stream(stream_owner(cell), "symbols")) for cell in cells]
        self.generators = [stream(stream_owner(cell), "batches") for cell in cells]
        n_train = cells[0].task.n_train
        self.sets = None if n_train is None else [self._drawn(c, n_train) for c in range(len(cells))]

    def train(self) -> None:
        """Train each network for STEPS steps, and note its loss."""
        for c, cell in enumerate(self.cells):
            net, optimiser, total = self.nets[c], self.optimisers[c], 0.0
            for _ in range(STEPS):
                x, y = self._batch(c, cell.batch)
                optimiser.zero_grad()
                f = net(x)
                lost = cross_entropy(f, y) if cell.task.targets == "classes" else self._of_one(cell, f[:, 0], y)
                lost.backward()  # type: ignore[no-untyped-call]
                optimiser.step()
                total += lost.item()

    @staticmethod
    def _of_one(cell: Cell, f: Tensor, y: Tensor) -> Tensor:
        return mse_loss(f, y) if cell.loss == "mse" else binary_cross_entropy_with_logits(f, y.float())

    def _batch(self, c: int, n: int) -> tuple[Tensor, Tensor]:
        if self.sets is None:
            return self._drawn(c, n)
        x, y = self.sets[c]
        chosen = torch.randint(len(x), (n,))
        return x[chosen], y[chosen]

    def _drawn(self, c: int, n: int) -> tuple[Tensor, Tensor]:
        x, y = self.cells[c].task.train_examples(self.generators[c], self.symbols[c], n)
        return torch.from_numpy(x), torch.from_numpy(y)

    @staticmethod
    def _module(cell: Cell) -> nn.Module:
        assert isinstance(cell.network, MLP)
        activation = {"relu": nn.ReLU, "tanh": nn.Tanh}[cell.network.activation]
        layers: list[nn.Module] = []
        for a, b in pairwise(sizes_of(cell)):
            layers += [nn.Linear(a, b, bias=cell.network.bias), activation()]
        return nn.Sequential(*layers[:-1])


class Ensemble:
    """All networks of a work at once in JAX."""

    def __init__(self, cells: list[Cell]) -> None:
        import jax
        import optax
        from jax import numpy as jnp

        cell, network = cells[0], cells[0].network
        assert isinstance(network, MLP)
        sizes, batch, n_train = sizes_of(cell), cell.batch, cell.task.n_train
        rate = cell.descent.base_lr
        rule = optax.adam(rate) if cell.training.name == "adam" else optax.sgd(rate)
        phi = {"relu": jax.nn.relu, "tanh": jnp.tanh}[network.activation]

        def initial(key: Any) -> Any:
            keys = jax.random.split(key, len(sizes))
            return [
                {"w": jax.random.normal(k, (a, b)) / a**0.5} | ({"b": jnp.zeros(b)} if network.bias else {})
                for k, (a, b) in zip(keys, pairwise(sizes), strict=False)
            ]

        def lost(theta: Any, x: Any, y: Any) -> Any:
            for n, layer in enumerate(theta):
                x = x @ layer["w"] + (layer["b"] if network.bias else 0)
                x = phi(x) if n + 1 < len(theta) else x
            if cell.task.targets == "classes":
                return optax.softmax_cross_entropy_with_integer_labels(x, y).mean()
            if cell.loss == "mse":
                return jnp.square(x[:, 0] - y).mean()
            return optax.sigmoid_binary_cross_entropy(x[:, 0], y).mean()

        def examples(key: Any, held: Any) -> Any:
            own, other, kind = jax.random.split(key, 3)
            if n_train is not None:
                chosen = jax.random.randint(own, (batch,), 0, n_train)
                return jax.tree.map(lambda whole: whole[chosen], held)
            n, y = len(held), jax.random.bernoulli(kind, shape=(batch,))
            i = jax.random.randint(own, (batch,), 0, n)
            j = jnp.where(y, i, (i + jax.random.randint(other, (batch,), 1, n)) % n)
            return jnp.concatenate([held[i], held[j]], 1), y.astype(jnp.float32)

        def trained(theta: Any, state: Any, held: Any, key: Any) -> Any:
            def step(carry: Any, key: Any) -> Any:
                theta, state = carry
                loss, slope = jax.value_and_grad(lost)(theta, *examples(key, held))
                change, state = rule.update(slope, state, theta)
                return (optax.apply_updates(theta, change), state), loss

            return jax.lax.scan(step, (theta, state), jax.random.split(key, STEPS))

        self.jax, self.keys = jax, count()
        self.theta = jax.vmap(initial)(jax.random.split(jax.random.key(0), len(cells)))
        self.state = jax.vmap(rule.init)(self.theta)
        held = [self._held(one) for one in cells]
        self.held = jax.tree.map(lambda *own: jnp.stack(own), *held)
        self.run = jax.jit(jax.vmap(trained))

    @staticmethod
    def _held(cell: Cell) -> Any:
        """The training set from which a network draws its batches, or its symbols."""
        symbols = cell.task.draw_symbols(stream(stream_owner(cell), "symbols"))
        if cell.task.n_train is None:
            return np.asarray(symbols)
        return cell.task.train_examples(stream(stream_owner(cell), "batches"), symbols, cell.task.n_train)

    def train(self) -> None:
        """Train all networks for STEPS steps."""
        keys = self.jax.random.split(self.jax.random.key(next(self.keys)), len(self.jax.tree.leaves(self.theta)[0]))
        (self.theta, self.state), losses = self.run(self.theta, self.state, self.held, keys)
        losses.block_until_ready()


@cache
def _pack(name: str, engine: str, core: int) -> Callable[[], object]:
    """Takes the next STEPS steps of a core's share of the networks."""
    made, steps = descent_engine(engine).trainer(WORKS[name].cells()[core::CORES]), count(0, STEPS)
    return lambda: made.train(next(steps), STEPS)


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _on_core(name: str, engine: str, core: int) -> float:
    return _seconds(_pack(name, engine, core))


def measured(name: str) -> dict[str, float]:
    """Seconds a step and network of each way, and of the products alone."""
    work = WORKS[name]
    cells = work.cells()
    in_turn = InTurn(cells[:SINGLE])
    ways: dict[str, Callable[[], float]] = {}

    def alone(threads: int) -> float:
        torch.set_num_threads(threads)
        return _seconds(in_turn.train) / SINGLE

    ways["one at a time"] = lambda: min(alone(1), alone(CORES))
    if find_spec("jax") and find_spec("optax"):
        ensemble = Ensemble(cells)
        ensemble.train()  # compiles
        ways["JAX"] = lambda: _seconds(ensemble.train) / work.n
    # A process for each core, with one thread.
    pools = [ProcessPoolExecutor(1, get_context("spawn"), torch.set_num_threads, (1,)) for _ in range(CORES)]

    def together(engine: str) -> float:
        asked = [pool.submit(_on_core, name, engine, core) for core, pool in enumerate(pools)]
        return max(found.result() for found in asked) / work.n

    for engine in ("stacked", "resident"):
        together(engine)
        ways[engine] = partial(together, engine)
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(ROUNDS):
        for way, timed in ways.items():
            best[way] = min(best[way], timed())
    for pool in pools:
        pool.shutdown()
    return {way: seconds / STEPS for way, seconds in best.items()}


def main(*names: str) -> None:
    """Print a table of each work."""
    fastest = limits().products
    for name in names or WORKS:
        work, found = WORKS[name], measured(name)
        limit = products_of(work.cells()[0]) / fastest
        table = Table(box=SIMPLE_HEAD, title=f"{name}: {work.n} networks, {work.title}", title_justify="left")
        for column in ("way", "us", "faster than one at a time", "faster than JAX", "/ products"):
            table.add_column(column, justify="left" if column == "way" else "right")
        for way, seconds in {**found, "products alone": limit}.items():
            times = [f"{found[other] / seconds:.1f} x" if other in found else "" for other in AFTERNOON]
            table.add_row(way, f"{1e6 * seconds:.1f}", *times, f"{seconds / limit:.2f}")
        Console(width=110).print(table)


if __name__ == "__main__":
    main(*sys.argv[1:])
