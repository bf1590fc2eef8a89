"""The kernels of `batched` for GPUs in Triton's interpreter: run by test_batched_cuda.py, in a process of its own."""

from functools import partial

import numpy as np
import pytest

from trainables.kernels import noisy_cuda
from trainables.trainers.batched import Batched
from trainables.trainers.reference import Reference
from trainables.trainers.run import PackRun

EXACT = 1e-9  # as in test_trainers.py
on_gpu = partial(Batched, kernels=noisy_cuda)


def train(engine, cells) -> PackRun:
    run = PackRun(cells, engine(cells))
    run.advance(float("inf"))
    return run


@pytest.fixture
def make(make_cell):
    """Cells for an interpreter that is a million times slower than what it stands for."""
    return lambda **settings: make_cell(**({"steps": 20, "eval_every": 10, "batch": 12, "sigma2": 1.0} | settings))


# Blocks of neurons and of examples that the networks fill, that they do not fill, and of which they take several.
@pytest.mark.parametrize(
    ("width", "batch", "sigma2"), [(1, 1, 0.0), (32, 16, 1.0), (40, 12, 0.0), (40, 12, 1.0), (129, 35, 1.0), (530, 8, 0.3)]
)
def test_agrees_with_reference(make, width, batch, sigma2):
    settings = [(1.0, 0), ("lazy", 0), (3.0, 1), (0.1, 2), ("lazy", 1)]
    cells = [make(width=width, batch=batch, sigma2=sigma2, gamma=g, seed=s) for g, s in settings]
    ours, theirs = train(on_gpu, cells), train(Reference, cells)
    np.testing.assert_allclose(ours.curves, theirs.curves, rtol=0, atol=EXACT)
    for a, b in zip(ours.results(), theirs.results(), strict=True):
        np.testing.assert_allclose(a.readout, b.readout, rtol=0, atol=EXACT)
        np.testing.assert_allclose(a.alignment, b.alignment, rtol=0, atol=EXACT)
        assert a.activation_change == pytest.approx(b.activation_change, rel=1e-8)
