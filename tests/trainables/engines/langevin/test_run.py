"""Packs: resumed and mixed as one likes, with the same numbers bit for bit; and what is refused."""

import dataclasses
import pickle
import re

import numpy as np
import pytest
from pydantic import ValidationError

from trainables.engines.langevin.diagnostics import bulk_ess, split_r_hat
from trainables.engines.langevin.measures import OVERLAP_EDGES, Means, foremost, histogram, judged
from trainables.engines.langevin.run import EquilibriumRun
from trainables.tasks import Linear, Parity2, SameDifferent, TokenPairs


def finished(cells):
    run = EquilibriumRun(cells)
    run.advance(np.inf)
    assert run.done and run.step == run.n_steps
    return run.results()


def assert_same(a, b):
    for field in dataclasses.fields(a):
        if field.name != "seconds":
            np.testing.assert_array_equal(getattr(a, field.name), getattr(b, field.name), err_msg=field.name)


@pytest.fixture
def cells(make_cell):
    """Of many shapes."""
    many = [
        make_cell(P=p, width=n, network=k) for p, n, k in [(0, 3, "erf2"), (30, 7, "relu2"), (5, 9, "erf2"), (40, 40, "erf2")]
    ]
    return [*many, make_cell(d=24, P=70, width=24, dtype="float32"), make_cell(task=Linear(d=3, P=8), scaling="mean_field"),
            make_cell(P=30, network="erf3", width1=6), make_cell(P=30, network="erf3", width1=6, explored="all"),
            make_cell(task=Linear(d=6, P=20, patch=2), network="cnn"),
            make_cell(task=TokenPairs(d=2, context=3, P=20), network="attention"),
            *(make_cell(task=Parity2(d=4, P=30), loss=loss, network="relu2", width=9) for loss in ("mse", "cross_entropy")),
            make_cell(task=Parity2(d=3, P=9), loss="cross_entropy", network="relu2", dtype="float32"),
            make_cell(task=Parity2(d=3, P=9), loss="cross_entropy", network="relu2", scaling="mean_field")]  # fmt: skip


def test_a_cells_numbers_are_its_own(cells):
    for cell, result in zip(cells, finished(cells), strict=True):
        assert_same(finished([cell])[0], result)


def test_killed_and_resumed_it_gives_the_same_numbers(cells):
    run = EquilibriumRun(cells)
    for _ in range(2 * len(cells) + 3):
        run.advance(0)  # one evaluation of one cell
    assert 0 < run.step < run.n_steps
    kept = pickle.dumps(run.state())
    shared = run.state(copied=False)
    run.advance(np.inf)
    assert any(chains["t"] < run.n_steps for chains in shared["chains"])  # numbers are as they were; only arrays go on
    other = EquilibriumRun(cells)
    other.load(pickle.loads(kept))
    other.advance(np.inf)
    for a, b, c in zip(run.results(), other.results(), finished(cells), strict=True):
        assert_same(a, b)
        assert_same(a, c)


def test_a_copied_state_stands_still(make_cell):
    run = EquilibriumRun([make_cell()])
    run.advance(0)
    state = run.state()
    before = pickle.dumps(state)
    run.advance(np.inf)
    assert pickle.dumps(state) == before


def test_results_say_what_was_sampled(make_cell):
    run = EquilibriumRun([make_cell(d=16, P=320, width=16, kappa=0.1, steps=200, test_size=256)])
    run.advance(np.inf)
    (result,) = run.results()
    row = result.summary()
    assert row["alignment_f"] > 0.1 and row["n_specialised_1"] > 0.9  # about twice the P at which a neuron specialises
    power = float(run.chains[0].y_test.square().mean())
    assert result.test_mse >= power * (1 - result.alignment_f / power) ** 2  # Cauchy-Schwarz over these inputs [Rubin25 Sec. 2]
    assert result.test_mse < power  # something is learned
    assert row["train_mse"] < 1 and row["seconds"] > 0
    assert result.curve_alignment.shape == (4, 100) and result.step[-1] == 200
    assert result.overlap.sum() == pytest.approx(16)


