"""Parts of the `gram` trainers for GPUs: plans of steps, drawn by threads while the device takes those before; and layouts."""

from bisect import bisect_right
from collections.abc import Hashable, Iterable, Sequence
from functools import partial
from itertools import accumulate
from typing import NamedTuple

import torch
from torch import Tensor

from trainables.cell import Cell
from trainables.engines.gram.span import Span
from trainables.kernels.pairs import plan_steps
from trainables.kernels.sizes import PLAN_BYTES, PLAN_STEPS, plan_length
from trainables.streams import BLOCK_STEPS
from trainables.trainers.card.staging import Room, Staging


class Plan(NamedTuple):
    """The steps from `first` to `end`, as the kernel reads them."""

    first: int
    end: int
    numbers: Tensor


class Steps:
    """Plans of a pack's steps, drawn by threads while the device takes the steps of the plan before.

    `firsts` holds the place of each group's plan, in numbers per step.
    """

    def __init__(self, span: Span, cell: Cell) -> None:
        self.evaluations = cell.evaluations
        self.firsts = firsts(plan_length(n, cell.batch) for n in span.n_symbols)
        a_step = self.firsts[-1]
        dtype = torch.int16 if max(*span.n_symbols, cell.batch) < 2**15 else torch.int32
        fitting = PLAN_BYTES // (a_step * dtype.itemsize) // BLOCK_STEPS * BLOCK_STEPS
        self.most = min(PLAN_STEPS, max(fitting, BLOCK_STEPS))
        rooms, fill = [Room((self.most * a_step,), dtype)], partial(_fill, span, self.firsts)
        self.staging = Staging(rooms, span.nets.device, len(span.z), fill, ahead=True)
        self.none = Plan(0, 0, self.staging.tensors[0][0])

    def plan(self, step: int, present: Plan) -> Plan:
        """The plan that holds a step: the present one, if it does."""
        if present.first <= step < present.end:
            return present
        first, end = self._key(step)
        return Plan(first, end, *self.staging.take((first, end)))

    def used(self, plan: Plan) -> None:
        """Note that steps of the plan are queued; those of the next plan can be drawn."""
        self.staging.used(self._key(plan.end))

    def _key(self, step: int) -> tuple[int, int]:
        """First and last step of the plan that begins at `step`: it ends where a block of the batch stream or a stretch between
        two evaluations does, as a later plan would draw the rest of that block once more."""
        k = bisect_right(self.evaluations, step)
        after = self.evaluations[k : k + 1] or (step + self.most,)  # none after the last evaluation, where a test trains on
        return step, min(step + self.most - step % BLOCK_STEPS, *after)


def _fill(span: Span, firsts: Sequence[int], g: int, key: Hashable, rooms: Sequence[Tensor]) -> None:
    """Draw the steps of one group."""
    assert isinstance(key, tuple)
    first, end = key
    n = end - first
    plan = rooms[0].numpy()[n * firsts[g] : n * firsts[g + 1]].reshape(n, -1)
    plan_steps(span.codes(g, first, n), span.n_symbols[g], plan)


class Layout(NamedTuple):
    """How a pack lies in the arrays of a kernel, and which outputs f0 before the first step are recorded for literal outputs."""

    order: list[int]
    """The cells as they follow each other: those of a group side by side, so that they are evaluated as one tensor."""
    largest_first: list[int]
    """The cells in the order in which their programs start: that of the most symbols takes longest."""
    literal: list[bool]
    heads: list[int]
    """The first cell of each group with a literal output, which records f0 for the group; -1 without one."""
    recorded: list[int]
    """Pairs of each group whose f0 is recorded: all L^2, or none."""

    @classmethod
    def of(cls, span: Span) -> "Layout":
        groups, sizes, literal = span.nets.groups, span.n_symbols, [cell.output_is_literal for cell in span.nets.cells]
        heads = [next((c for c in group if literal[c]), -1) for group in groups.members]
        recorded = [n**2 if head >= 0 else 0 for n, head in zip(sizes, heads, strict=True)]
        largest_first = sorted(range(len(literal)), key=lambda c: -sizes[groups.group[c]])
        return cls([c for group in groups.members for c in group], largest_first, literal, heads, recorded)

    def first_rows(self, n_rows: Sequence[int]) -> list[int]:
        """Where each cell begins in an array, given the number of its rows there."""
        first = dict(zip(self.order, firsts(n_rows[c] for c in self.order), strict=False))
        return [first[c] for c in range(len(n_rows))]

    def recording(self, n_pairs: int) -> list[tuple[int, int]]:
        """Cell and first pair of each of the programs that record f0, n_pairs pairs each."""
        return [(c, first) for c, n in zip(self.heads, self.recorded, strict=True) for first in range(0, n, n_pairs)]


def table(rows: Iterable[Sequence[int]], device: torch.device) -> Tensor:
    """Rows of whole numbers as a kernel reads them."""
    return torch.tensor(list(rows), dtype=torch.int64, device=device)


def firsts(sizes: Iterable[int]) -> list[int]:
    """Where each of some arrays begins that lie one after the other, and the end of the last."""
    return list(accumulate(sizes, initial=0))


def power_of_2(n: int) -> int:
    """The smallest power of two that is at least n."""
    return 1 << (n - 1).bit_length()
