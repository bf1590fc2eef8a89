"""`gram` on a GPU: in one launch each network takes many steps on one multiprocessor, while the host draws the next steps.

The data are those of `gram` on the CPU, bit for bit. The module needs Triton, which comes with PyTorch for CUDA, so only engine
`gram` imports it, when it trains on a GPU.
"""

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor

from trainables.cell import Cell
from trainables.engines.gram.cuda_step import TILE, UNROLL, train_steps
from trainables.engines.gram.plans import Layout, Steps, firsts, power_of_2, table
from trainables.engines.gram.span import Span, check_noiseless_pairs
from trainables.kernels.sizes import padded
from trainables.tasks.base import Array
from trainables.trainers.base import Queued
from trainables.trainers.ensemble import Ensemble
from trainables.trainers.scaled import Scaled

LARGEST_BLOCK = 1024
"""Neurons that a program takes at a time: 8 warps with 4 neurons per thread, so that a tile of 8 rows is 32 registers."""
REGISTERS = 128
"""Limit on the registers per thread, for networks where it spills only a few words. Two networks then share a multiprocessor: one
works while the other waits."""
RECORDED = 2048
"""Pairs of which one program records the outputs at the start."""


class GramCuda(Queued, Scaled):
    """All networks of the pack at once, one program each; implements Trainer. Networks may differ in L and d.

    Tests without a GPU run it on the CPU, in Triton's interpreter.
    """

    name: ClassVar[str] = "gram"

    @torch.no_grad()
    def __init__(self, cells: Sequence[Cell], device: str = "cuda") -> None:
        check_noiseless_pairs(cells)
        self.nets = nets = Ensemble(cells, device)
        self.span = span = Span(nets)
        self.width, self.sizes = cells[0].width, sizes(cells[0].width, cells[0].batch)
        self.options = options(self.sizes, nets.dtype)
        self.symbols = symbols = [padded(n, UNROLL) for n in span.n_symbols]
        width, of_cell = int(self.sizes["WIDTH"]), nets.groups.group

        def zeros(*shape: int) -> Tensor:
            return torch.zeros(shape, dtype=nets.dtype, device=nets.device)

        first_p, first_gram = firsts(2 * n for n in symbols), firsts(n**2 for n in symbols)
        self.p, self.gram = zeros(first_p[-1], width), zeros(first_gram[-1])
        for g, n in enumerate(symbols):
            self.p[first_p[g] : first_p[g + 1]].view(2, n, width)[:, : span.n_symbols[g], : self.width] = span.initial(g)
            self.gram[first_gram[g] : first_gram[g + 1]] = span.gram_matrix(g, n).flatten()

        layout, rows = Layout.of(span), [2 * symbols[g] for g in of_cell]
        self.first_row = layout.first_rows(rows)
        self.omega, self.q, self.h = zeros(3, sum(rows), width)
        self.a0, self.b = zeros(2, len(cells), width)
        self.a0[:, : self.width] = nets.a0
        nets.b = self.b[:, : self.width]  # a view: the ensemble sees what the kernel trains
        self.eps, self.lr = nets.eps.flatten(), nets.lr.flatten()
        self.f, self.df = zeros(2, len(cells), int(self.sizes["PAIRS"]))

        first_f0 = firsts(layout.recorded)
        self.f0 = zeros(max(1, first_f0[-1]))
        self.steps = Steps(span, cells[0])
        self.plan = self.steps.none
        columns = (span.n_symbols, symbols, first_p, first_gram, first_f0, self.steps.firsts)
        self.groups = table(zip(*columns, strict=False), nets.device)
        self.networks = table(zip(of_cell, self.first_row, layout.literal, strict=True), nets.device)
        self.programs = table(((c, 0) for c in layout.largest_first), nets.device)
        self._record(layout.recording(RECORDED))

    @torch.no_grad()
    def take(self, first_step: int, n_steps: int) -> Tensor:
        curves = torch.empty(2, len(self.nets.cells), n_steps, dtype=torch.float64, device=self.nets.device)
        done = 0
        while done < n_steps:
            step = first_step + done
            self.plan = self.steps.plan(step, self.plan)
            n = min(self.plan.end - step, n_steps - done)
            self._launch(self.programs, curves, done, n, step - self.plan.first)
            self.steps.used(self.plan)
            done += n
        return curves

    def scaled_weights(self, c: int) -> Tensor:
        return self.span.scaled_weights(c, self._omega(c))

    def changes(self, cells: Sequence[int], x: Tensor) -> Tensor:
        return self.span.changes(cells, x, self._omegas(cells))

    def state(self) -> dict[str, Array]:
        return {"omega": self.omega.cpu().numpy(), "b": self.b.cpu().numpy()}

    @torch.no_grad()
    def load(self, state: dict[str, Array]) -> None:
        self.omega.copy_(torch.from_numpy(state["omega"]))
        self.b.copy_(torch.from_numpy(state["b"]))

    def _omegas(self, cells: Sequence[int]) -> Tensor:
        """omega (k, 2, L', m) of some cells of a group that follow each other in it."""
        n, first = self.symbols[self.nets.groups.group[cells[0]]], self.first_row[cells[0]]
        return self.omega[first : first + 2 * n * len(cells)].view(len(cells), 2, n, -1)[..., : self.width]

    def _omega(self, c: int) -> Tensor:
        """omega (2, L, m) of a cell."""
        return self._omegas([c])[0, :, : self.span.n_symbols[self.nets.groups.group[c]]]

    def _launch(self, programs: Tensor, curves: Tensor, done: int, n_steps: int, skipped: int) -> None:
        """Take n_steps steps of the plan after the first `skipped`; their curves go into `curves` from column `done` on."""
        train_steps[(len(programs),)](
            programs, self.networks, self.groups, self.plan.numbers, self.f0, self.p, self.gram, self.omega, self.q, self.h,
            self.a0, self.b, self.eps, self.lr, self.f, self.df, *curves, done, n_steps, self.plan.end - self.plan.first,
            curves.shape[2], skipped, 0, **self.sizes, **self.options,
        )  # fmt: skip

    def _record(self, programs: Sequence[tuple[int, int]]) -> None:
        """Fill f0: each program records the outputs of a cell from a pair on. b is still zero, and h is p.

        This also compiles the kernel, so that no pack is charged for it.
        """
        curves = torch.empty(2, len(self.nets.cells), 1, dtype=torch.float64, device=self.nets.device)
        if not programs:
            return self._launch(self.programs[:1], curves, 0, 0, 0)
        recording = table(programs, self.nets.device)
        train_steps[(len(programs),)](
            recording, self.networks, self.groups, self.plan.numbers, self.f0, self.p, self.gram, self.omega, self.p, self.p,
            self.a0, self.b, self.eps, self.lr, self.f, self.df, *curves, 0, 1, 1, 1, 0, RECORDED, **self.sizes, **self.options,
        )  # fmt: skip


def sizes(width: int, batch: int) -> dict[str, float]:
    """The kernel's compile-time constants for m neurons and B examples."""
    block = min(LARGEST_BLOCK, max(32, power_of_2(width)))
    neurons = {"WIDTH": padded(width, block), "BLOCK": block}
    return {"BATCH": batch, "PAIRS": power_of_2(batch), **neurons, "TILE": TILE, "UNROLL": UNROLL}


def options(sizes: dict[str, float], dtype: torch.dtype) -> dict[str, int]:
    """Triton's compile options: a warp for 128 neurons of a block, and a limit on registers for float32 networks of one block."""
    few = {"maxnreg": REGISTERS} if dtype == torch.float32 and sizes["WIDTH"] == sizes["BLOCK"] else {}
    return {"num_warps": max(1, int(sizes["BLOCK"]) // 128), "num_stages": 1, **few}
