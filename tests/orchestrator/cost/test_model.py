"""Predictions: amounts of work, this machine's rates, and packs that finish meanwhile."""

import json
import subprocess
import sys
from dataclasses import asdict
from types import SimpleNamespace

import numpy as np
import pytest

from orchestrator.cost import calibration, measure
from orchestrator.cost.calibration import Rates, machine_rates
from orchestrator.cost.measure import fit
from orchestrator.cost.model import CostModel
from orchestrator.grid.planned import PlannedCell
from orchestrator.plan.machine import Machine
from orchestrator.plan.packing import PackQueue
from trainables.cell import cell_of, lazy_gamma
from trainables.engines import ENGINES, descent_engine
from trainables.engines.gram.engine import distinct_pairs, distinct_symbols
from trainables.engines.patches.engine import distinct_atoms
from trainables.tasks import PSVRT, Hermite, Hermite3, Parity2, Pentomino, SameDifferent, Template
from trainables.trainers.run import PackRun


def cell(L=3, d=16, seed=0, gamma=1.0, sigma2=0.0, steps=1000, width=64):
    return cell_of(SameDifferent(L=L, d=d, sigma2=sigma2), width=width, gamma=gamma, base_lr=0.1, steps=steps, seed=seed)


def image_cell(task=None, seed=0, gamma=1.0, width=64, **settings):
    return cell_of(task or PSVRT(L=40), width=width, gamma=gamma, base_lr=0.5, seed=seed, **settings)


def sampled_cell(task=None, network="erf2", width=16, seed=0):
    return cell_of(task or Hermite3(d=16, P=100), network=network, width=width, kappa=1.0, seed=seed)


def ridge_cell(seed=0, width=64):
    return cell_of(Template(template="aba/abb", P=100), network="features", training="ridge", width=width, seed=seed)


def dense_cell(seed=0, width=64):
    return cell_of(SameDifferent(L=3, d=16), network="mlp", width=width, seed=seed)


def cell_for(engine, **settings):
    """One that the engine trains."""
    made = (kind(**settings) for kind in (cell, image_cell, dense_cell, sampled_cell, ridge_cell))
    return next(c for c in made if ENGINES[engine].trains(c))


def pack_bytes(cells, engine, device="cpu"):
    return ENGINES[engine].memory(cells, device)


def test_another_shape_learns_from_the_same_engine():
    model = CostModel()
    small, other = cell(L=3), cell(L=8)
    guess = model.seconds(other, "gram")
    model.observe([small], "gram", "cpu", 3 * model.seconds(small, "gram"))
    assert model.seconds(other, "gram") == pytest.approx(3 * guess)


def test_one_pack_that_was_held_up_is_not_what_is_expected():
    """A machine that sleeps, or trains beside other work, once made a forecast of minutes one of days."""
    model, one = CostModel(), cell(L=3)
    guess = model.seconds(one, "gram")
    for times in (1.1, 1.0, 100.0):
        model.observe([one], "gram", "cpu", times * guess)
    assert model.seconds(one, "gram") == pytest.approx(1.1 * guess)
    assert model.seconds(cell(L=8), "gram") == pytest.approx(1.1 * CostModel().seconds(cell(L=8), "gram"))
    for _ in range(3):  # lasting slowness is believed
        model.observe([one], "gram", "cpu", 5.0 * guess)
    assert model.seconds(one, "gram") == pytest.approx(5.0 * guess)


def test_a_sampled_readout_costs_by_the_example():
    """Nothing is factorised, so that it is the cheaper one of wide networks, as seen; each jump looks at every example."""

    def seconds(loss, width, n_train):
        sampled = cell_of(Parity2(d=12, P=n_train), network="relu2", width=width, kappa=1.0, loss=loss, seed=0)
        return CostModel().predicted(sampled, "langevin")

    assert seconds("cross_entropy", 12, 400) > 3 * seconds("mse", 12, 400)  # 3.5 times was measured
    assert seconds("cross_entropy", 192, 1600) < seconds("mse", 192, 1600) / 2  # half was measured
    assert seconds("cross_entropy", 192, 16_000) == pytest.approx(10 * seconds("cross_entropy", 192, 1600), rel=0.05)


