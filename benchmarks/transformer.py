"""`python -m benchmarks.transformer`: ms an epoch and network of transformers one at a time, in JAX, stacked; of products alone.

Transformers of the size of [Boix23] (embedding 128, 16 heads of 64, width 256, two layers) learn aba/abb from P strings, all at
each step, by Adam. One at a time means `nn.Module` as a user writes it: attention for all tokens in both layers,
`torch.optim.Adam`. The same in JAX is all networks of a pack at once, by `jit(vmap(scan))` and optax, with all cores; it wants
`pip install jax optax`, and is left out without them. The others are timed with one thread and with all cores, and the stacked
way with a pack on each core besides, in turn in each of several rounds; the best round of each counts. The products are those of
all tokens that the stacked way takes through a layer, three times, for forward and backward passes; in the first layer it shares
some of them.
"""

import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from importlib.util import find_spec
from multiprocessing import get_context
from typing import Any, NamedTuple

import torch
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn

from trainables.cell import Cell, cell_of
from trainables.engines.stacked.trainer import Stacked
from trainables.limits import cores
from trainables.streams import stream, stream_owner
from trainables.tasks import Template

CORES = cores()
ROUNDS = 5
EPOCHS = 3
"""Epochs of a timing."""
PACKS = ((64, 1), (64, 8), (256, 4), (1024, 1), (1024, 2))
"""Training strings, and networks in a pack."""


class Layer(nn.Module):
    """One layer of a transformer, for all tokens."""

    def __init__(self, d: int, heads: int, head_dim: int, width: int) -> None:
        super().__init__()
        inner = heads * head_dim
        self.heads, self.head_dim = heads, head_dim
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.out = nn.Linear(d, 3 * inner, bias=False), nn.Linear(inner, d, bias=False)
        self.mlp = nn.Sequential(nn.Linear(d, width), nn.GELU(), nn.Linear(width, d))
        self.a, self.b = nn.Parameter(torch.zeros(heads)), nn.Parameter(torch.zeros(heads))

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm1(x)
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.qkv(y).chunk(3, dim=-1))
        scores = q @ k.transpose(-1, -2) * self.head_dim**-0.5
        scores = scores + self.a[:, None, None] * (y @ y.transpose(-1, -2))[:, None]
        attention = scores.softmax(-1)
        x = x + self.out((attention @ v).transpose(1, 2).flatten(2))
        x = x + (self.b[:, None, None] * (attention @ y[:, None])).sum(1)
        return x + self.mlp(self.norm2(x))


class Alone(nn.Module):
    """A transformer that reads CLS."""

    def __init__(self, cell: Cell) -> None:
        super().__init__()
        n: Any = cell.network
        d = n.embedding
        self.embedding = nn.Embedding(cell.task.n_tokens, d)
        self.pos, self.cls = nn.Parameter(torch.randn(cell.task.input_dim + 1, d)), nn.Parameter(torch.randn(d))
        self.layers = nn.Sequential(*(Layer(d, n.heads, n.head_dim, n.width) for _ in range(n.depth)))
        self.readout = nn.Sequential(nn.LayerNorm(d, elementwise_affine=False), nn.Linear(d, 1))

    def forward(self, x: Tensor) -> Tensor:
        x = torch.cat([self.embedding(x), self.cls.expand(len(x), 1, -1)], 1) + self.pos
        return self.readout(self.layers(x)[:, -1]).squeeze(-1)


def ensemble(cells: list[Cell]) -> Callable[[], object]:
    """Three epochs of all networks at once in JAX, attention for all tokens in both layers."""
    import jax
    import optax
    from jax import numpy as jnp

    n: Any = cells[0].network
    d, inner, rule = n.embedding, n.heads * n.head_dim, optax.adam(1e-3)
    x, y = cells[0].task.train_examples(
        stream(stream_owner(cells[0]), "batches"), cells[0].task.draw_symbols(stream("", "symbols")), cells[0].batch
    )
    length = x.shape[1] + 1
    shapes = {"qkv": (d, 3 * inner), "out": (inner, d), "w1": (d, n.width), "w2": (n.width, d)}

    def initial(key: Any) -> Any:
        def layer(key: Any) -> Any:
            keys = jax.random.split(key, len(shapes))
            drawn = {name: jax.random.normal(k, of) / of[0] ** 0.5 for k, (name, of) in zip(keys, shapes.items(), strict=True)}
            norms = {name: jnp.full(d, float(name[0] == "g")) for name in ("gain1", "gain2", "shift1", "shift2", "bias2")}
            return drawn | norms | {"bias1": jnp.zeros(n.width), "a": jnp.zeros(n.heads), "b": jnp.zeros(n.heads)}

        first, *of_layers = jax.random.split(key, n.depth + 1)
        given = {"E": (cells[0].task.n_tokens, d), "pos": (length, d), "cls": (d,)}
        drawn = {name: jax.random.normal(k, of) for k, (name, of) in zip(jax.random.split(first, 3), given.items(), strict=True)}
        return drawn | {"layers": [layer(k) for k in of_layers], "readout": jnp.zeros(d), "bias": jnp.zeros(())}

    def norm(h: Any) -> Any:
        h = h - h.mean(-1, keepdims=True)
        return h / jnp.sqrt(jnp.square(h).mean(-1, keepdims=True) + 1e-5)

    def layer(h: Any, of: Any) -> Any:
        u = norm(h) * of["gain1"] + of["shift1"]
        q, k, v = (part.reshape(*part.shape[:2], n.heads, n.head_dim) for part in jnp.split(u @ of["qkv"], 3, -1))
        scores = jnp.einsum("bihd,bjhd->bhij", q, k) * n.head_dim**-0.5
        attention = jax.nn.softmax(scores + of["a"][:, None, None] * jnp.einsum("bid,bjd->bij", u, u)[:, None])
        h = h + jnp.einsum("bhij,bjhd->bihd", attention, v).reshape(*h.shape[:2], inner) @ of["out"]
        h = h + jnp.einsum("h,bhij,bjd->bid", of["b"], attention, u)
        hidden = jax.nn.gelu((norm(h) * of["gain2"] + of["shift2"]) @ of["w1"] + of["bias1"], approximate=False)
        return h + hidden @ of["w2"] + of["bias2"]

    def lost(theta: Any) -> Any:
        cls = jnp.broadcast_to(theta["cls"], (len(x), 1, d))
        h = jnp.concatenate([theta["E"][x], cls], 1) + theta["pos"]
        for of in theta["layers"]:
            h = layer(h, of)
        return jnp.square(norm(h[:, -1]) @ theta["readout"] + theta["bias"] - y).mean()

    def trained(theta: Any, state: Any) -> Any:
        def epoch(carry: Any, _: Any) -> Any:
            theta, state = carry
            loss, slope = jax.value_and_grad(lost)(theta)
            change, state = rule.update(slope, state, theta)
            return (optax.apply_updates(theta, change), state), loss

        return jax.lax.scan(epoch, (theta, state), length=EPOCHS)

    theta = jax.vmap(initial)(jax.random.split(jax.random.key(0), len(cells)))
    run, kept = jax.jit(jax.vmap(trained)), [(theta, jax.vmap(rule.init)(theta))]

    def epochs() -> None:
        kept[0], losses = run(*kept[0])
        losses.block_until_ready()

    return epochs