def test_chains_start_from_every_pattern(make_cell):
    """Neurons that start specialised have w.w* = 1.5; of 16 others none reaches 1.49, at six deviations of the prior."""
    deep = {"d": 16, "network": "erf3", "width1": 16, "width": 16, "chains": 8}

    def patterns(**more):
        (chains,) = EquilibriumRun([make_cell(**deep, **more)]).chains
        return [((np.abs(c) > 1.49 * 4).sum(axis=1) == 4).tolist() for c in chains._overlaps()]

    assert patterns(explored="all") == [([False] * 2 + [True] * 2) * 2, [False] * 4 + [True] * 4]
    assert patterns() == [[False] * 4 + [True] * 4] * 2


def test_counts_and_magnitudes_are_judged_where_all_layers_are_explored(make_cell):
    (chains,) = EquilibriumRun([make_cell(network="erf3", width1=6, steps=80, explored="all")]).chains
    while chains.t < 80:
        chains.advance()
    whole = chains.result()
    after = chains.curves.shape[2] // 2
    own = [*chains.neurons[:, :, after:], chains.curves[0, :, after:], chains.energies[:, 40:]]
    assert whole.r_hat == max(split_r_hat(one) for one in own) and whole.ess == min(bulk_ess(one) for one in own)
    chains.neurons[0, :2] = 5  # half of the chains have five neurons more
    assert chains.result().r_hat > whole.r_hat and not chains.result().mixed


def test_counts_and_magnitudes_of_each_chain():
    c = np.array([[4.0, 1.0, -5.0], [2.0, 0.0, 0.5]]), np.array([[0.0, 3.5], [3.1, -4.0]])
    sizes = np.sqrt([(4**4 + 5**4) / (4**2 + 5**2) / 4, 0]), np.sqrt([3.5**2 / 2, (3.1**4 + 4**4) / (3.1**2 + 4**2) / 2])
    np.testing.assert_allclose(judged(c, [4, 2]), [[2, 0], [1, 2], *sizes])


def test_short_chains_are_not_called_mixed(make_cell):
    (result,) = finished([make_cell(P=40, steps=16)])
    assert not result.mixed and result.summary()["mixed"] is False


def test_nothing_to_report_is_none(make_cell):
    (result,) = finished([make_cell(P=0)])
    assert result.summary()["train_mse"] is None


def test_a_classifier_learns_parity(make_cell):
    """Of both losses; P is twice what it takes. Each answer is one of four neurons', or half of them are a constant's."""
    for loss in ("mse", "cross_entropy"):
        task = Parity2(d=8, P=240)
        (result,) = finished([make_cell(task=task, loss=loss, network="relu2", width=8, kappa=0.5, steps=60, test_size=256)])
        row = result.summary()
        assert row["final_test_acc"] > 0.95 and row["final_train_acc"] > 0.95
        assert 1.5 < row["n_specialised_1"] < 6 and row["magnitude_1"] > 3 / np.sqrt(8)
        assert result.curve_test_acc.shape == (4, 30)
        assert (row["train_mse"] is None) == (row["test_mse"] is None) == (loss != "mse") == (row["final_train_loss"] is not None)
        kept = result.lists(["curves"])
        assert ("curve_train_mse" in kept) == (loss == "mse") == ("curve_train_loss" not in kept)


def test_magnitudes_are_weighed_by_their_squares():
    c = np.array([[[4.0, 1.0, 0.5], [2.0, -5.0, -1.0]]])  # of two directions
    np.testing.assert_array_equal(foremost(c), [[4, -5, -1]])
    means = Means.none(1, 1)
    assert np.isnan(means.magnitudes([4])[0])
    means.add(np.zeros((1, 1)), [foremost(c)])
    assert means.specialised == [2]
    assert means.magnitudes([4])[0] == pytest.approx(np.sqrt((4**4 + 5**4) / (4**2 + 5**2) / 4))


def test_histogram_counts_every_neuron():
    c = np.array([[-1e9, -29.99, 0.1], [0.4, 0.5, 30.0]])
    counts = histogram(c)
    assert counts.sum() == 6 and counts[0] == 2 and counts[-1] == 1
    assert counts[60] == 2 and OVERLAP_EDGES[60] == 0 and counts[61] == 1