@pytest.mark.parametrize("training", ["sgd", "adam"])
def test_small_batches_cost_their_parameters(training):
    """Without them a batch of 16 would cost an eighth of one of 128; it took a third, and was predicted at half of that."""
    task = Hermite(d=16, degree=2, P=512)
    small, usual = (
        CostModel().predicted(
            cell_of(task, network="mlp", training=training, depth=3, width=512, batch=batch, steps=1000, eval_every=1000, seed=0),
            "stacked",
        )
        for batch in (16, 128)
    )
    assert small > usual / 4


def test_on_cards_parameters_are_part_of_products():
    cell = cell_of(SameDifferent(L=16, d=64), network="mlp", width=64, seed=0)
    assert "parameter" not in ENGINES["stacked"].step_amounts(cell, device="cuda")


def test_the_cheapest_fit_engine_is_chosen():
    model = CostModel()
    assert model.choose(cell(L=8, d=256)) == ("gram", "cpu")
    assert model.choose(cell(L=8, d=256, sigma2=1.0)) == ("batched", "cpu")
    assert model.choose(cell(L=1024, d=16)) == ("batched", "cpu")
    card = {"cpu": 2, "cuda": 1}
    assert model.choose(cell(L=8, d=256, sigma2=1.0, width=1024), card, group=6) == ("batched", "cuda")
    for n_symbols in (2, 12, 64, 1024):  # those of the paper's noiseless figures at their width
        assert model.choose(cell(L=n_symbols, d=256, width=1024), card) == ("gram", "cuda")
    # One small network would leave a card nearly empty.
    small = cell(L=2, d=8, width=64)
    assert model.choose(small, card, among=1) == ("gram", "cpu")
    assert model.choose(small, card, among=264) == ("gram", "cuda")
    assert not ENGINES["gram"].trains(cell(sigma2=0.1))
    for task in (PSVRT(L=256), PSVRT(L=1024, patches=10), Pentomino(L=16)):  # those of Fig. 3, of the paper's width
        assert model.choose(image_cell(task, width=512)) == ("patches", "cpu")


@pytest.mark.parametrize("gamma", [1.0, "lazy"])
@pytest.mark.parametrize(("L", "d", "sigma2"), [(4, 32, 0.0), (1000, 4, 0.0), (4, 8, 1.0)])
def test_the_chosen_engine_is_fast_and_right(L, d, sigma2, gamma):
    """Whatever the cost model picks is not `reference`, and gives its curve."""
    task = SameDifferent(L=L, d=d, sigma2=sigma2)
    chosen = cell_of(
        task, width=48, gamma=lazy_gamma(task) if gamma == "lazy" else gamma, base_lr=0.1, seed=3, steps=200,
        eval_every=50, test_size=128, dtype="float64",
    )  # fmt: skip
    engine, device = CostModel().choose(chosen)
    assert engine == ("gram" if (L, sigma2) == (4, 0.0) else "batched")
    curves = []
    for name in (engine, "reference"):
        pack = PackRun([chosen], descent_engine(name).trainer([chosen], device))
        pack.advance(float("inf"))
        curves.append(pack.curves)
    # As in test_engines: float64, 200 steps.
    np.testing.assert_allclose(curves[0], curves[1], rtol=0, atol=1e-9)


def test_expected_pairs_and_symbols_match_draws():
    rng = np.random.default_rng(0)
    for L in (2, 5, 40):
        draws = [SameDifferent(L=L, d=1).draw_pairs(rng, 128) for _ in range(300)]
        # The mean of 300 draws, each with a spread of at most a tenth: 0.6%, five of them.
        assert np.mean([len(set(zip(u, v, strict=True))) for u, v in draws]) == pytest.approx(distinct_pairs(L, 128), rel=0.03)
        assert np.mean([len(set(v)) for _, v in draws]) == pytest.approx(distinct_symbols(L, 128), rel=0.03)


