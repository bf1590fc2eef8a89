"""Sign descent: every parameter moves by the rate, against its gradient."""

import numpy as np
import torch

from trainables.cell import cell_of
from trainables.engines.stacked.trainer import Stacked
from trainables.tasks import SameDifferent

TANH = {"network": "mlp", "activation": "tanh", "width": 16}  # no neuron is off, so every parameter has a gradient
CELL = cell_of(SameDifferent(L=4, d=8), training="signsgd", seed=0, steps=20, eval_every=10, dtype="float64", **TANH)


def test_each_step_moves_each_parameter_by_the_rate():
    trainer = Stacked([CELL])
    before = {name: theta.clone() for name, theta in trainer.stacks[0].theta.items()}
    trainer.train(0, 1)
    for name, theta in trainer.stacks[0].theta.items():
        # The change of a number of order 1 is known to its 16 digits.
        torch.testing.assert_close((theta - before[name]).abs(), torch.full_like(theta, 1e-3), rtol=1e-9, atol=0)


def test_the_loss_falls():
    cell = cell_of(SameDifferent(L=4, d=8), training="signsgd", base_lr=0.01, seed=0, steps=200, eval_every=100, **TANH)
    loss, _ = Stacked([cell]).train(0, 200)
    assert np.mean(loss[0, -20:]) < 0.8 * np.mean(loss[0, :20])  # from log 2; both are means over 2560 examples
