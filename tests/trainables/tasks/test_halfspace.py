"""A half-space: labels of one component, and a margin that no input lies in."""

import numpy as np
import pytest

from trainables.cell import cell_of
from trainables.engines import ENGINES
from trainables.streams import stream, stream_owner
from trainables.tasks import Halfspace


@pytest.mark.parametrize("margin", [0.0, 0.5])
def test_labels_are_signs_and_inputs_keep_the_margin(margin):
    task = Halfspace(d=6, margin=margin)
    w = task.draw_symbols(np.random.default_rng(0))
    x, label = task.train_examples(np.random.default_rng(1), w, 20_000)
    c = x.astype(float) @ w.astype(float)
    assert np.linalg.norm(w) == pytest.approx(1, abs=1e-6) and x.dtype == np.float32  # float32
    np.testing.assert_array_equal(c > 0, label)
    assert np.abs(c).min() == pytest.approx(margin, abs=1e-3)  # 20,000 examples come this near
    rest = x - np.outer(c, w)
    assert (rest**2).sum(1).mean() == pytest.approx(5, rel=0.02)  # a chi-square of 5, to 4 standard errors
    assert (np.abs(c) - margin).mean() == pytest.approx(np.sqrt(2 / np.pi), rel=0.02)


def test_a_linear_layer_starts_at_zero_and_learns_the_direction():
    cell = cell_of(Halfspace(d=4), base_lr=1.0, steps=200, eval_every=200, test_size=4096, seed=0)
    run = ENGINES["stacked"].make([cell])
    run.advance(60)
    assert cell.network.name == "linear1"
    w = run.trainer.probed(0)(np.zeros((1, 4), np.float32)).parameters["w"][:, 0]
    truth = cell.task.draw_symbols(stream(stream_owner(cell), "symbols"))
    assert w @ truth / np.linalg.norm(w) > 0.99