def test_expected_atoms_match_draws():
    rng = np.random.default_rng(0)
    for task in (PSVRT(L=4, patches=2), PSVRT(L=64, patches=4), Pentomino(L=8)):
        found = []
        for _ in range(100):
            images = task.train_images(rng, task.draw_symbols(rng), 128)
            found.append(len(set(zip(images.form.ravel().tolist(), images.place.ravel().tolist(), strict=True))))
        # Shapes with fewer rotations come as often as others, so that forms are not quite uniform: 5%, and 2% of chance.
        assert np.mean(found) == pytest.approx(distinct_atoms(task.n_train_forms, task, 128), rel=0.07)


@pytest.mark.parametrize("engine", ENGINES)
def test_predicted_memory_grows_with_the_pack(engine):
    cells = [cell_for(engine, seed=s) for s in range(4)]
    assert pack_bytes(cells[:1], engine) < pack_bytes(cells, engine)


def test_a_card_that_trains_all_cells_at_once_needs_their_working_memory():
    for engine in ("gram", "batched"):
        assert pack_bytes([cell()], engine, "cuda") >= 0.9 * pack_bytes([cell()], engine)
        # Of 64 cells each has its own room for a batch (or for its symbols twice), beside what it has on a processor.
        cells = [cell(seed=s) for s in range(64)]
        more = pack_bytes(cells, engine, "cuda") - pack_bytes(cells, engine)
        assert more > 60 * 4 * (2 * 2 * 3 * 64 if engine == "gram" else 2 * 128 * 64)


@pytest.mark.parametrize("engine", ["gram", "batched"])
def test_cells_of_a_group_share_their_inputs(engine):
    alone, shared = (CostModel().predicted(cell(d=256, sigma2=0.0), engine, group=g) for g in (1, 6))
    assert shared < alone


def test_rates_are_found_from_times():
    """Five shapes timed with known rates and 1% of noise give those rates back."""
    true = {"call": 1e-5, "neuron": 2e-10, "product": 1e-11, "number": 3e-9}
    rng = np.random.default_rng(0)
    shapes = [cell(d=d, width=w, sigma2=1.0) for d, w in ((1, 64), (8, 4096), (64, 512), (512, 64), (512, 2048))]
    amounts = [ENGINES["batched"].step_amounts(shape, group) for shape in shapes for group in (1, 4)]
    measured = [(a, sum(true[k] * n for k, n in a.items()) * (1 + 0.01 * rng.standard_normal())) for a in amounts]
    found = fit(measured)
    for a in amounts:
        # Noise of 1% on ten times leaves less than 3% on any prediction made from their fit.
        assert sum(found[k] * n for k, n in a.items()) == pytest.approx(sum(true[k] * n for k, n in a.items()), rel=0.03)


