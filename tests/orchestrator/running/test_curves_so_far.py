"""Curves that a checkpoint tells while a pack trains are those that its results will have."""

import pytest

from orchestrator.grid.load import load_grid
from orchestrator.running.worker import PackWork
from trainables.streams import BLOCK_STEPS


def test_the_curve_so_far_is_the_beginning_of_the_result(tmp_path):
    grid = tmp_path / "grid.yaml"
    n, every = 4 * BLOCK_STEPS, BLOCK_STEPS
    grid.write_text(f"sweep: s\ngrids: [{{task: same_different, L: 3, d: 8, width: 16, gamma: [1, 0.1], seed: 0, steps: {n},"
                    f" eval_every: {every}, batch: 8, test_size: 16}}]\n")  # fmt: skip
    work = PackWork("p", load_grid(grid).cells, "reference", "cpu")
    assert all(one["curve"]["step"] == [] for one in work.curves_so_far())
    work.run.advance(0.0)
    early = work.curves_so_far()
    assert [one["keys"]["gamma_label"] for one in early] == ["1", "0.1"]
    steps = early[0]["curve"]["step"]
    assert steps and steps[-1] < n
    while not work.run.done:
        work.run.advance(1.0)
    for one, result in zip(early, work.run.results(), strict=True):
        k = len(steps)
        assert one["curve"]["train_loss"] == pytest.approx(result.train_loss[:k])
        assert one["curve"]["test_acc"] == pytest.approx(result.scores["acc"][:k])
