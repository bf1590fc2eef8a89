"""Committees: the forward pass, what width and output scale leave alone, and that they train in packs."""

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from trainables.cell import cell_of
from trainables.engines import ENGINES
from trainables.engines.stacked.trainer import Stacked
from trainables.tasks import Square


def cell(width=16, seed=0, **keys):
    way = {"steps": 20, "eval_every": 20, "test_size": 64, "dtype": "float64", "base_lr": 0.05}
    return cell_of(Square(d=4, P=12), network="committee", width=width, seed=seed, **(way | keys))


def test_the_forward_pass_written_out():
    c, x = cell(curvature=0.5), torch.from_numpy(np.random.default_rng(0).standard_normal((5, 4)))
    w = torch.from_numpy(c.network.init(np.random.default_rng(1), c)["w"]).double()
    outputs = [sum(float(h + 0.25 * h**2) for h in row) / 16 for row in x @ w]
    torch.testing.assert_close(c.network.apply({"w": w}, x, c), torch.tensor(outputs, dtype=torch.float64))


def after(**keys):
    run = ENGINES["stacked"].make([cell(**keys)])
    run.advance(60)
    return run.results()[0]


def test_training_takes_the_same_time_at_any_width():
    """Each width starts from weights of its own: training losses at step 20 differ by some 1/sqrt(width)."""
    narrow, wide = (after(width=width, curvature=0.5).train_loss[-1] for width in (400, 6400))
    assert narrow == pytest.approx(wide, rel=0.2)


def test_lazy_wants_a_centred_network():
    with pytest.raises(ValidationError, match="wants a network that is centred"):
        cell(gamma=1e-5)


def test_a_pack_trains_each_as_alone():
    cells = [cell(seed=s, gamma=gamma) for s in range(2) for gamma in (1.0, 0.25)]
    together, _ = Stacked(cells).train(0, 20)
    alone = np.concatenate([Stacked([c]).train(0, 20)[0] for c in cells])
    np.testing.assert_allclose(together, alone, rtol=0, atol=1e-9)
