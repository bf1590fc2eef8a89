"""`gram` for many symbols on GPUs, in Triton's interpreter: run by test_large.py in a process where TRITON_INTERPRET is set.

The sizes of a program's work are made small, so that small networks need several blocks of neurons, rows and columns.
"""

import weakref

import numpy as np
import pytest
import torch
from triton.runtime.interpreter import InterpreterBuilder

from tests.trainables.trainers.interpreted import (  # noqa: F401 - the tests are of this suite, too
    SINGLE,
    assert_same,
    test_divergence_is_seen_where_reference_sees_it,
    test_float32_keeps_its_digits,
    test_interrupted_and_resumed,
    test_it_goes_with_its_last_reference,
    train,
)
from trainables.basics import CardUnusable
from trainables.checking.training import CLOSE
from trainables.engines.dense.reference import Reference
from trainables.engines.gram import cuda_large, plans
from trainables.engines.gram.cpu import Gram
from trainables.engines.gram.cuda_large import GramLarge
from trainables.trainers.card import proof
from trainables.trainers.run import PackRun


@pytest.fixture(autouse=True)
def small(monkeypatch):
    for name, size in {"BLOCK": 32, "CHUNK": 8}.items():
        monkeypatch.setattr(cuda_large, name, dict.fromkeys((torch.float32, torch.float64), size))
    for name, size in {"ROWS": 8, "COORDS": 8, "TILE": 16, "RECORDED": 3}.items():
        monkeypatch.setattr(cuda_large, name, size)


def on_gpu(cells) -> GramLarge:
    return GramLarge(cells, "cpu")


@pytest.fixture(params=[2, 16])
def d(request):
    """Products over Z, and over the Gram matrix."""
    return request.param


@pytest.fixture(name="on_gpu")
def its_trainer():
    return on_gpu


# Products over the Gram matrix, then over Z: L and d that are no multiples of CHUNK; more symbols than a batch holds; and two
# symbols, whose pairs each occur many times.
@pytest.mark.parametrize(
    ("L", "d", "width", "batch"),
    [(2, 3, 1, 10), (5, 16, 40, 10), (21, 16, 32, 10), (3, 1, 32, 7), (9, 3, 32, 16), (19, 6, 32, 10)],
)
def test_agrees_with_reference(make, monkeypatch, L, d, width, batch):
    monkeypatch.setattr(cuda_large, "TILE", 4 if batch < 10 else 16)
    cells = [make(L=L, d=d, width=width, batch=batch, gamma=g, seed=s) for g, s in ((1.0, 0), ("lazy", 1))]
    ours, theirs = train(on_gpu, cells), train(Reference, cells)
    assert ours.trainer.by_z == 2 * [2 * d < L]
    assert_same(ours, theirs)
    for c in range(len(cells)):
        neurons = np.arange(width)[::3]
        w, exact = (run.trainer.hidden_weights(c, neurons) for run in (ours, theirs))
        np.testing.assert_allclose(w, exact, rtol=0, atol=CLOSE)
        x = np.random.default_rng(c).standard_normal((3, 2 * d))
        for key in ("outputs", "features"):
            seen, true = (getattr(run.trainer.probed(c)(x), key) for run in (ours, theirs))
            np.testing.assert_allclose(seen, true, rtol=0, atol=CLOSE)


def test_networks_of_any_symbols_and_dimensions_share_launches_bit_for_bit(make):
    """Each as it is alone: loss, right predictions, test accuracy and weights."""
    settings = [(2, 3, 1.0, 0), (5, 16, "lazy", 0), (13, 4, 1.0, 1), (13, 4, "lazy", 1), (23, 30, 0.3, 0)]
    cells = [
        make(L=L, d=d, gamma=gamma, seed=seed, width=40, steps=6, eval_every=3, dtype="float32") for L, d, gamma, seed in settings
    ]
    together = train(on_gpu, cells)
    assert {True, False} == set(together.trainer.by_z)
    for c, cell in enumerate(cells):
        alone = train(on_gpu, [cell])
        np.testing.assert_array_equal(together.curves[:, c], alone.curves[:, 0])
        np.testing.assert_array_equal(together.trainer._trained([c]), alone.trainer._trained([0]))
        np.testing.assert_array_equal(together.trainer.b[c], alone.trainer.b[0])
    theirs = [train(Gram, [cell]).curves[0, 0] for cell in cells]
    np.testing.assert_allclose(together.curves[0], theirs, rtol=0, atol=SINGLE)


