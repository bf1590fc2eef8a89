"""Ridge regression as a training: its system, what it shares with networks that learn by descent, packs, and what is refused."""

import pickle

import numpy as np
import pytest
from pydantic import ValidationError
from scipy.special import erf

from sweepkit.strings.attention import attention
from sweepkit.strings.kernel import Kernel
from trainables.cell import cell_of
from trainables.engines import ENGINES
from trainables.engines.ridge.run import RidgeRun, Solved
from trainables.networks.solved.kernels import Features
from trainables.streams import training_probe
from trainables.tasks import Hermite, Hermite3, SameDifferent, Template

SMALL = {"width": 64, "embedding": 24, "heads": 4, "head_dim": 8}


def patterns(cell):
    """The templates of the cell's task."""
    return tuple(pattern for pattern, _ in cell.task.templates(np.zeros(0)))


@pytest.fixture(autouse=True)
def coarse(monkeypatch):
    """Few points: the kernel is one of strings, however few they are."""
    monkeypatch.setattr("sweepkit.strings.attention.POINTS", (9, 8, 7, 5, 4, 3))
    attention.cache_clear()
    yield
    attention.cache_clear()


def make(P=24, template="aba/abb", alphabet=None, **keys):
    task = Template(template=template, P=P, alphabet=alphabet)
    return cell_of(task, **({"network": "kernel", "training": "ridge", "seed": 0, "test_size": 64} | keys))


def solved(cell):
    found = Solved(cell)
    found.solve()
    return found


def test_it_solves_the_system_of_its_kernel():
    cell = make(beta=2.0, position=0.5, activation="relu", ridge=0.1)
    of, kernel = solved(cell), Kernel(patterns(cell), 2.0, 0.5, "relu")
    (x, y), (unseen, targets) = of.training_set(), of.test_set()
    weights = np.linalg.solve(kernel.gram(x, x) + 0.1 * np.eye(24), y)
    outputs = kernel.gram(unseen, x) @ weights
    row = of.result().summary()
    assert row["test_mse"] == pytest.approx(((outputs - targets) ** 2).mean(), rel=1e-9)
    assert row["final_train_loss"] == pytest.approx(((0.1 * weights) ** 2).mean(), rel=1e-6)  # y - f = lambda c
    np.testing.assert_allclose(of.outputs(unseen[:5]).outputs, outputs[:5])


def test_the_erf_kernel_is_the_mean_over_its_neurons():
    cell = cell_of(Hermite(d=6, degree=3, P=50), network="erf_kernel", training="ridge", test_size=64, seed=0)
    x = np.random.default_rng(0).standard_normal((5, 6)).astype(np.float32)
    within, across = cell.network.grams(x, x[:2], cell, np.random.default_rng(0))
    hidden = erf(x @ np.random.default_rng(1).standard_normal((6, 400_000)) / np.sqrt(6))
    np.testing.assert_allclose(within, hidden @ hidden.T / 400_000, atol=4 / np.sqrt(400_000))  # products are at most 1
    np.testing.assert_allclose(across, within[:2], rtol=1e-12)
    of = solved(cell)
    (x, y), (unseen, targets) = of.training_set(), of.test_set()
    within, across = cell.network.grams(x, unseen, cell, np.random.default_rng(0))
    outputs = across @ np.linalg.solve(within + cell.training.ridge * np.eye(50), y)
    assert of.result().summary()["test_mse"] == pytest.approx(((outputs - targets) ** 2).mean(), rel=1e-9)


def test_regular_tokens_are_known_to_the_kernel():
    """aX against Xa: told apart by where X stands, so that few strings suffice."""
    assert solved(make(template="aX/Xa", P=16)).losses[1] < 0.2
    assert solved(make(template="aX/Xa", P=16, network="features", **SMALL)).losses[1] < 1


