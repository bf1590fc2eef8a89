"""The limits of this machine with all cores: multiplications of matrices, and bytes to and from memory."""

import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import NamedTuple, TypeVar

import numpy as np
import torch

from orchestrator.cost.measure import seconds_of
from trainables.limits import cores
from trainables.trainers.products import product

CORES = cores()
T = TypeVar("T")


class Limits(NamedTuple):
    """Multiply-adds per second of the fastest product found and of torch.mm, and bytes read and written per second in a copy."""

    products: float
    torch_mm: float
    memory: float


def on_every_core(work: Callable[..., T], *args: object) -> list[T]:
    """The results of the same work in as many processes as there are cores, one thread each, at the same time."""
    with ProcessPoolExecutor(CORES, mp_context=get_context("spawn"), initializer=torch.set_num_threads, initargs=(1,)) as pool:
        list(pool.map(_import_engines, range(CORES)))
        return [f.result() for f in [pool.submit(work, *args) for _ in range(CORES)]]


def _import_engines(_: int) -> None:
    import trainables.engines.dense.batched
    import trainables.engines.gram.cpu  # noqa: F401

    time.sleep(0.5)  # long enough that every process takes one call


def rate(run: Callable[[], object], seconds: float = 0.5) -> float:
    """Runs per second in the best of several windows."""
    return 1 / seconds_of(run, rounds=5, window_s=seconds / 5)


def limits_of_a_core() -> Limits:
    """The limits of one process while the others measure theirs."""
    n = 1024
    x, y, out = torch.randn(n, n), torch.randn(n, n), torch.empty(n, n)
    ours, mm = rate(lambda: product(x, y)), rate(lambda: torch.mm(x, y, out=out))
    source = np.ones(2**26, np.float32)
    target = np.empty_like(source)
    copied = rate(lambda: np.copyto(target, source))
    return Limits(n**3 * max(ours, mm), n**3 * mm, 2 * source.nbytes * copied)


def limits() -> Limits:
    """The limits of all cores together."""
    return Limits(*(sum(column) for column in zip(*on_every_core(limits_of_a_core), strict=True)))
