"""`gram` on a GPU for many symbols: blocks of neurons of all networks take each step together, two launches a step.

The steps of a block of the batch stream are a CUDA graph. The data are those of `gram` on the CPU, bit for bit. The module needs
Triton, which comes with PyTorch for CUDA, so only engine `gram` imports it, when it trains on a GPU.
"""

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

import torch
from torch import Tensor

from trainables.cell import Cell
from trainables.engines.gram.cuda_large_step import advance, score
from trainables.engines.gram.plans import Layout, Steps, firsts, power_of_2, table
from trainables.engines.gram.span import Span, check_noiseless_pairs, weighted
from trainables.kernels.sizes import padded
from trainables.streams import BLOCK_STEPS
from trainables.tasks.base import Array
from trainables.trainers.base import Queued
from trainables.trainers.card.graphs import recorded
from trainables.trainers.ensemble import Ensemble
from trainables.trainers.scaled import Scaled

BLOCK = {torch.float32: 128, torch.float64: 32}
ROWS = 128
"""Neurons of a program, and symbols that a product takes at a time: as many as a batch of 128 holds, so that omega is read once a
step. With more, or with fewer threads, the sums no longer fit in registers."""
SUMS = {torch.float32: 64, torch.float64: 16}
"""Sums of a product that a thread holds. Those in float32 are on tensor cores."""
CHUNK = {torch.float32: 16, torch.float64: 4}
"""Columns of the Gram matrix, or numbers of a symbol, that a product takes at a time. More would spill."""
COORDS = 64
"""Numbers of a symbol whose weights are stepped at a time."""
TILE = 16
"""Pairs, or symbols, whose elementwise work is done at a time."""
RECORDED = 1024
"""Programs that record initial outputs in one launch: they need a working array."""