def test_its_examples_are_those_of_descent():
    kernel, other = make(), make(network="transformer", training="adam", steps=10, eval_every=10)
    for ours, theirs in zip(solved(kernel).training_set(), training_probe(other), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_finite_network_has_the_covariance_of_the_formula():
    """Mean over draws of z_1 . z_1'/d is K_a up to O(1/d) + O(1/d_head), 3% here, and the scatter of the mean. Without the
    division by sqrt(1 + gamma^2), its scores have twice the variance here."""
    draws = 24
    cell = make(P=8, network="features", beta=1.0, width=1, embedding=256, heads=16, head_dim=32)
    strings, values = np.array([[0, 1, 0], [2, 3, 2], [4, 5, 5]]), np.zeros((draws, 3, 3))
    for k in range(draws):
        z = cell.network.attended(cell.network.init(np.random.default_rng(k), cell), strings)
        values[k] = z @ z.T / 256
    of, wrong = (attention(patterns(cell), factor, 1.0) for factor in (1, 2**0.5))
    mean, error = values.mean(0), values.std(0, ddof=1) / draws**0.5
    for found, bounds, known in (
        (mean[0, 0], error[0, 0], of.own(0)),
        (mean[0, 1], error[0, 1], of.between(0, 0)),
        (mean[0, 2], error[0, 2], of.between(0, 1)),
    ):
        assert found == pytest.approx(known, rel=0.03, abs=3 * bounds)
    assert wrong.own(0) - of.own(0) > 3 * error[0, 0]  # so that the factor is told


def test_wide_features_tend_to_the_kernel():
    """Entries of the matrix, by root mean square: their scatter falls like one over the square root of the sizes."""
    of = []
    for n in (1, 16):
        cell = make(network="features", width=32 * n, embedding=16 * n, heads=2 * n, head_dim=4 * n)
        x, _ = Solved(cell).training_set()
        gram = cell.network.grams(x, x[:1], cell, np.random.default_rng(0))[0]
        of.append(np.sqrt(((gram - Kernel(patterns(cell)).gram(x, x)) ** 2).mean()))
    assert of[1] < of[0] / 2  # a fourth, but for one draw's scatter


def test_packs_and_restarts_leave_the_numbers():
    cells = [make(seed=s, network=name, **more) for s in (0, 1) for name, more in (("kernel", {}), ("features", SMALL))]
    run = RidgeRun(cells)
    run.advance(0)  # one cell
    assert not run.done and run.step == 0 and run.n_steps == 1
    kept, other = pickle.dumps(run.state()), RidgeRun(cells)
    other.load(pickle.loads(kept))
    assert other.solved[0].done
    for one in (run, other):
        one.advance(np.inf)
        assert one.done and one.step == 1 and one.seconds > 0
    for a, b, cell in zip(run.results(), other.results(), cells, strict=True):
        alone = solved(cell).result()
        assert a.last == b.last == alone.last and a.lists(["curves"]) == b.lists(["curves"])
        assert a.lists(["curves"]) == {
            "curve_step": [1], "curve_train_loss": a.train_loss.tolist(), "curve_test_mse": [a.last["mse"]]
        }  # fmt: skip


def test_a_singular_system_is_told():
    of = solved(make(P=300, alphabet=2, beta=0.0, ridge=1e-300)).result()
    assert of.status == "diverged" and "not positive definite" in of.reason and of.summary()["test_mse"] is None
    assert of.lists(["curves"])["curve_step"] == []


def test_there_is_one_engine_and_cells_that_differ_in_ridge_share_a_pack():
    for cell in (make(), make(network="features", **SMALL)):
        assert [name for name, engine in ENGINES.items() if engine.trains(cell)] == ["ridge"]
    assert ENGINES["ridge"].pack_key(make(ridge=1.0)) == ENGINES["ridge"].pack_key(make(seed=3))
    few, many = ([make(P=P)] for P in (64, 4096))
    assert 4096**2 * 8 < ENGINES["ridge"].memory(many) < 8 * 4096**2 * 8 and ENGINES["ridge"].memory(few) < 2**24


def test_what_names_a_cell():
    cell = make(P=64)
    assert (cell.steps, cell.evaluations, cell.loss, cell.dtype) == (1, (1,), "mse", "float64")
    assert cell.describe() == "template aba/abb P=64 kernel ridge seed=0"
    assert not {"steps", "eval_every", "width"} & set(cell.columns())
    assert isinstance(make(network="features").network, Features)


@pytest.mark.parametrize(("task", "network", "words"), [
    (SameDifferent(L=4, d=4), "kernel", "does not take vector inputs"),
    (Hermite3(d=4, P=0), "features", "does not take vector inputs"),
    (Template(template="abcdef/abcdea", P=8), "kernel", "at most 5 wildcards, and a template here has 6"),
])  # fmt: skip
def test_tasks_that_it_cannot_learn_are_refused(task, network, words):
    with pytest.raises(ValidationError, match=words):
        cell_of(task, network=network, training="ridge", seed=0)
    with pytest.raises(ValidationError, match="greater than 0"):
        make(ridge=0.0)
