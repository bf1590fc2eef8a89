"""Steps recorded as CUDA graphs, so that one launch repeats many kernels."""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch


def recorded(
    device: torch.device, before: Callable[[], object], works: Sequence[Callable[[], object]]
) -> list[torch.cuda.CUDAGraph]:
    """A graph of each piece of work, which must not wait for the device; they share their memory, so only one may run at a time.

    `before` runs first and is not recorded: libraries set themselves up at their first use, and Triton compiles.
    """
    aside = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
    aside.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(aside):
        before()
    torch.cuda.current_stream(device).wait_stream(aside)
    graphs: list[torch.cuda.CUDAGraph] = []
    for work in works:
        graph = torch.cuda.CUDAGraph()
        pool = graphs[0].pool() if graphs else None
        # Threads may draw for another trainer meanwhile: what they ask of CUDA must not end this recording.
        with _uncollected(), torch.cuda.graph(graph, pool=pool, capture_error_mode="thread_local"):
            work()
        graphs.append(graph)
    return graphs


@contextmanager
def _uncollected() -> Iterator[None]:
    """Inside, Python's garbage collector is off: if it freed another graph, the recording would fail."""
    gc.collect()
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