class GramLarge(Queued, Scaled):
    """All networks of the pack at once, a program for each block of neurons; implements Trainer. Networks may differ in L and d.

    Tests without a GPU run it on the CPU, in Triton's interpreter.
    """

    name: ClassVar[str] = "gram"

    @torch.no_grad()
    def __init__(self, cells: Sequence[Cell], device: str = "cuda") -> None:
        check_noiseless_pairs(cells)
        self.nets = nets = Ensemble(cells, device)
        self.span = span = Span(nets)
        self.width, self.sizes = cells[0].width, sizes(cells[0].width, cells[0].batch, nets.dtype)
        n_pairs, width = self.sizes["PAIRS"], self.sizes["WIDTH"]
        self.n_blocks, chunk = width // self.sizes["BLOCK"], self.sizes["CHUNK"]
        of_cell = nets.groups.group
        # A product over Z costs d, and so does the step of U; over the Gram matrix only the product costs L.
        self.by_z = [2 * z.shape[1] < len(z) for z in span.z]
        self.n_coords = [z.shape[by_z] for z, by_z in zip(span.z, self.by_z, strict=True)]
        self.coords = [padded(n, chunk) for n in self.n_coords]

        def zeros(*shape: int) -> Tensor:
            return torch.zeros(shape, dtype=nets.dtype, device=nets.device)

        first_p = firsts(2 * n for n in span.n_symbols)
        first_matrix = firsts(n * k for n, k in zip(span.n_symbols, self.coords, strict=True))
        self.p, self.matrices = zeros(first_p[-1], width), zeros(first_matrix[-1])
        for g, (n, k) in enumerate(zip(span.n_symbols, self.coords, strict=True)):
            self.p[first_p[g] : first_p[g + 1]].view(2, n, width)[..., : self.width] = span.initial(g)
            matrix = self.matrices[first_matrix[g] : first_matrix[g + 1]].view(n, k)
            matrix[:, : self.n_coords[g]] = span.z[g] if self.by_z[g] else span.gram_matrix(g, n)

        layout = Layout.of(span)
        rows = [2 * self.coords[g] for g in of_cell], [2 * span.n_symbols[g] for g in of_cell]
        rows_q = [0 if layout.literal[c] and not self.by_z[g] else 2 * span.n_symbols[g] for c, g in enumerate(of_cell)]
        starts = [layout.first_rows(n) for n in (*rows, rows_q)]
        self.first_row = starts[0]
        self.v, self.h, self.q = (zeros(max(1, sum(n)), width) for n in (*rows, rows_q))
        self.a0, self.b = zeros(2, len(cells), width)
        self.a0[:, : self.width] = nets.a0
        nets.b = self.b[:, : self.width]  # a view: the ensemble sees what the kernel trains
        self.eps, self.lr = nets.eps.flatten(), nets.lr.flatten()
        self.df, self.shares = zeros(len(cells), n_pairs), zeros(len(cells), self.n_blocks, n_pairs)
        self.curves = torch.zeros(2, len(cells), BLOCK_STEPS, dtype=torch.float64, device=nets.device)
        self.now = torch.zeros(2, dtype=torch.int64, device=nets.device)

        first_f0 = firsts(layout.recorded)
        self.f0 = zeros(max(1, first_f0[-1]))
        self.steps = Steps(span, cells[0])
        self.plan = self.steps.none
        columns = (span.n_symbols, self.coords, first_p, first_matrix, first_f0, self.steps.firsts, self.by_z)
        self.groups = table(zip(*columns, strict=False), nets.device)
        self.networks = table(zip(of_cell, *starts, layout.literal, strict=True), nets.device)
        self.programs = table(((c, 0) for c in layout.largest_first), nets.device)
        self._record(layout.recording(n_pairs))
        self.graphs = self._graphs() if nets.device.type == "cuda" else None

    @torch.no_grad()
    def take(self, first_step: int, n_steps: int) -> Tensor:
        curves = torch.empty(2, len(self.nets.cells), n_steps, dtype=torch.float64, device=self.nets.device)
        done = 0
        while done < n_steps:
            step = first_step + done
            self.plan = self.steps.plan(step, self.plan)
            n = min(self.plan.end - step, n_steps - done, BLOCK_STEPS)
            self.now[0].fill_(self.plan.end - self.plan.first)
            self.now[1].fill_(step - self.plan.first)
            if self.graphs and n == BLOCK_STEPS:
                self.graphs[self.steps.staging.turn].replay()
            else:
                self._take(self.plan.numbers, n)
            self.steps.used(self.plan)
            curves[..., done : done + n] = self.curves[..., :n]
            done += n
        return curves

    def state(self) -> dict[str, Array]:
        return {"v": self.v.cpu().numpy(), "b": self.b.cpu().numpy()}

    @torch.no_grad()
    def load(self, state: dict[str, Array]) -> None:
        self.v.copy_(torch.from_numpy(state["v"]))
        self.b.copy_(torch.from_numpy(state["b"]))

    def _trained(self, cells: Sequence[int]) -> Tensor:
        """v (k, 2, K', m) of some cells of a group that follow each other in it."""
        k, first = self.coords[self.nets.groups.group[cells[0]]], self.first_row[cells[0]]
        return self.v[first : first + 2 * k * len(cells)].view(len(cells), 2, k, -1)[..., : self.width]

    def changes(self, cells: Sequence[int], x: Tensor) -> Tensor:
        by_z = self.by_z[self.nets.groups.group[cells[0]]]
        return (weighted if by_z else partial(self.span.changes, cells))(x, self._trained(cells))

    def scaled_weights(self, c: int) -> Tensor:
        g = self.nets.groups.group[c]
        v = self._trained([c])[0, :, : self.n_coords[g]]
        return v.flatten(0, 1) if self.by_z[g] else self.span.scaled_weights(c, v)

    def _take(self, plan: Tensor, n_steps: int) -> None:
        """Take steps of a plan from the one in `now` on; their curves go into `curves`."""
        for t in range(n_steps + 1):
            self._advance(self.programs, plan, self.h, self.q, self.shares, t, t > 0, t < n_steps, False)
            if t < n_steps:
                self._score(self.programs, plan, self.shares, t, False)

    def _graphs(self) -> list[torch.cuda.CUDAGraph]:
        """The steps of a block as a CUDA graph, for each turn of the staged plan. While a plan is 0 no weight changes."""
        plans = [tensors[0] for tensors in self.steps.staging.tensors]
        works = [partial(self._take, plan, BLOCK_STEPS) for plan in plans]
        return recorded(self.nets.device, lambda: self._take(plans[0], 1), works)

    def _record(self, programs: Sequence[tuple[int, int]]) -> None:
        """Fill f0: each program records the outputs of a cell from a pair on. b is still zero, and h is p."""
        plan = self.plan.numbers
        shares = torch.zeros(min(RECORDED, len(programs)), *self.shares.shape[1:], dtype=self.nets.dtype, device=self.nets.device)
        for start in range(0, len(programs), RECORDED):
            part = table(programs[start : start + RECORDED], self.nets.device)
            self._advance(part, plan, self.p, self.p, shares, 0, False, False, True)
            self._score(part, plan, shares, 0, True)
        self._take(plan, 1)  # compiles, so that no pack is charged for it; the plan is still empty

    def _advance(self, programs: Tensor, plan: Tensor, h: Tensor, q: Tensor, shares: Tensor, t: int, *does: bool) -> None:
        """One launch; `does` holds its arguments `updates`, `continues` and `records`."""
        advance[(self.n_blocks, len(programs))](
            programs, self.networks, self.groups, self.now, plan, self.p, self.matrices, self.v, q, h, self.a0, self.b, self.eps,
            self.df, shares, t, *map(int, does), **self.sizes, **options(self.sizes, self.nets.dtype),
        )  # fmt: skip

    def _score(self, programs: Tensor, plan: Tensor, shares: Tensor, t: int, records: bool) -> None:
        score[(len(programs),)](
            programs, self.networks, self.groups, self.now, plan, self.f0, self.eps, self.lr, self.df, shares, *self.curves, t,
            BLOCK_STEPS, int(records), BATCH=self.sizes["BATCH"], PAIRS=self.sizes["PAIRS"], BLOCKS=self.n_blocks,
        )  # fmt: skip


def sizes(width: int, batch: int, dtype: torch.dtype) -> dict[str, int]:
    """The kernel's compile-time constants for m neurons and B examples, which are all that networks of a pack share."""
    block, pairs = min(BLOCK[dtype], max(32, power_of_2(width))), max(16, power_of_2(batch))
    neurons = {"WIDTH": padded(width, block), "BLOCK": block}
    tiles = {"ROWS": min(ROWS, pairs), "COORDS": COORDS, "CHUNK": CHUNK[dtype], "TILE": TILE}
    return {"BATCH": batch, "PAIRS": pairs, **neurons, **tiles, "ON_CORES": dtype == torch.float32}


def options(sizes: dict[str, int], dtype: torch.dtype) -> dict[str, int]:
    """Triton's compile options for `advance`: at least 4 warps, as those of tensor cores work in fours."""
    return {"num_warps": max(4, sizes["ROWS"] * sizes["BLOCK"] // (32 * SUMS[dtype])), "num_stages": 1}
