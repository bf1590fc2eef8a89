"""The draws of cells: fixed by seed, shape and purpose; shared where only gamma, noise or training length differ."""

import numpy as np
import pytest
from scipy import stats

from trainables.cell import cell_of
from trainables.kernels.draws import standard_normal
from trainables.networks.two_layer import TAIL, TRUNCATED_SD
from trainables.streams import initial_parameters, stream, stream_owner, weights_owner
from trainables.tasks import Hermite3, SameDifferent
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


@pytest.mark.parametrize("task", [SameDifferent(L=4, d=6, data_seed=3), Hermite3(d=8, P=20, data_seed=3)])
def test_with_a_seed_of_the_data_weights_alone_follow_the_cells(task):
    keys = {"training": "sgd", "network": "relu2" if task.name == "same_different" else "mlp", "width": 8, "base_lr": 0.1}
    keys |= {"gamma": 1.0} if task.name == "same_different" else {}
    plain = task.model_copy(update={"data_seed": None})
    zero, five, own = cell_of(task, seed=0, **keys), cell_of(task, seed=5, **keys), cell_of(plain, seed=3, **keys)
    assert stream_owner(zero) == stream_owner(five) == stream_owner(own)
    assert weights_owner(five) == weights_owner(cell_of(plain, seed=5, **keys)) != weights_owner(zero)
    assert len({zero.cell_id, five.cell_id, own.cell_id, cell_of(plain, seed=0, **keys).cell_id}) == 4
    for name, w in initial_parameters(five).items():
        np.testing.assert_array_equal(w, initial_parameters(cell_of(plain, seed=5, **keys))[name])
        assert not np.array_equal(w, initial_parameters(zero)[name])


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


def test_truncated_initial_weights_are_the_normal_ones_without_tails(make_cell):
    (w, a), (w_normal, a_normal) = (draw_initial(make_cell(d=256, width=512, initial=law)) for law in ("truncated", "normal"))
    w, w_normal, a, a_normal = (x * 512**0.5 for x in (w, w_normal, a * np.float32(TRUNCATED_SD), a_normal))
    for x, x_normal in ((w, w_normal), (a, a_normal)):
        kept = np.abs(x_normal) <= 2
        assert x.dtype == np.float32 and np.abs(x).max() <= 2 * (1 + 1e-6)
        np.testing.assert_allclose(x[kept], x_normal[kept], rtol=1e-6)
        assert (x[~kept] != x_normal[~kept]).all() and not kept.all()
    law = stats.truncnorm(-TAIL, TAIL)
    assert law.std() == pytest.approx(TRUNCATED_SD, rel=1e-12)
    assert stats.kstest(w.ravel(), law.cdf).pvalue > 1e-3 and stats.kstest(a, law.cdf).pvalue > 1e-3
    # 262,144 draws of kurtosis 2.37: the variance's relative standard error is sqrt(1.37 / 262144) = 0.23%; four of them.
    assert w.var() == pytest.approx(0.774, rel=0.01)


def test_truncated_weights_are_shared_along_gamma_and_another_seed_has_others(make_cell):
    first, richer, other = (
        draw_initial(make_cell(initial="truncated", **keys)) for keys in ({"gamma": 0.1}, {"gamma": 10.0}, {"seed": 1})
    )
    for x, y, z in zip(first, richer, other, strict=True):
        np.testing.assert_array_equal(x, y)
        assert not np.array_equal(x, z)


def test_initial_weights_are_those_of_stored_results(make_cell):
    """Bit for bit: normal weights are the stream's first numbers, whatever other laws there are."""
    w, a = draw_initial(make_cell())
    rng = stream(stream_owner(make_cell()), "weights")
    np.testing.assert_array_equal(w, standard_normal(rng, (32, 32)) * np.float32(32**-0.5))
    np.testing.assert_array_equal(a, standard_normal(rng, (32,)) * np.float32(32**-0.5))