class Way(NamedTuple):
    """A way to train, with its threads and the networks that one call of `step` trains for one epoch."""

    name: str
    threads: int
    step: Callable[[], object]
    n: int


def alone(cell: Cell) -> Callable[[], object]:
    """A step of one network in plain PyTorch."""
    x, y = cell.task.train_examples(
        stream(stream_owner(cell), "batches"), cell.task.draw_symbols(stream("", "symbols")), cell.batch
    )
    strings, labels = torch.from_numpy(x), torch.from_numpy(y)
    net = Alone(cell)
    optimiser = torch.optim.Adam(net.parameters(), lr=1e-3)

    def step() -> float:
        loss = (net(strings) - labels).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        return loss.item()

    return step


def products(cell: Cell) -> Callable[[], object]:
    """Products of the sizes of the layers, with as many multiplications and additions as a step of one network."""
    n: Any = cell.network
    length, inner = cell.task.input_dim + 1, n.heads * n.head_dim
    of_all, of_read = cell.batch * length, cell.batch
    sizes = [(of_all, n.embedding, 3 * inner), (of_all, inner, n.embedding), (of_all, n.embedding, 2 * n.width)] * (n.depth - 1)
    sizes += [(of_read, n.embedding, 4 * inner), (of_read, n.embedding, 2 * n.width)]  # of the last layer one token
    pairs = [(torch.randn(rows, between), torch.randn(between, columns)) for rows, between, columns in sizes]

    def step() -> None:
        for _ in range(3):
            for a, b in pairs:
                a @ b

    return step


@cache
def stacked(P: int, n: int) -> Stacked:
    """A pack of n networks."""
    task = Template(template="aba/abb", P=P)
    return Stacked([cell_of(task, seed=seed, batch=P, identity_qk=True) for seed in range(n)])


def seconds_of(step: Callable[[], object]) -> float:
    """Seconds that a step takes, after one that is not timed."""
    step()
    started = time.perf_counter()
    for _ in range(EPOCHS):
        step()
    return (time.perf_counter() - started) / EPOCHS


def in_worker(P: int, n: int) -> float:
    """Seconds of an epoch of a pack in a process of its own."""
    return seconds_of(lambda: stacked(P, n).train(0, 1))


def main() -> None:
    """Time all ways and print them."""
    table = Table(box=SIMPLE_HEAD)
    for column in ("P", "networks", "way", "cores", "ms an epoch and network"):
        table.add_column(column, justify="right")
    with ProcessPoolExecutor(CORES, get_context("spawn"), initializer=torch.set_num_threads, initargs=(1,)) as pool:
        for P, n in PACKS:
            pack = stacked(P, n)
            ways = [
                way
                for threads in sorted({1, CORES})
                for way in (
                    Way("one at a time", threads, alone(pack.stacks[0].cell), 1),
                    Way("stacked", threads, lambda of=pack: of.train(0, 1), n),  # type: ignore[misc]
                    Way("products", threads, products(pack.stacks[0].cell), 1),
                )
            ]
            if find_spec("jax") and find_spec("optax"):
                ways.append(Way("JAX", CORES, ensemble(pack.stacks[0].cells), n * EPOCHS))
            best, together = [float("inf")] * len(ways), float("inf")
            for _ in range(ROUNDS):
                for w, way in enumerate(ways):
                    torch.set_num_threads(way.threads)
                    best[w] = min(best[w], seconds_of(way.step) / way.n)
                found = [one.result() for one in [pool.submit(in_worker, P, n) for _ in range(CORES)]]
                together = min(together, 1 / sum(n / seconds for seconds in found))
            for way, seconds in zip(ways, best, strict=True):
                table.add_row(str(P), str(n), way.name, str(way.threads), f"{1e3 * seconds:.1f}")
            table.add_row(str(P), str(n), "stacked, a pack on each core", str(CORES), f"{1e3 * together:.1f}")
            table.add_section()
    Console().print(table)


if __name__ == "__main__":
    main()