@pytest.fixture
def measured(monkeypatch, tmp_path):
    """A machine not measured yet, and a measurement that takes no time; gives what it was asked and what it will answer."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    asked = SimpleNamespace(calls=0, stdout="onednn_verbose,info\n" + json.dumps(asdict(Rates(start_s=1.5))), error=None)

    def run(*args, **kwargs):
        asked.calls += 1
        if asked.error:
            raise asked.error
        return asked

    monkeypatch.setattr(calibration.subprocess, "run", run)
    return asked


def test_a_machine_is_measured_once(measured):
    said = []
    for _ in range(2):
        assert machine_rates(said.append) == Rates(start_s=1.5)
    assert measured.calls == len(said) == 1


def test_a_torn_measurement_is_made_again(measured, tmp_path):
    machine_rates(lambda _: None)
    (file,) = tmp_path.rglob("rates-*.json")
    file.write_text(file.read_text()[:50])
    assert machine_rates(lambda _: None).start_s == 1.5
    assert measured.calls == 2


@pytest.mark.parametrize("answer", ["", "not json", "[]", '{"seconds": {}}', '{"seconds": 1}', '{"what": 1}'])
def test_an_answer_that_is_none_says_so_and_goes_on(measured, answer):
    measured.stdout = answer
    said = []
    assert machine_rates(said.append) == Rates()
    assert "could not be measured" in said[-1]


@pytest.mark.parametrize("change", [{"pair": float("nan")}, {"pair": -1.0}, {"pair": float("inf")}, {"pair": None}, None])
def test_rates_that_are_none_are_measured_again(measured, tmp_path, change):
    machine_rates(lambda _: None)
    (file,) = tmp_path.rglob("rates-*.json")
    kept = json.loads(file.read_text())
    if change is None:
        del kept["seconds"]["batched cpu"]
    else:
        kept["seconds"]["gram cpu"] |= change
    file.write_text(json.dumps(kept))
    assert machine_rates(lambda _: None).start_s == 1.5
    assert measured.calls == 2


def test_a_machine_that_cannot_be_measured_says_why_and_goes_on(measured):
    measured.error = subprocess.CalledProcessError(1, "measure", stderr="no torch")
    said = []
    assert machine_rates(said.append) == Rates()
    assert "no torch" in said[-1]


def test_without_a_home_to_write_to_rates_are_kept_elsewhere(measured, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for _ in range(2):
        machine_rates(lambda _: None)
    assert measured.calls == 1
    assert list(tmp_path.rglob("rates-*.json"))


def test_a_workers_memory_is_its_own():
    """Not that of the process that starts it, which may be a notebook with gigabytes of data."""
    held = np.ones(2**28)  # 2 GiB, more than a worker
    found = subprocess.run(
        [sys.executable, "-m", "orchestrator.cost.measure", "--ready"], capture_output=True, text=True, check=True
    )
    assert int(found.stdout) < held.nbytes


def test_measuring_gives_a_rate_for_every_engine(monkeypatch, capsys):
    """Times of a few milliseconds mean nothing; that every engine is measured and the answer can be read does."""
    monkeypatch.setattr(measure, "WINDOW_S", 0.002)
    monkeypatch.setattr("sys.argv", ["measure"])
    measure.main()
    rates = Rates(**json.loads(capsys.readouterr().out.splitlines()[-1]))
    for engine in ENGINES:
        found = CostModel(rates).predicted(cell_for(engine, width=1024), engine)
        assert 0 < found < 3600
    assert rates.start_s > measure.RAY_S
    assert 2**28 < rates.process_bytes < 2**31


def test_a_pack_that_diverged_teaches_nothing():
    plan = [PlannedCell(c.cell_id, c, frozenset()) for c in (cell(seed=s, sigma2=1.0, steps=100_000) for s in range(20))]
    queue = PackQueue(plan, Machine(1, 2**32), CostModel(), pack_seconds=1.0)
    queue.add(range(20))
    before, pack = queue.cell_seconds(0), queue.next()
    queue.finished(pack.pack_id, ["diverged"] * len(pack.cells), [None] * len(pack.cells), 1e-3)
    assert queue.cell_seconds(0) == before


@pytest.mark.parametrize("width", [1, 64, 1024])
@pytest.mark.parametrize("engine", ["gram", "batched", "patches"])
def test_predicted_memory_holds_the_arrays(engine, width):
    of_shape = {} if engine == "patches" else {"L": 64, "d": 32}
    cells = [cell_for(engine, seed=s, gamma=g, width=width, **of_shape) for s in range(3) for g in (1.0, 0.1)]
    made = descent_engine(engine).trainer(cells)
    arrays = list(made.state().values())
    if engine == "gram":
        arrays += [*made.p, made.room, made.nets.all_w0.numpy()]
    elif engine == "patches":
        of_a_test = made._room(1, 2 * cells[0].test_size)
        arrays += [made.w0, made.nets.all_w0.numpy(), made.p, of_a_test, of_a_test]
    else:
        arrays += [*(tensor.numpy() for tensor in made.staging.tensors[0]), made.nets.all_w0.numpy()]
    held = sum(a.nbytes for a in arrays)
    assert held <= pack_bytes(cells, engine) <= 3 * held + 2**24  # room for an evaluation, and no pack half as large as it may be
