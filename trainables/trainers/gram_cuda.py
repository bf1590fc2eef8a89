"""`gram` on a GPU: in one launch each network takes many steps on one multiprocessor, while the host draws the next steps.

The data are those of `gram` on the CPU, bit for bit. The module needs Triton, which comes with PyTorch for CUDA, so only engine
`gram` imports it, when it trains on a GPU.
"""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from trainables.cell import Cell
from trainables.kernels.gram_cuda import TILE, UNROLL, train_steps
from trainables.kernels.pairs import plan_length, plan_steps
from trainables.kernels.sizes import padded
from trainables.streams import BLOCK_STEPS
from trainables.tasks.base import Array
from trainables.trainers.base import Measures, Probed
from trainables.trainers.ensemble import Ensemble
from trainables.trainers.span import Span, check_noiseless_pairs
from trainables.trainers.staging import Staging

LARGEST_BLOCK = 1024
"""Neurons that a program takes at a time: 8 warps with 4 neurons per thread, so that a tile of 8 rows is 32 registers."""
REGISTERS = 128
"""Limit on the registers per thread, for networks where it spills only a few words. Two networks then share a multiprocessor: one
works while the other waits."""
MOST_STEPS = 250
PLAN_NUMBERS = 2**23
"""Limits on the steps in one launch and on the numbers in its plan; a launch may always take one block of steps. Launches are
short, so that the host draws the next one meanwhile."""


