"""Layouts of packs in the arrays of the kernels for GPUs, which need no Triton."""

import numpy as np
import torch

from trainables.engines.gram.plans import Layout, table
from trainables.engines.gram.span import Span
from trainables.streams import BLOCK_STEPS, stream
from trainables.trainers.ensemble import Ensemble


def test_networks_of_a_group_lie_side_by_side_and_record_once(make_cell):
    """Three groups, of 5, 3 and 9 symbols: the first has a literal and a lazy network, the second lazy ones only."""
    settings = [(5, "lazy", 0), (3, "lazy", 0), (5, 1.0, 0), (9, 1.0, 1), (3, "lazy", 0), (9, 3.0, 1)]
    layout = Layout.of(Span(Ensemble([make_cell(L=L, gamma=gamma, seed=s) for L, gamma, s in settings], "cpu")))
    assert layout.order == [0, 2, 1, 4, 3, 5]
    assert layout.first_rows([10, 6, 10, 18, 6, 0]) == [0, 20, 10, 32, 26, 50]
    assert layout.largest_first == [3, 5, 0, 2, 1, 4]
    assert layout.literal == [False, False, True, True, False, True]
    assert (layout.heads, layout.recorded) == ([2, -1, 3], [25, 0, 81])
    assert layout.recording(16) == [(2, 0), (2, 16), *((3, first) for first in range(0, 81, 16))]
    rows = table(zip(layout.order, layout.literal, strict=True), torch.device("cpu"))
    assert rows.dtype == torch.int64 and rows[1].tolist() == [2, 0]


def test_a_groups_pairs_are_those_that_its_task_draws(make_cell):
    cells = [make_cell(L=L, seed=seed) for L, seed in ((5, 0), (9, 1))]
    span = Span(Ensemble(cells, "cpu"))
    for g, cell in enumerate(cells):
        n_symbols, owner = cell.task.L, span.nets.groups.owners[g]
        drawn = [cell.task.draw_pairs(stream(owner, "batches", block), BLOCK_STEPS * cell.batch) for block in (0, 1)]
        codes = np.concatenate([(u * n_symbols + v).reshape(BLOCK_STEPS, -1) for u, v in drawn])
        assert np.array_equal(span.codes(g, 7, 9), np.sort(codes[7:16], axis=1))
