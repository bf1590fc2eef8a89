"""The draws of cells: fixed by seed, shape and purpose; shared where only gamma, noise or training length differ."""

import numpy as np
import pytest

from trainables.cell import cell_of
from trainables.streams import stream, stream_owner
from trainables.tasks import Hermite3
from trainables.trainers.centred import draw_initial


def draws(cell, purpose="batches", block=0):
    return stream(stream_owner(cell), purpose, block).integers(0, 2**32, 8)


@pytest.mark.parametrize(
    "change", [{"gamma": 0.1}, {"base_lr": 0.5}, {"steps": 80}, {"eval_every": 40}, {"sigma2": 2.0}, {"dtype": "float32"}]
)
def test_shared_by_cells_that_differ_only_in(make_cell, change):
    for purpose in ("symbols", "weights", "batches", "test"):
        np.testing.assert_array_equal(draws(make_cell(**change), purpose), draws(make_cell(), purpose))


@pytest.mark.parametrize("change", [{"seed": 1}, {"L": 6}, {"d": 17}, {"width": 33}])
def test_independent_otherwise(make_cell, change):
    assert not np.array_equal(draws(make_cell(**change)), draws(make_cell()))


def test_a_fixed_training_set_is_one_for_every_network_and_training():
    sgd, langevin = {"training": "sgd", "network": "mlp"}, {"training": "langevin", "network": "erf2", "kappa": 1.0}
    cells = [cell_of(Hermite3(d=8, P=20), seed=0, width=width, **way) for way in (sgd, langevin) for width in (4, 64)]
    assert len({stream_owner(cell) for cell in cells}) == 1
    assert stream_owner(cell_of(Hermite3(d=8, P=20), seed=1, width=4, **sgd)) != stream_owner(cells[0])


def test_purposes_and_blocks_are_independent(make_cell):
    drawn = [draws(make_cell(), purpose, block) for purpose in ("symbols", "weights", "batches", "test") for block in (0, 1, 2)]
    assert len({tuple(x) for x in drawn}) == 12


def test_blocks_do_not_overlap(make_cell):
    """A block may draw far more than a step needs without reaching the next one's numbers."""
    owner = stream_owner(make_cell())
    long = stream(owner, "batches", 0).integers(0, 2**63, 100_000)
    assert not np.isin(stream(owner, "batches", 1).integers(0, 2**63, 100), long).any()


def test_known_values(make_cell):
    """Streams must not change silently: stored results would no longer be reproducible. Raise SCIENCE_VERSION if they must."""
    assert draws(make_cell())[:3].tolist() == KNOWN


KNOWN = [2046042048, 4017376085, 2392261157]


def test_initial_weights_have_variance_one_over_width(make_cell):
    w0, a0 = draw_initial(make_cell(d=128, width=512))
    assert w0.shape == (256, 512)
    # 131,072 draws: the variance's relative standard error is sqrt(2/131072) = 0.4%; five of them.
    assert w0.var() * 512 == pytest.approx(1, abs=0.02)
    # 512 draws: 6%; four of them.
    assert a0.var() * 512 == pytest.approx(1, abs=0.25)