def test_a_literal_output_is_exactly_zero_before_the_first_step(make):
    """Many programs record the outputs at the start; a difference from others would show in the first loss, log 2."""
    cells = [make(L=L, d=4, gamma=3.0, dtype="float32") for L in (5, 13)]
    assert cuda_large.RECORDED * on_gpu(cells).sizes["PAIRS"] < 13**2
    np.testing.assert_array_equal(on_gpu(cells).train(0, 1)[0], np.float32(np.log(2)))


def test_short_plans_and_a_recorded_block(make, monkeypatch):
    """The steps that a graph repeats read the staged plan at a fixed place, whatever steps it holds."""
    monkeypatch.setattr(plans, "PLAN_BYTES", 1)
    cells = [make(L=L, d=6, steps=30, eval_every=30) for L in (5, 21)]
    replayed = []

    class Graph:
        def __init__(self, trainer, plan):
            self.trainer, self.plan = trainer, plan

        def replay(self):
            replayed.append(self.plan)
            self.trainer._take(self.plan, 10)

    def with_graphs(cells):
        trainer = on_gpu(cells)
        trainer.graphs = [Graph(weakref.proxy(trainer), tensors[0]) for tensors in trainer.steps.staging.tensors]
        return trainer

    ours, usual = PackRun(cells, with_graphs(cells)), train(on_gpu, cells)
    ours._train(7)  # a part of a block: its steps, and those that it leaves, are launched one by one
    ours.advance(float("inf"))
    assert len(replayed) == 2
    np.testing.assert_array_equal(ours.curves, usual.curves)
    theirs = [train(Gram, [cell]).curves[:, 0] for cell in cells]
    np.testing.assert_allclose(ours.curves.swapaxes(0, 1), theirs, rtol=0, atol=CLOSE)


@pytest.mark.parametrize("d", [2, 16])
def test_a_step_reads_what_is_trained_once(make, monkeypatch, d):
    """All symbols of a half share one reading, for a batch that fits in ROWS; so do all rows of U in its own step."""
    trainer = on_gpu([make(L=13, d=d, width=40, batch=8, dtype="float32")])
    trainer.train(0, 1)
    begin, reads = trainer.v.data_ptr(), np.zeros(trainer.v.numel(), int)
    load = InterpreterBuilder.create_masked_load

    def counted(self, ptrs, mask, *rest):
        at = (np.asarray(ptrs.data, np.int64) - begin)[np.broadcast_to(mask.data, ptrs.data.shape)] // 4
        np.add.at(reads, at[(at >= 0) & (at < reads.size)], 1)
        return load(self, ptrs, mask, *rest)

    monkeypatch.setattr(InterpreterBuilder, "create_masked_load", counted)
    trainer._advance(trainer.programs, trainer.plan.numbers, trainer.h, trainer.q, trainer.shares, 1, False, True, False)
    assert (reads == 1).all()  # the product of the next step
    reads[:] = 0
    trainer._advance(trainer.programs, trainer.plan.numbers, trainer.h, trainer.q, trainer.shares, 1, True, False, False)
    assert reads.max() == 1  # the step of omega or U


def test_its_first_steps_are_checked(make, monkeypatch):
    monkeypatch.setattr(proof, "STEPS", 20)
    cells = [make(gamma=g, L=13, d=4, dtype="float32") for g in (1.0, "lazy")]
    proof.prove(cells, on_gpu, Gram)

    def wrong(own):
        made = on_gpu(own)
        made.matrices *= 1.5
        return made

    with pytest.raises(CardUnusable, match="other losses"):
        proof.prove(cells, wrong, Gram)
