"""Residual perceptrons: what a forward pass is, that depth leaves the size of features alone, and that they train in packs."""

import numpy as np
import pytest
import torch

from trainables.cell import cell_of
from trainables.engines.stacked.trainer import Stacked
from trainables.tasks import SameDifferent

TASK = SameDifferent(L=4, d=8)


def cell(depth=2, width=16, seed=0):
    return cell_of(TASK, network="residual", depth=depth, width=width, seed=seed, steps=20, eval_every=10, dtype="float64")


def drawn(c):
    return {name: torch.from_numpy(value).double() for name, value in c.network.init(np.random.default_rng(1), c).items()}


def test_the_forward_pass_written_out():
    c, x = cell(), torch.from_numpy(np.random.default_rng(0).standard_normal((5, 16)))
    p = drawn(c)
    h = x @ p["w0"]
    h = h + torch.relu(h) @ p["w1"] / 2**0.5
    h = h + torch.relu(h) @ p["w2"] / 2**0.5
    torch.testing.assert_close(c.network.apply(p, x, c), torch.relu(h) @ p["a"][:, 0])


def test_features_keep_their_size_at_any_depth():
    """E h_l^2 grows by 1 + 1/(2 depth) a branch: by exp(1/2) = 1.65 at infinite depth; width 1024 leaves some 10% of noise."""
    x = torch.from_numpy(np.random.default_rng(0).standard_normal((64, 16)))
    sizes = []
    for depth in (1, 4, 32):
        c = cell(depth, width=1024)
        sizes.append(float(c.network.features(drawn(c), x, c).square().mean()))
    assert sizes[0] == pytest.approx(1.5 / 2, rel=0.15)
    assert sizes[2] == pytest.approx(np.exp(0.5) / 2, rel=0.15)


def test_a_pack_trains_each_as_alone():
    cells = [cell(seed=s) for s in range(3)]
    together, _ = Stacked(cells).train(0, 20)
    alone = np.concatenate([Stacked([c]).train(0, 20)[0] for c in cells])
    np.testing.assert_allclose(together, alone, rtol=0, atol=1e-9)
