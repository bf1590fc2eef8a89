"""Steps recorded as CUDA graphs, so that one launch repeats many kernels."""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch

from trainables.basics import CannotRecordError


def recorded(
    device: torch.device, before: Callable[[], object], works: Sequence[Callable[[], object]]
) -> list[torch.cuda.CUDAGraph]:
    """A graph of each piece of work, which must not wait for the device; they share their memory, so only one may run at a time.

    `before` runs first and is not recorded: libraries set themselves up at their first use, and Triton compiles.
    """
    aside, usual = torch.cuda.Stream(device), torch.cuda.current_stream(device)  # type: ignore[no-untyped-call]
    aside.wait_stream(usual)
    with torch.cuda.stream(aside):
        before()
    usual.wait_stream(aside)
    graphs: list[torch.cuda.CUDAGraph] = []
    for work in works:
        graph = torch.cuda.CUDAGraph()
        pool = graphs[0].pool() if graphs else None
        # Threads may draw for another trainer meanwhile: what they ask of CUDA must not end this recording.
        # On the stream of the warm-up: libraries keep a workspace for each stream, and a graph holds its address.
        try:
            with _uncollected(), torch.cuda.graph(graph, pool=pool, stream=aside, capture_error_mode="thread_local"):
                work()
        except Exception as error:
            torch.cuda.set_stream(usual)  # a recording that fails leaves its own stream in place
            if isinstance(error, torch.cuda.OutOfMemoryError):
                raise
            line = next(iter(str(error).splitlines()), type(error).__name__)
            raise CannotRecordError(f"a step cannot be recorded for a GPU: {line}") from error
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
