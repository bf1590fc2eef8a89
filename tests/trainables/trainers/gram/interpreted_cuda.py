"""The kernel of `gram` for GPUs in Triton's interpreter: run by test_cuda.py in a process where TRITON_INTERPRET is set."""

import numpy as np
import pytest

from tests.trainables.trainers.interpreted import (  # noqa: F401 - the tests are of this suite, too
    SINGLE,
    assert_same,
    test_divergence_is_seen_where_reference_sees_it,
    test_float32_keeps_its_digits,
    test_interrupted_and_resumed,
    test_it_goes_with_its_last_reference,
    train,
)
from trainables.checking.training import CLOSE
from trainables.engines.dense.reference import Reference
from trainables.engines.gram import cuda, plans
from trainables.engines.gram.cpu import Gram
from trainables.engines.gram.cuda import GramCuda


def on_gpu(cells) -> GramCuda:
    return GramCuda(cells, "cpu")


@pytest.fixture(name="on_gpu")
def its_trainer():
    return on_gpu


# The last: more symbols than a batch holds.
@pytest.mark.parametrize(("L", "d", "width"), [(2, 3, 1), (3, 16, 32), (5, 16, 40), (13, 4, 32)])
def test_agrees_with_reference(make, L, d, width):
    cells = [make(L=L, d=d, width=width, gamma=g, seed=s) for g, s in ((1.0, 0), ("lazy", 0), (3.0, 1))]
    assert_same(train(on_gpu, cells), train(Reference, cells))


def test_many_launches_blocks_of_neurons_and_lazy_cells_alone(make, monkeypatch):
    monkeypatch.setattr(cuda, "LARGEST_BLOCK", 32)
    monkeypatch.setattr(plans, "PLAN_BYTES", 1)
    for gammas in ((1.0, "lazy"), ("lazy",)):
        cells = [make(L=2, width=40, gamma=g, eval_every=12) for g in gammas]
        np.testing.assert_allclose(train(on_gpu, cells).curves, train(Gram, cells).curves, rtol=0, atol=CLOSE)


def test_networks_of_any_symbols_and_dimensions_share_a_launch_bit_for_bit(make):
    """Each as it is alone: loss, right predictions, test accuracy and weights."""
    settings = [(2, 3, 1.0, 0), (5, 16, "lazy", 0), (5, 16, 1.0, 0), (13, 4, 1.0, 1), (3, 16, 0.3, 0), (5, 16, "lazy", 1)]
    cells = [make(L=L, d=d, gamma=g, seed=s, dtype="float32", steps=10, eval_every=5) for L, d, g, s in settings]
    together = train(on_gpu, cells)
    for c, cell in enumerate(cells):
        alone = train(on_gpu, [cell])
        np.testing.assert_array_equal(together.curves[:, c], alone.curves[:, 0])
        np.testing.assert_array_equal(together.trainer._omega(c), alone.trainer._omega(0))
        np.testing.assert_array_equal(together.trainer.b[c], alone.trainer.b[0])
        assert alone.trainer.q.any() != cell.output_is_literal  # only lazy outputs read q, so only for them is it stored
    theirs = [train(Gram, [cell]).curves[0, 0] for cell in cells]
    np.testing.assert_allclose(together.curves[0], theirs, rtol=0, atol=SINGLE)


def test_a_literal_output_is_exactly_zero_before_the_first_step(make):
    """Many programs record the outputs at the start; a difference from others would show in the first loss, log 2."""
    cells = [make(L=L, d=4, gamma=3.0, dtype="float32", width=width) for L, width in ((5, 40), (13, 40))]
    first = on_gpu(cells).train(0, 1)[0]
    np.testing.assert_array_equal(first, np.float32(np.log(2)))