class GramCuda:
    """All networks of the pack at once, one program each; implements Trainer.

    Tests without a GPU run it on the CPU, in Triton's interpreter.
    """

    name: ClassVar[str] = "gram"

    @torch.no_grad()
    def __init__(self, cells: Sequence[Cell], device: str = "cuda") -> None:
        check_noiseless_pairs(cells)
        self.nets = nets = Ensemble(cells, device)
        self.span = span = Span(nets)
        n_cells, n_groups, n_symbols = len(cells), len(nets.groups), span.n_symbols
        self.width, self.batch = cells[0].width, cells[0].batch
        self.sizes = sizes(n_symbols, self.width, self.batch)
        self.options = options(self.sizes, nets.dtype)
        width, symbols = int(self.sizes["WIDTH"]), int(self.sizes["PADDED"])

        def zeros(*shape: int) -> Tensor:
            return torch.zeros(shape, dtype=nets.dtype, device=nets.device)

        self.gram, self.p = zeros(n_groups, symbols, symbols), zeros(n_groups, 2, symbols, width)
        for g in range(n_groups):
            self.gram[g] = span.gram_matrix(g, symbols)
            self.p[g, :, :n_symbols, : self.width] = span.initial(g)
        self.omega, self.q, self.h = zeros(3, n_cells, 2, symbols, width)
        self.a0, self.b = zeros(2, n_cells, width)
        self.a0[:, : self.width] = nets.a0
        nets.b = self.b[:, : self.width]  # a view: the ensemble sees what the kernel trains
        self.eps, self.lr = nets.eps.flatten(), nets.lr.flatten()
        self.f, self.df = zeros(2, n_cells, int(self.sizes["PAIRS"]))
        self.group = torch.tensor(nets.groups.group, device=nets.device)
        self.literal = [cell.output_is_literal for cell in cells]
        self.literals = torch.tensor(self.literal, dtype=torch.int32, device=nets.device)
        self.f0 = zeros(n_groups, *(2 * (n_symbols if any(self.literal) else 0,)))
        length = plan_length(n_symbols, self.batch)
        fitting = PLAN_NUMBERS // (n_groups * length) // BLOCK_STEPS * BLOCK_STEPS
        self.steps_a_launch = min(MOST_STEPS, max(fitting, BLOCK_STEPS))
        self.plan = torch.zeros(n_groups, self.steps_a_launch, length, dtype=torch.int32, device=nets.device)
        self.staging = Staging(self.plan)
        self.all_cells = torch.arange(n_cells, device=nets.device)
        self._record_outputs_at_start()

    def train(self, first_step: int, n_steps: int) -> tuple[Array, Array]:
        loss, right = self.take(first_step, n_steps).cpu().numpy()  # the only wait of the host for the device
        return loss, right

    @torch.no_grad()
    def take(self, first_step: int, n_steps: int) -> Tensor:
        """Do what `train` does without waiting for the device. Returns loss and right predictions, (2, C, n_steps)."""
        curves = torch.empty(2, len(self.nets.cells), n_steps, dtype=torch.float64, device=self.nets.device)
        done = 0
        while done < n_steps:
            # Later launches start at a block of the batch stream; else that block would be drawn twice.
            n = min(self.steps_a_launch - (first_step + done) % BLOCK_STEPS, n_steps - done)
            self._launch([self.span.codes(g, first_step + done, n) for g in range(len(self.nets.groups))], curves, done)
            done += n
        return curves

    @torch.no_grad()
    def evaluate(self, step: int) -> Array:
        return self.nets.evaluate(step, lambda c, x: self.span.change(c, x, self._omega(c)))

    @torch.no_grad()
    def measures(self, step: int) -> Measures:
        return self.nets.measures(step, lambda c: self.span.scaled_weights(c, self._omega(c)))

    @torch.no_grad()
    def hidden_weights(self, c: int, neurons: Array) -> Array:
        return self.nets.hidden_weights(c, neurons, lambda c: self.span.scaled_weights(c, self._omega(c)))

    def probed(self, c: int, x: Array) -> Probed:
        return self.nets.probed(c, x, lambda c: self.span.scaled_weights(c, self._omega(c)))

    def state(self) -> dict[str, Array]:
        return {"omega": self.omega.cpu().numpy(), "b": self.b.cpu().numpy()}

    @torch.no_grad()
    def load(self, state: dict[str, Array]) -> None:
        self.omega.copy_(torch.from_numpy(state["omega"]))
        self.b.copy_(torch.from_numpy(state["b"]))

    def _omega(self, c: int) -> Tensor:
        """omega (2, L, m) of a cell."""
        return self.omega[c, :, : self.span.n_symbols, : self.width]

    def _launch(self, codes: Sequence[Array], curves: Tensor, done: int, record: Tensor | None = None) -> None:
        """Take the steps of these batches, an array of codes per group. With `record` these cells fill f0 at rate 0 instead."""
        n_steps = len(codes[0])
        plan = self.staging.room()
        for group_plan, group_codes in zip(plan.numpy(), codes, strict=True):
            plan_steps(group_codes, self.span.n_symbols, group_plan)
        self.staging.send()
        cells, lr = (self.all_cells, self.lr) if record is None else (record, torch.zeros_like(self.lr))
        train_steps[(len(cells),)](
            cells, self.group, self.literals, self.plan, self.f0, self.p, self.gram, self.omega, self.q, self.h, self.a0, self.b,
            self.eps, lr, self.f, self.df, *curves, done, n_steps, plan.shape[1], curves.shape[2], int(record is not None),
            self.span.n_symbols, min(self.span.n_symbols, self.batch), **self.sizes, **self.options,
        )  # fmt: skip

    def _record_outputs_at_start(self) -> None:
        """Fill f0 by steps at rate zero over all pairs. This also compiles the kernel, so that no pack is charged for it."""
        members, n_symbols = self.nets.groups.members, self.span.n_symbols
        cells = [next((c for c in group if self.literal[c]), group[0]) for group in members]
        recorded = torch.tensor(cells, device=self.nets.device)
        n_steps = -(-(n_symbols**2) // self.batch) if any(self.literal) else 1
        for start in range(0, n_steps, self.steps_a_launch):
            n = min(self.steps_a_launch, n_steps - start)
            codes = np.arange(start * self.batch, (start + n) * self.batch, dtype=self.span.code_type) % n_symbols**2
            curves = torch.empty(2, len(self.all_cells), n, dtype=torch.float64, device=self.nets.device)
            self._launch([np.sort(codes.reshape(n, self.batch), axis=1)] * len(members), curves, 0, recorded)


def sizes(n_symbols: int, width: int, batch: int) -> dict[str, float]:
    """The kernel's compile-time constants for L symbols, m neurons and B examples."""
    block = min(LARGEST_BLOCK, max(32, _power_of_2(width)))
    return {
        "PADDED": padded(n_symbols, UNROLL), "BATCH": batch, "PAIRS": _power_of_2(batch),
        "WIDTH": padded(width, block), "BLOCK": block, "TILE": TILE, "UNROLL": UNROLL,
    }  # fmt: skip


def options(sizes: dict[str, float], dtype: torch.dtype) -> dict[str, int]:
    """Triton's compile options: a warp for 128 neurons of a block, and a limit on registers for float32 networks of one block."""
    few = {"maxnreg": REGISTERS} if dtype == torch.float32 and sizes["WIDTH"] == sizes["BLOCK"] else {}
    return {"num_warps": max(1, int(sizes["BLOCK"]) // 128), "num_stages": 1, **few}


def _power_of_2(n: int) -> int:
    """The smallest power of two that is at least n."""
    return 1 << (n - 1).bit_length()
