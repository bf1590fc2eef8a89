"""Tests of all kernels for GPUs in Triton's interpreter. A suite gives the fixture `on_gpu`, and imports them."""

import gc
import weakref

import numpy as np
import pytest

from trainables.checking.training import CLOSE
from trainables.engines.dense.reference import Reference
from trainables.trainers.run import PackRun

SINGLE = 2e-6  # 20 roundings of float32, as in test_trainers.py


def train(engine, cells) -> PackRun:
    run = PackRun(cells, engine(cells))
    run.advance(float("inf"))
    return run


def assert_same(ours: PackRun, theirs: PackRun) -> None:
    np.testing.assert_allclose(ours.curves, theirs.curves, rtol=0, atol=CLOSE)
    for a, b in zip(ours.results(), theirs.results(), strict=True):
        np.testing.assert_allclose(a.readout, b.readout, rtol=0, atol=CLOSE)
        np.testing.assert_allclose(a.alignment, b.alignment, rtol=0, atol=CLOSE)
        assert a.activation_change == pytest.approx(b.activation_change, rel=1e-8)


def test_float32_keeps_its_digits(make, on_gpu):
    for gamma in (1.0, "lazy"):
        single, double = (train(on_gpu, [make(gamma=gamma, dtype=t)]) for t in ("float32", "float64"))
        np.testing.assert_allclose(single.curves[0], double.curves[0], rtol=0, atol=SINGLE)


def test_interrupted_and_resumed(make, on_gpu, d):
    cells = [make(gamma=g, d=d) for g in (1.0, "lazy")]
    first, second = (PackRun(cells, on_gpu(cells)) for _ in range(2))
    first._train(7)
    second.load(first.state())
    second.advance(float("inf"))
    np.testing.assert_allclose(second.curves, train(on_gpu, cells).curves, rtol=0, atol=CLOSE)


@pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")  # the interpreter computes in numpy, which tells
@pytest.mark.parametrize(("base_lr", "dtype"), [(1e160, "float64"), (1e30, "float32")])
def test_divergence_is_seen_where_reference_sees_it(make, on_gpu, base_lr, dtype, d):
    wild, calm = make(base_lr=base_lr, dtype=dtype, d=d), make(dtype=dtype, d=d, seed=1)
    ours, theirs = (train(engine, [wild, calm]) for engine in (on_gpu, Reference))
    assert theirs.diverged_at[0] > 0
    assert abs(ours.diverged_at[0] - theirs.diverged_at[0]) <= 1
    np.testing.assert_allclose(ours.curves[:, 1], train(on_gpu, [calm]).curves[:, 0], rtol=0, atol=SINGLE)


def test_it_goes_with_its_last_reference(make, on_gpu):
    made = on_gpu([make()])
    made.train(0, 3)
    gone = weakref.ref(made)
    gc.disable()
    try:
        del made
        assert gone() is None
    finally:
        gc.enable()