def test_ids(make_cell):
    base = make_cell()
    changes = [{"network": "erf3", "width1": 4}, {"d": 4}, {"P": 9}, {"network": "relu2"}, {"width": 4}, {"kappa": 0.6},
               {"scaling": "mean_field"}, {"steps": 40}, {"eval_every": 1}, {"chains": 6}, {"test_size": 65}, {"seed": 1},
               {"dtype": "float32"}, {"explored": "all"}]  # fmt: skip
    assert make_cell().cell_id == base.cell_id
    assert len({base.cell_id, *(make_cell(**c).cell_id for c in changes)}) == 1 + len(changes)
    assert set().union(*changes) - {"explored"} == set(base.keys()) - {"task"}
    assert base.describe() == "he3 d=3 P=8 erf2 width=3 standard kappa=0.5 seed=0"
    assert base.cell_id == "8153848bdda28163095d"  # a change orphans what is stored: raise EQUILIBRIUM_VERSION knowingly


def test_another_loss_names_another_cell_of_the_same_data(make_cell):
    squared, logistic = (make_cell(task=Parity2(d=3, P=8), loss=loss, network="relu2") for loss in ("mse", "cross_entropy"))
    assert squared.cell_id != logistic.cell_id
    a, b = EquilibriumRun([squared, logistic]).chains
    np.testing.assert_array_equal(a.posterior.x, b.posterior.x)
    np.testing.assert_array_equal(a.x_test, b.x_test)


@pytest.mark.parametrize("bad", [{"steps": 21}, {"eval_every": 3}, {"width1": 4}, {"network": "erf3"},
                                 {"network": "cnn"}, {"chains": 3}, {"explored": "first"},
                                 {"network": "erf3", "width1": 4, "chains": 6, "explored": "all"}, {"kappa": 0.0}, {"width": 0},
                                 {"task": SameDifferent(L=4, d=4), "training": "langevin"}])  # fmt: skip
def test_bad_settings_are_refused(make_cell, bad):
    with pytest.raises(ValidationError):
        make_cell(**bad)


DEEP = {"network": "erf3", "width1": 4}


@pytest.mark.parametrize(("more", "why"), [
    ({"chains": 3}, "chains (3) must be even: half start from the prior"),
    (DEEP | {"chains": 3}, "chains (3) must be even: half start from the prior"),
    ({"chains": 3, "explored": "all"}, "chains (3) must be a multiple of 2 under explored: all"),
    (DEEP | {"chains": 6, "explored": "all"}, "chains (6) must be a multiple of 4 under explored: all"),
])  # fmt: skip
def test_equally_many_chains_start_in_each_way(make_cell, more, why):
    assert make_cell(**{**more, "chains": 4}).training.chains == 4
    with pytest.raises(ValidationError, match=re.escape(why)):
        make_cell(**more)
    assert make_cell(**DEEP, chains=6).training.chains == 6


@pytest.mark.parametrize("bad", [{"network": "erf4"}, {"training": "langevin2"}, {"task": SameDifferent(L=4, d=4)}])
def test_a_network_that_the_training_does_not_know_is_refused(make_cell, bad):
    """The tasks of equilibrium alone are sampled by default: `erf2` is none of the networks that SGD trains."""
    with pytest.raises(KeyError):
        make_cell(**bad)


def test_unlike_lengths_do_not_share_a_pack(make_cell):
    with pytest.raises(ValueError, match="one number of steps"):
        EquilibriumRun([make_cell(), make_cell(steps=40)])


def test_data_are_shared_across_networks_and_kappa_and_nothing_across_P(make_cell):
    """A threshold's interval takes points over P as independent; those of nested sets of a seed correlated by 0.6 to 0.9."""
    small, wide, large, other = EquilibriumRun(
        [make_cell(P=5), make_cell(P=5, width=4, kappa=2.0), make_cell(P=9), make_cell(P=5, seed=1)]
    ).chains
    np.testing.assert_array_equal(small.posterior.x, wide.posterior.x)
    np.testing.assert_array_equal(small.posterior.readout.y, wide.posterior.readout.y)
    np.testing.assert_array_equal(small.x_test, wide.x_test)
    for unlike in (large, other):
        assert not np.array_equal(small.posterior.x, unlike.posterior.x[:5])
        assert not np.array_equal(small.x_test, unlike.x_test)
